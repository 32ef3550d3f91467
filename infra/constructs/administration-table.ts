import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, type CfnTable, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { type Permissions, permissionsOf, type Route } from '../../routes.ts';
import type { Settings } from '../settings.ts';

/** Each right of a row and the action of DynamoDB that it is; a transaction is allowed action by action. */
const ACTIONS = {
  get: 'dynamodb:GetItem',
  batchGet: 'dynamodb:BatchGetItem',
  query: 'dynamodb:Query',
  put: 'dynamodb:PutItem',
  update: 'dynamodb:UpdateItem',
  updateOutsideTransaction: 'dynamodb:UpdateItem',
  remove: 'dynamodb:DeleteItem',
  check: 'dynamodb:ConditionCheckItem',
} satisfies Record<Exclude<keyof Permissions, 'keys' | 'mail'>, string>;

/** A rule is the conditions of a transaction, so these are nothing outside of one. A check cannot be anywhere else. */
const ONLY_IN_TRANSACTIONS = new Set<keyof typeof ACTIONS>(['put', 'update', 'remove']);

/** The one table, and for each row its name together with exactly the rights that the row says. */
export class AdministrationTable extends Construct {
  readonly name: string;
  private readonly table: Table;
  private readonly key: Key;

  constructor(scope: Construct, id: string, { keepData, tableMaximum, key }: Settings & { key: Key }) {
    super(scope, id);
    this.key = key;
    this.table = new Table(this, 'Table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      maxReadRequestUnits: tableMaximum.readUnits,
      maxWriteRequestUnits: tableMaximum.writeUnits,
      encryption: TableEncryption.CUSTOMER_MANAGED,
      encryptionKey: key,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: keepData },
      deletionProtection: keepData,
      // What has expired goes by itself, some time later: whoever reads it compares the time.
      timeToLiveAttribute: 'expires',
      removalPolicy: keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    // Another logical id would mean another, empty table.
    (this.table.node.defaultChild as CfnTable).overrideLogicalId('Table');
    this.name = this.table.tableName;
  }

  /** Names the table to a function whose row has rights to it, and allows what the row says on the partition keys that it says. */
  grantTo(fn: LambdaFunction, route: Route): void {
    const { keys: _keys, mail: _mail, ...rights } = permissionsOf(route);
    if (Object.keys(rights).length === 0) return;
    fn.addEnvironment('TABLE_NAME', this.name);
    for (const [right, keys] of Object.entries(rights) as [keyof typeof ACTIONS, string[]][]) {
      fn.addToRolePolicy(
        new PolicyStatement({
          actions: [ACTIONS[right]],
          resources: [this.table.tableArn],
          conditions: {
            'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys },
            // A request that names no key would fulfil "for all values".
            Null: { 'dynamodb:LeadingKeys': 'false' },
            ...(ONLY_IN_TRANSACTIONS.has(right) && {
              'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
            }),
          },
        }),
      );
    }
    this.grantKeyTo(fn);
  }

  /** Names the table to the function that verifies it, and allows to read all of it: the one function that may scan. */
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

  /** Whoever touches a table under a key of ours needs the key as well, and only through the table. */
  private grantKeyTo(reader: LambdaFunction): void {
    reader.addToRolePolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt'],
        resources: [this.key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `dynamodb.${Stack.of(this).region}.amazonaws.com` } },
      }),
    );
  }
}
