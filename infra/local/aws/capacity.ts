import { actionsOf } from '../calls/actions.ts';
import type { AwsCall, AwsResponse } from '../calls/aws-call.ts';
import { ACCOUNT } from '../stack/template.ts';
import {
  batchSubset,
  itemId,
  itemsIn,
  mergeRequestItems,
  parsedBody,
  type RequestItems,
  storedItems,
  writesOf,
} from './call-items.ts';
import {
  bytesAfterUpdate,
  type Item,
  itemBytes,
  type ReadMode,
  readUnits,
  writeUnits,
} from './item-size.ts';
import { transactionCanceled } from './transaction-conflicts.ts';

/*
 * DynamoDB limits the throughput of a partition and of a table, and throttles calls above it; the
 * embedded engine does not. The rules and their sources are in
 * docs/adr/0003-local-cloud-runs-the-template.md.
 */

export interface CapacityOptions {
  readonly region: string;
  /** The maximum throughput in units per second; undefined if the template sets none. */
  readonly tableMaximum: () => {
    readonly Read?: number | undefined;
    readonly Write?: number | undefined;
  };
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** Forwards a call to the engine unless DynamoDB would throttle it. */
export type Meter = (
  call: Pick<AwsCall, 'operation' | 'input'>,
  forward: (input: Input) => Promise<AwsResponse>,
  /** Reads the sizes of stored items; not metered. */
  batchGetItem: (input: Input) => Promise<AwsResponse>,
) => Promise<AwsResponse>;

type Input = Record<string, unknown>;
type Kind = 'Read' | 'Write';
type Limit = 'KeyRangeThroughputExceeded' | 'MaxOnDemandThroughputExceeded';

/**
 * The capacity that an action requires of its table and, unless it is a Scan, of one partition key.
 */
interface Demand {
  readonly kind: Kind;
  readonly table: string;
  readonly pk: string | undefined;
  readonly units: number;
}

/** The throughput of a partition, in units per second. */
const PARTITION_MAXIMUM = { Read: 3000, Write: 1000 } satisfies Record<Kind, number>;
/** DynamoDB retains unused capacity of a table for this long. */
const BURST_SECONDS = 300;
/** At this number of partition keys, full buckets are discarded to bound the memory. */
const MAX_PARTITION_BUCKETS = 1000;
/** The period in which DynamoDB recognizes a ClientRequestToken. */
const TOKEN_VALID_MS = 10 * 60 * 1000;

interface TokenBucket {
  available(): number;
  /**
   * May take more units than are available; the balance is then negative until it has been
   * refilled.
   */
  take(units: number): void;
  isFull(): boolean;
}

export function tokenBucket(
  ratePerSecond: number,
  capacity: number,
  now: () => number,
): TokenBucket {
  // A new bucket holds one second of capacity, because no unused capacity has accumulated.
  let units = ratePerSecond;
  let since = now();
  const available = () => {
    const time = now();
    units = Math.min(capacity, units + ((time - since) * ratePerSecond) / 1000);
    since = time;
    return units;
  };
  return {
    available,
    take(taken) {
      units = available() - taken;
    },
    isFull: () => available() === capacity,
  };
}

export function meterCapacity({
  region,
  tableMaximum,
  now = () => performance.now(),
}: CapacityOptions): Meter {
  const partitions = new Map<string, TokenBucket>();
  const tables = new Map<string, TokenBucket>();
  /** The ClientRequestTokens of committed transactions and their commit times, oldest first. */
  const committedTokens = new Map<string, number>();
  const isRecent = (time: number | undefined): boolean =>
    time !== undefined && time > now() - TOKEN_VALID_MS;

  function partitionBucket(table: string, kind: Kind, pk: string): TokenBucket {
    const name = JSON.stringify([table, kind, pk]);
    const rate = PARTITION_MAXIMUM[kind];
    const bucket = partitions.get(name) ?? tokenBucket(rate, rate, now);
    if (partitions.size >= MAX_PARTITION_BUCKETS && !partitions.has(name)) {
      for (const [other, { isFull }] of partitions) if (isFull()) partitions.delete(other);
    }
    partitions.set(name, bucket);
    return bucket;
  }

  function tableBucket(table: string, kind: Kind, rate: number): TokenBucket {
    // The rate is part of the key: a changed maximum starts a new bucket.
    const name = JSON.stringify([table, kind, rate]);
    const bucket = tables.get(name) ?? tokenBucket(rate, BURST_SECONDS * rate, now);
    tables.set(name, bucket);
    return bucket;
  }

  function bucketsOf({ kind, table, pk }: Demand): [Limit, TokenBucket][] {
    const maximum = tableMaximum()[kind];
    const buckets: [Limit, TokenBucket][] = [];
    if (pk !== undefined)
      buckets.push(['KeyRangeThroughputExceeded', partitionBucket(table, kind, pk)]);
    if (maximum !== undefined)
      buckets.push(['MaxOnDemandThroughputExceeded', tableBucket(table, kind, maximum)]);
    return buckets;
  }

  function charge(demand: Demand, units = demand.units): void {
    for (const [, bucket] of bucketsOf(demand)) bucket.take(units);
  }

  /**
   * Charges each demand that fits on its own. Returns the limits that each of the others exceeds.
   */
  function takeEach(demands: readonly Demand[]): Limit[][] {
    return demands.map((demand) => {
      const exceeded = bucketsOf(demand).filter(([, bucket]) => bucket.available() < demand.units);
      if (exceeded.length === 0) charge(demand);
      return exceeded.map(([limit]) => limit);
    });
  }

  /** Charges all demands or none. Returns the limits that each exceeds. */
  function takeAll(demands: readonly Demand[]): Limit[][] {
    const exceeded = takeEach(demands);
    if (exceeded.some(isExceeded)) {
      for (const [index, demand] of demands.entries())
        if (!exceeded[index]?.length) charge(demand, -demand.units);
    }
    return exceeded;
  }

  function throttled(
    operation: string,
    demands: readonly Demand[],
    exceeded: readonly Limit[][],
  ): AwsResponse {
    const [first = 'KeyRangeThroughputExceeded'] = exceeded.flat();
    if (operation.startsWith('Transact')) {
      return transactionCanceled(
        exceeded.map(([limit]) =>
          limit ? { Code: 'ThrottlingError', Message: MESSAGES[limit] } : { Code: 'None' },
        ),
      );
    }
    const reasons = demands.flatMap(({ kind, table }, index) =>
      (exceeded[index] ?? []).map((limit) => ({
        reason: `Table${kind}${limit}`,
        resource: `arn:aws:dynamodb:${region}:${ACCOUNT}:table/${table}`,
      })),
    );
    const distinct = reasons.filter(
      ({ reason }, index) => reasons.findIndex((other) => other.reason === reason) === index,
    );
    return operation.startsWith('Batch')
      ? errorResponse('ProvisionedThroughputExceededException', BATCH_MESSAGE, {
          ThrottlingReasons: distinct,
        })
      : errorResponse('ThrottlingException', MESSAGES[first], { throttlingReasons: distinct });
  }

  /** Forwards a call that fits completely, and the part of a batch that fits. */
  async function forwardUnlessThrottled(
    { operation, input }: Parameters<Meter>[0],
    demands: readonly Demand[],
    forward: (input: Input) => Promise<AwsResponse>,
  ): Promise<AwsResponse> {
    const isBatch = operation.startsWith('Batch');
    const exceeded = isBatch ? takeEach(demands) : takeAll(demands);
    if (!exceeded.some(isExceeded)) return forward(input);
    if (!isBatch || exceeded.every(isExceeded)) return throttled(operation, demands, exceeded);

    const response = await forward(
      batchSubset(input, (position) => !isExceeded(exceeded[position])),
    );
    if (response.status !== 200) return response;
    const body = parsedBody(response);
    const name = operation === 'BatchGetItem' ? 'UnprocessedKeys' : 'UnprocessedItems';
    const throttledPart = batchSubset(input, (position) =>
      isExceeded(exceeded[position]),
    ).RequestItems;
    const unprocessed = mergeRequestItems(body[name] as RequestItems | undefined, throttledPart);
    return { ...response, body: { ...body, [name]: unprocessed } };
  }

  async function meterWrite(
    ...[call, forward, batchGetItem]: Parameters<Meter>
  ): Promise<AwsResponse> {
    const { operation, input } = call;
    const writes = writesOf(call);
    const stored = await storedItems(writes, batchGetItem);
    const transactional = operation === 'TransactWriteItems';
    const token = transactional ? (input.ClientRequestToken as string | undefined) : undefined;
    const isCommitted = token !== undefined && isRecent(committedTokens.get(token));
    const demands = writes.map((write): Demand => {
      const before = stored.get(itemId(write));
      const { table, pk } = write;
      // DynamoDB only reads the items when the token belongs to a committed transaction.
      if (isCommitted)
        return { kind: 'Read', table, pk, units: readUnits(itemBytes(before), 'transactional') };
      const after = write.update ? bytesAfterUpdate(write.update, before) : itemBytes(write.item);
      return {
        kind: 'Write',
        table,
        pk,
        units: writeUnits(Math.max(itemBytes(before), after), transactional),
      };
    });
    const response = await forwardUnlessThrottled(call, demands, forward);
    if (token !== undefined && !isCommitted && response.status === 200) {
      for (const [other, committedAt] of committedTokens) {
        if (isRecent(committedAt)) break;
        committedTokens.delete(other);
      }
      committedTokens.set(token, now());
    }
    return response;
  }

  /**
   * The cost of a read is known only afterwards: it is admitted at the minimum cost, then charged
   * the rest.
   */
  async function meterKeyRead(
    ...[call, forward, batchGetItem]: Parameters<Meter>
  ): Promise<AwsResponse> {
    const { operation, input } = call;
    const reads = actionsOf(call);
    const modeOf = (table: string): ReadMode => {
      if (operation === 'TransactGetItems') return 'transactional';
      const options =
        operation === 'GetItem' ? input : ((input.RequestItems as RequestItems)[table] as Input);
      return options.ConsistentRead ? 'strong' : 'eventual';
    };
    const demands = reads.map(
      ({ table, pk }): Demand => ({ kind: 'Read', table, pk, units: readUnits(0, modeOf(table)) }),
    );
    const read = new Set<string>();
    const response = await forwardUnlessThrottled(call, demands, (part) => {
      for (const key of actionsOf({ operation, input: part })) read.add(itemId(key));
      return forward(part);
    });
    if (response.status !== 200 || read.size === 0) return response;
    // A read costs the whole item, including attributes that a projection omits.
    const items = JSON.stringify(input).includes('"ProjectionExpression":')
      ? await storedItems(reads, batchGetItem)
      : itemsIn(operation, reads, parsedBody(response));
    for (const [index, demand] of demands.entries()) {
      const key = reads[index];
      if (!key || !read.has(itemId(key))) continue;
      charge(
        demand,
        readUnits(itemBytes(items.get(itemId(key))), modeOf(key.table)) - demand.units,
      );
    }
    return response;
  }

  /**
   * A Query reads one partition key. A page of a Scan starts at the key where the previous page
   * ended.
   */
  async function meterPage(...[call, forward]: Parameters<Meter>): Promise<AwsResponse> {
    const { operation, input } = call;
    const table = String(input.TableName);
    const lastKey = input.ExclusiveStartKey as Record<string, { S?: string }> | undefined;
    const pk = operation === 'Query' ? actionsOf(call)[0]?.pk : lastKey?.pk?.S;
    const least: Demand = {
      kind: 'Read',
      table,
      pk,
      units: readUnits(0, input.ConsistentRead ? 'strong' : 'eventual'),
    };
    const exceeded = takeAll([least]);
    if (exceeded.some(isExceeded)) return throttled(operation, [least], exceeded);

    const isRequested = (input.ReturnConsumedCapacity ?? 'NONE') !== 'NONE';
    // Filters and projections hide items that were read, so the engine computes the cost, by the
    // same rules.
    const response = await forward(
      isRequested ? input : { ...input, ReturnConsumedCapacity: 'TOTAL' },
    );
    if (response.status !== 200) return response;
    const { ConsumedCapacity, ...body } = parsedBody(response);
    const { CapacityUnits } = ConsumedCapacity as { CapacityUnits: number };
    if (operation === 'Query') charge(least, CapacityUnits - least.units);
    else {
      charge(least, -least.units);
      chargeScan(table, CapacityUnits, (body.Items ?? []) as Item[]);
    }
    return isRequested ? response : { ...response, body };
  }

  /**
   * Charges the table for the whole page, and each partition key for its share of the returned
   * bytes.
   */
  function chargeScan(table: string, units: number, items: readonly Item[]): void {
    charge({ kind: 'Read', table, pk: undefined, units });
    const total = items.reduce((bytes, item) => bytes + itemBytes(item), 0);
    for (const item of items) {
      const { S: pk } = (item.pk ?? {}) as { S?: string };
      if (pk !== undefined)
        partitionBucket(table, 'Read', pk).take((units * itemBytes(item)) / total);
    }
  }

  const meters: Record<string, Meter> = {
    PutItem: meterWrite,
    UpdateItem: meterWrite,
    DeleteItem: meterWrite,
    BatchWriteItem: meterWrite,
    TransactWriteItems: meterWrite,
    GetItem: meterKeyRead,
    BatchGetItem: meterKeyRead,
    TransactGetItems: meterKeyRead,
    Query: meterPage,
    Scan: meterPage,
  };
  return (call, forward, batchGetItem) =>
    meters[call.operation]?.(call, forward, batchGetItem) ?? forward(call.input);
}

const isExceeded = (limits: readonly Limit[] | undefined): boolean =>
  limits !== undefined && limits.length > 0;

const MESSAGES = {
  KeyRangeThroughputExceeded:
    'Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or ' +
    'index so please try again shortly. If exceptions persist, check if you have a hot key: ' +
    'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html.',
  MaxOnDemandThroughputExceeded:
    'Throughput exceeds the maximum OnDemandThroughput configured on table or index',
} satisfies Record<Limit, string>;
const BATCH_MESSAGE =
  'The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning ' +
  'level with the UpdateTable API.';

const errorResponse = (
  name: string,
  message: string,
  reasons: Record<string, unknown>,
): AwsResponse => ({
  status: 400,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message, ...reasons },
});
