import { Annotations, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type CfnTable,
  type ITable,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { type Permissions, permissionsOf, type Route } from '../../routes.ts';
import type { Settings } from '../settings.ts';

/** The DynamoDB action of each permission; IAM authorizes a transaction by the actions of its items. */
const ACTIONS = {
  get: 'dynamodb:GetItem',
  batchGet: 'dynamodb:BatchGetItem',
  query: 'dynamodb:Query',
  put: 'dynamodb:PutItem',
  update: 'dynamodb:UpdateItem',
  updateOutsideTransaction: 'dynamodb:UpdateItem',
  delete: 'dynamodb:DeleteItem',
  conditionCheck: 'dynamodb:ConditionCheckItem',
} satisfies Record<Exclude<keyof Permissions, 'keys' | 'mail'>, string>;

/** A transaction's conditions enforce the rules, so single writes are denied. Checks exist only in transactions. */
const ONLY_IN_TRANSACTIONS = new Set<keyof typeof ACTIONS>(['put', 'update', 'delete']);

/** The table; grants each function the table name together with the permissions in its row. */
export class AdministrationTable extends Construct {
  readonly name: string;
  private readonly table: ITable;
  private readonly key: IKey;

  constructor(scope: Construct, id: string, { key, ...settings }: Settings & { key: IKey }) {
    super(scope, id);
    this.key = key;
    const existing = settings.existing?.table;
    this.table = existing ? this.adoptTable(existing, settings) : this.createTable(settings);
    this.name = this.table.tableName;
  }

  private adoptTable(name: string, { tableMaximum: { readUnits, writeUnits } }: Settings): ITable {
    Annotations.of(this).addInfo(
      `tableMaximum has no effect on ${name}, which the stack adopts. To set it: aws dynamodb update-table ` +
        `--table-name ${name} --on-demand-throughput ` +
        `MaxReadRequestUnits=${readUnits},MaxWriteRequestUnits=${writeUnits}`,
    );
    return Table.fromTableName(this, 'Table', name);
  }

  private createTable({ keepData, unprotected, tableMaximum }: Settings): Table {
    const table = new Table(this, 'Table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      maxReadRequestUnits: tableMaximum.readUnits,
      maxWriteRequestUnits: tableMaximum.writeUnits,
      encryption: TableEncryption.CUSTOMER_MANAGED,
      encryptionKey: this.key,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: keepData },
      deletionProtection: keepData && !unprotected,
      // DynamoDB deletes expired items with a delay, so readers must compare the time.
      timeToLiveAttribute: 'expires',
      removalPolicy: keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    // A different logical id would replace the table with an empty one.
    (table.node.defaultChild as CfnTable).overrideLogicalId('Table');
    if (!keepData) {
      Validations.of(table).acknowledge({
        id: 'AwsSolutions::AwsSolutions-DDB3',
        reason: 'No point-in-time recovery: without keepData, the data is not kept',
      });
    }
    return table;
  }

  /** Grants the actions in the row, each on its partition keys only; a row without permissions gets no table name. */
  grantTo(fn: LambdaFunction, route: Route): void {
    const { keys: _keys, mail: _mail, ...permissions } = permissionsOf(route);
    if (Object.keys(permissions).length === 0) return;
    fn.addEnvironment('TABLE_NAME', this.name);
    for (const [permission, keys] of Object.entries(permissions) as [keyof typeof ACTIONS, string[]][]) {
      fn.addToRolePolicy(
        new PolicyStatement({
          actions: [ACTIONS[permission]],
          resources: [this.table.tableArn],
          conditions: {
            'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys },
            // ForAllValues also matches a request without the key, so its absence must be denied.
            Null: { 'dynamodb:LeadingKeys': 'false' },
            ...(ONLY_IN_TRANSACTIONS.has(permission) && {
              'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
            }),
          },
        }),
      );
    }
    this.grantKeyTo(fn);
  }

  /** Grants the daily verification read access to the whole table; no other function is allowed to scan. */
  grantWholeTableTo(verification: LambdaFunction): void {
    verification.addEnvironment('TABLE_NAME', this.name);
    verification.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:Scan', 'dynamodb:Query', 'dynamodb:GetItem'],
        resources: [this.table.tableArn],
      }),
    );
    this.grantKeyTo(verification);
  }

  /** A table with a customer managed key also requires kms:Decrypt of its callers; here only through DynamoDB. */
  private grantKeyTo(fn: LambdaFunction): void {
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt'],
        resources: [this.key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `dynamodb.${Stack.of(this).region}.amazonaws.com` } },
      }),
    );
  }
}
