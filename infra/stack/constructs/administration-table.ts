import { Annotations, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type CfnTable,
  type ITable,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Permissions } from '../../../routes.ts';
import { domainOf } from '../../settings/domain-of.ts';
import type { Settings } from '../../settings/settings.ts';

/**
 * The DynamoDB action of each permission; IAM authorizes a transaction by the actions of its items.
 */
const ACTIONS = {
  get: 'dynamodb:GetItem',
  batchGet: 'dynamodb:BatchGetItem',
  query: 'dynamodb:Query',
  put: 'dynamodb:PutItem',
  update: 'dynamodb:UpdateItem',
  updateOutsideTransaction: 'dynamodb:UpdateItem',
  delete: 'dynamodb:DeleteItem',
  conditionCheck: 'dynamodb:ConditionCheckItem',
} satisfies Record<Exclude<keyof Permissions, 'keys'>, string>;

/**
 * A transaction's conditions enforce the rules, so single writes are denied. Checks exist only in
 * transactions.
 */
const ONLY_IN_TRANSACTIONS = new Set<keyof typeof ACTIONS>(['put', 'update', 'delete']);

/** The table; grants each function the table name together with the permissions in its row. */
export class AdministrationTable extends Construct {
  readonly name: string;
  private readonly table: ITable;
  private readonly key: IKey;

  constructor(scope: Construct, id: string, { key, ...settings }: Settings & { key: IKey }) {
    super(scope, id);
    this.key = key;
    const { table, tableStream } = settings.existing ?? {};
    this.table = table ? this.adoptTable(table, tableStream, settings) : this.createTable(settings);
    this.name = this.table.tableName;
  }

  private adoptTable(
    tableName: string,
    tableStreamArn: string | undefined,
    { tableMaximum: { readUnits, writeUnits } }: Settings,
  ): ITable {
    Annotations.of(this).addInfo(
      `tableMaximum has no effect on ${tableName}, which the stack adopts. To set it: aws ` +
        'dynamodb update-table ' +
        `--table-name ${tableName} --on-demand-throughput ` +
        `MaxReadRequestUnits=${readUnits},MaxWriteRequestUnits=${writeUnits}`,
    );
    return Table.fromTableAttributes(this, 'Table', {
      tableName,
      ...(tableStreamArn && { tableStreamArn }),
    });
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
      // The function that reads the stream needs only the keys: secrets stay in the table.
      stream: StreamViewType.KEYS_ONLY,
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

  /**
   * Grants each action on its partition keys only; a function without permissions gets no table
   * name.
   */
  grantTo(fn: LambdaFunction, { keys: _keys, ...permissions }: Permissions): void {
    if (Object.keys(permissions).length === 0) return;
    for (const [permission, keys] of Object.entries(permissions) as [
      keyof typeof ACTIONS,
      string[],
    ][]) {
      fn.addToRolePolicy(
        new PolicyStatement({
          actions: [ACTIONS[permission]],
          resources: [this.table.tableArn],
          conditions: {
            'ForAllValues:StringLike': {
              'dynamodb:LeadingKeys': keys.map((key) => key.replace(/#$/, '#*')),
            },
            // ForAllValues also matches a request without the key, so its absence must be denied.
            Null: { 'dynamodb:LeadingKeys': 'false' },
            ...(ONLY_IN_TRANSACTIONS.has(permission) && {
              'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
            }),
          },
        }),
      );
    }
    this.nameFor(fn);
  }

  /**
   * Grants the daily verification read access to the whole table; no other function is allowed to
   * scan.
   */
  grantWholeTableTo(verification: LambdaFunction): void {
    verification.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:Scan', 'dynamodb:Query', 'dynamodb:GetItem'],
        resources: [this.table.tableArn],
      }),
    );
    this.nameFor(verification);
  }

  /**
   * Hands the keys of items that are created under these prefixes to a function, in the order of
   * each partition key. A shard of the stream serves two readers:
   * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
   */
  handOver(prefixes: readonly [string, string], fn: LambdaFunction): void {
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
        resources: [this.streamArn],
      }),
    );
    // IAM supports no narrower resource for this action.
    fn.addToRolePolicy(
      new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }),
    );
    for (const prefix of prefixes) {
      fn.addEventSourceMapping(prefix, {
        eventSourceArn: this.streamArn,
        // Also what was created before the mapping existed.
        startingPosition: StartingPosition.TRIM_HORIZON,
        batchSize: 10,
        parallelizationFactor: 10,
        reportBatchItemFailures: true,
        bisectBatchOnError: true,
        maxRecordAge: Duration.hours(6),
        filters: [
          FilterCriteria.filter({
            eventName: FilterRule.isEqual('INSERT'),
            dynamodb: { Keys: { pk: { S: FilterRule.beginsWith(prefix) } } },
          }),
        ],
      });
    }
  }

  private get streamArn(): string {
    const { tableStreamArn } = this.table;
    if (!tableStreamArn)
      throw new Error('existing.tableStream is missing: `npm run adopt` prints it.');
    return tableStreamArn;
  }

  /**
   * Tells a function the name of the table. A table with a customer managed key also requires
   * kms:Decrypt of its callers; here only through DynamoDB.
   */
  private nameFor(fn: LambdaFunction): void {
    fn.addEnvironment('TABLE_NAME', this.name);
    const { region } = Stack.of(this);
    // AWS does not document under which of the two domains KMS knows DynamoDB in other partitions.
    const names = [...new Set(['amazonaws.com', domainOf(region)])].map(
      (domain) => `dynamodb.${region}.${domain}`,
    );
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt'],
        resources: [this.key.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': names.length > 1 ? names : names[0] } },
      }),
    );
  }
}
