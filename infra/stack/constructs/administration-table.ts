import { Annotations, Stack, Validations } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type CfnTable,
  type ITable,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  type EventSourceMappingOptions,
  FilterCriteria,
  FilterRule,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import { Construct } from 'constructs';
import { PARTITION } from '../../../lib/operations/item-kinds.ts';
import type { Permissions } from '../../../routes.ts';
import { adoptedTable } from '../../settings/existing.ts';
import { updateMaximum } from '../../settings/limits.ts';
import type { Settings } from '../../settings/settings.ts';
import type { GatehouseFunction } from './gatehouse-function.ts';

/** IAM authorizes a transaction by the actions of its items. */
const ACTIONS = {
  get: 'dynamodb:GetItem',
  batchGet: 'dynamodb:BatchGetItem',
  query: 'dynamodb:Query',
  put: 'dynamodb:PutItem',
  update: 'dynamodb:UpdateItem',
  updateUser: 'dynamodb:UpdateItem',
  updateSession: 'dynamodb:UpdateItem',
  updateOutsideTransaction: 'dynamodb:UpdateItem',
  delete: 'dynamodb:DeleteItem',
  conditionCheck: 'dynamodb:ConditionCheckItem',
} satisfies Record<Exclude<keyof Permissions, 'keys'>, string>;

/** The partitions of the permissions that list attributes. */
const PARTITION_OF_ATTRIBUTES: Readonly<Record<string, string>> = {
  updateUser: PARTITION.user,
  updateSession: PARTITION.session,
};

/** A transaction's conditions enforce the rules, so single writes are denied. */
const ONLY_IN_TRANSACTIONS = ['put', 'update', 'delete', ...Object.keys(PARTITION_OF_ATTRIBUTES)];

/** Whoever uses the table checks its format first; a transaction may have to raise it. */
function withFormat(permissions: Permissions): Permissions {
  if (Object.keys(permissions).length === 0) return permissions;
  const { get = [], put, update, updateUser, updateSession, delete: deletion } = permissions;
  const mayWrite = put ?? update ?? updateUser ?? updateSession ?? deletion;
  return {
    ...permissions,
    get: [...new Set([...get, PARTITION.format])],
    ...(mayWrite && { update: [...(update ?? []), PARTITION.format] }),
  };
}

/** The table; grants each function the table name together with the permissions in its row. */
export class AdministrationTable extends Construct {
  private readonly table: ITable;
  private readonly key: IKey;

  constructor(scope: Construct, id: string, key: IKey, settings: Settings) {
    super(scope, id);
    this.key = key;
    const tableName = adoptedTable(settings);
    if (tableName) {
      Annotations.of(this).addInfo(
        `tableMaximum has no effect on ${tableName}, which the stack adopts. To set it: aws ` +
          updateMaximum(tableName, settings.tableMaximum),
      );
      const tableStreamArn = settings.existing?.tableStream as string;
      this.table = Table.fromTableAttributes(this, 'Table', { tableName, tableStreamArn });
    } else this.table = this.createTable(settings);
  }

  get name(): string {
    return this.table.tableName;
  }

  get arn(): string {
    return this.table.tableArn;
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
    });
    // A different logical id would replace the table with an empty one.
    (table.node.defaultChild as CfnTable).overrideLogicalId('Table');
    if (!keepData)
      Validations.of(table).acknowledge({
        id: 'AwsSolutions::AwsSolutions-DDB3',
        reason: 'No point-in-time recovery: without keepData, the data is not kept',
      });
    return table;
  }

  /**
   * Grants each action on its partition keys only, and what the check of the format needs. The
   * attributes of a request are the top-level ones of its item or key and of all its expressions,
   * conditions included:
   * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
   */
  grantTo(fn: GatehouseFunction, { keys: _, ...permissions }: Permissions): void {
    const granted = Object.entries(withFormat(permissions)) as [keyof typeof ACTIONS, string[]][];
    for (const [permission, names] of granted) {
      const partition = PARTITION_OF_ATTRIBUTES[permission];
      const keys = partition === undefined ? names : [partition];
      fn.allow([ACTIONS[permission]], [this.table.tableArn], {
        'ForAllValues:StringLike': {
          'dynamodb:LeadingKeys': keys.map((key) => key.replace(/#$/, '#*')),
        },
        // ForAllValues also matches a request without the key, so its absence must be denied.
        Null: { 'dynamodb:LeadingKeys': 'false' },
        ...(ONLY_IN_TRANSACTIONS.includes(permission) && {
          'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': ['TransactWriteItems'] },
        }),
        // An update without attributes writes nothing, so their absence need not be denied.
        ...(partition !== undefined && {
          'ForAllValues:StringEquals': {
            'dynamodb:Attributes': [...new Set(['pk', 'sk', ...names])],
          },
        }),
      });
    }
    if (granted.length > 0) this.nameFor(fn);
  }

  /** No function but the daily verification may scan the table. */
  grantWholeTableTo(verification: GatehouseFunction): void {
    verification.allow(
      ['dynamodb:Scan', 'dynamodb:Query', 'dynamodb:GetItem'],
      [this.table.tableArn],
    );
    this.nameFor(verification);
  }

  /**
   * Hands the keys of items that are created under these prefixes to a function, in the order of
   * each partition key, and the key of the armed emergency account also when it is replaced. Call
   * it once per function: AWS rejects a second event source mapping of the same stream and
   * function, whatever its filter, https://github.com/anomalyco/sst/issues/5975
   */
  handOver(
    prefixes: readonly string[],
    fn: GatehouseFunction,
    options: Pick<
      EventSourceMappingOptions,
      'batchSize' | 'parallelizationFactor' | 'maxRecordAge'
    >,
  ): void {
    const eventSourceArn = this.table.tableStreamArn as string;
    fn.allow(
      ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
      [eventSourceArn],
    );
    fn.allow(['dynamodb:ListStreams'], ['*']);
    Validations.of(fn.role).acknowledge({
      id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
      reason: 'dynamodb:ListStreams supports no resource',
    });
    // Under another id, AWS would be asked for a second mapping before the first one is deleted.
    fn.addEventSourceMapping('Stream', {
      eventSourceArn,
      // Also what was created before the mapping existed.
      startingPosition: StartingPosition.TRIM_HORIZON,
      ...options,
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      // A record is handed over if it satisfies one of the filters:
      // https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
      filters: prefixes.map((prefix) =>
        FilterCriteria.filter({
          eventName: FilterRule.or('INSERT', ...(prefix === PARTITION.arming ? ['MODIFY'] : [])),
          dynamodb: { Keys: { pk: { S: FilterRule.beginsWith(prefix) } } },
        }),
      ),
    });
  }

  /** The customer managed key requires kms:Decrypt of callers; here only through DynamoDB. */
  private nameFor(fn: GatehouseFunction): void {
    fn.addEnvironment('TABLE_NAME', this.name);
    const { region } = Stack.of(this);
    // AWS does not document under which of the two domains KMS knows DynamoDB in other partitions.
    const domains = new Set(['amazonaws.com', RegionInfo.get(region).domainSuffix]);
    const [name, ...others] = [...domains].map((domain) => `dynamodb.${region}.${domain}`);
    fn.allow(['kms:Decrypt'], [this.key.keyArn], {
      StringEquals: { 'kms:ViaService': others.length > 0 ? [name, ...others] : name },
    });
  }
}
