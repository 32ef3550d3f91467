import { actionsOf } from '../calls/actions.ts';
import type { AwsCall, AwsResponse } from '../calls/aws-call.ts';
import { ACCOUNT } from '../stack/template.ts';
import { itemsIn, nameOf, parsed, partOf, type Requests, storedItems, together, writesOf } from './call-items.ts';
import { transactionCanceled } from './in-flight.ts';
import { bytesAfterUpdate, type Item, itemBytes, type ReadMode, readUnits, writeUnits } from './item-size.ts';

/*
 * The embedded engine serves as much as the machine can. DynamoDB limits what a partition and a table serve, and
 * throttles what exceeds it. The rules and their sources are in docs/adr/0003-local-cloud-runs-the-template.md.
 */

export interface CapacityOptions {
  readonly region: string;
  /** The most that the table serves, in units a second; undefined where the template sets no maximum. */
  readonly tableMaximum: () => { readonly Read?: number | undefined; readonly Write?: number | undefined };
  /** Milliseconds on a clock that never goes back. */
  readonly now?: () => number;
}

/** Makes a call to the engine, unless DynamoDB would throttle it. */
export type Meter = (
  call: Pick<AwsCall, 'operation' | 'input'>,
  make: (input: Input) => Promise<AwsResponse>,
  /** Reads stored items, to learn their sizes. */
  batchGetItem: (input: Input) => Promise<AwsResponse>,
) => Promise<AwsResponse>;

type Input = Record<string, unknown>;
type Kind = 'Read' | 'Write';
type Limit = 'KeyRangeThroughputExceeded' | 'MaxOnDemandThroughputExceeded';

/** What an action needs of the table and, unless it is a Scan, of one partition key. */
interface Demand {
  readonly kind: Kind;
  readonly table: string;
  readonly pk: string | undefined;
  readonly units: number;
}

/** What a partition serves, in units a second. */
const PARTITION_MAXIMUM = { Read: 3000, Write: 1000 } satisfies Record<Kind, number>;
/** For how long a table keeps the capacity that it has not used. */
const BURST_SECONDS = 300;
/** How many partition keys are remembered before those at rest are forgotten. */
const PARTITIONS_KEPT = 1000;
/** For how long DynamoDB recognizes the token of a transaction. */
const TOKEN_VALID_MS = 10 * 60 * 1000;

/** Units that flow in at a rate, up to a capacity. */
export interface TokenBucket {
  available(): number;
  /** Takes units, also more than are available: then nothing is available until they have flowed in again. */
  take(units: number): void;
  isFull(): boolean;
}

export function tokenBucket(ratePerSecond: number, capacity: number, now: () => number): TokenBucket {
  // A bucket starts with what one second brings: nothing has been left unused before.
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

export function meterCapacity({ region, tableMaximum, now = () => performance.now() }: CapacityOptions): Meter {
  const partitions = new Map<string, TokenBucket>();
  const tables = new Map<string, TokenBucket>();
  /** The tokens of the transactions that were made, and when. */
  const doneTokens = new Map<string, number>();
  const isRecent = (time: number | undefined): boolean => time !== undefined && time > now() - TOKEN_VALID_MS;

  function partitionBucket(table: string, kind: Kind, pk: string): TokenBucket {
    const name = JSON.stringify([table, kind, pk]);
    const rate = PARTITION_MAXIMUM[kind];
    const bucket = partitions.get(name) ?? tokenBucket(rate, rate, now);
    if (partitions.size >= PARTITIONS_KEPT && !partitions.has(name)) {
      for (const [each, { isFull }] of partitions) if (isFull()) partitions.delete(each);
    }
    partitions.set(name, bucket);
    return bucket;
  }

  function tableBucket(table: string, kind: Kind, rate: number): TokenBucket {
    // A changed maximum is another bucket.
    const name = JSON.stringify([table, kind, rate]);
    const bucket = tables.get(name) ?? tokenBucket(rate, BURST_SECONDS * rate, now);
    tables.set(name, bucket);
    return bucket;
  }

  function bucketsOf({ kind, table, pk }: Demand): [Limit, TokenBucket][] {
    const maximum = tableMaximum()[kind];
    const found: [Limit, TokenBucket][] = [];
    if (pk !== undefined) found.push(['KeyRangeThroughputExceeded', partitionBucket(table, kind, pk)]);
    if (maximum !== undefined) found.push(['MaxOnDemandThroughputExceeded', tableBucket(table, kind, maximum)]);
    return found;
  }

  function charge(demand: Demand, units = demand.units): void {
    for (const [, bucket] of bucketsOf(demand)) bucket.take(units);
  }

  /** Takes what is available, demand by demand; says for each which limits it exceeds. */
  function takeEach(demands: readonly Demand[]): Limit[][] {
    return demands.map((demand) => {
      const exceeded = bucketsOf(demand).filter(([, bucket]) => bucket.available() < demand.units);
      if (exceeded.length === 0) charge(demand);
      return exceeded.map(([limit]) => limit);
    });
  }

  /** Takes all or nothing. */
  function takeAll(demands: readonly Demand[]): Limit[][] {
    const exceeded = takeEach(demands);
    if (exceeded.some(isExceeded)) {
      for (const [index, demand] of demands.entries()) if (!exceeded[index]?.length) charge(demand, -demand.units);
    }
    return exceeded;
  }

  function throttled(operation: string, demands: readonly Demand[], exceeded: readonly Limit[][]): AwsResponse {
    const [first = 'KeyRangeThroughputExceeded'] = exceeded.flat();
    if (operation.startsWith('Transact')) {
      return transactionCanceled(
        exceeded.map(([limit]) => (limit ? { Code: 'ThrottlingError', Message: MESSAGES[limit] } : { Code: 'None' })),
      );
    }
    const reasons = demands.flatMap(({ kind, table }, index) =>
      (exceeded[index] ?? []).map((limit) => ({
        reason: `Table${kind}${limit}`,
        resource: `arn:aws:dynamodb:${region}:${ACCOUNT}:table/${table}`,
      })),
    );
    const distinct = reasons.filter(
      ({ reason }, index) => reasons.findIndex((each) => each.reason === reason) === index,
    );
    return operation.startsWith('Batch')
      ? refusal('ProvisionedThroughputExceededException', BATCH_MESSAGE, { ThrottlingReasons: distinct })
      : refusal('ThrottlingException', MESSAGES[first], { throttlingReasons: distinct });
  }

  /** Makes the call if all of it may be made, and of a batch the part that may. */
  async function makeUnlessThrottled(
    { operation, input }: Parameters<Meter>[0],
    demands: readonly Demand[],
    make: (input: Input) => Promise<AwsResponse>,
  ): Promise<AwsResponse> {
    const isBatch = operation.startsWith('Batch');
    const exceeded = isBatch ? takeEach(demands) : takeAll(demands);
    if (!exceeded.some(isExceeded)) return make(input);
    if (!isBatch || exceeded.every(isExceeded)) return throttled(operation, demands, exceeded);

    const answer = await make(partOf(input, (position) => !isExceeded(exceeded[position])));
    if (answer.status !== 200) return answer;
    const body = parsed(answer);
    const name = operation === 'BatchGetItem' ? 'UnprocessedKeys' : 'UnprocessedItems';
    const { RequestItems } = partOf(input, (position) => isExceeded(exceeded[position]));
    return { ...answer, body: { ...body, [name]: together(body[name] as Requests | undefined, RequestItems) } };
  }

  async function meterWrite(...[call, make, batchGetItem]: Parameters<Meter>): Promise<AwsResponse> {
    const { operation, input } = call;
    const writes = writesOf(call);
    const stored = await storedItems(writes, batchGetItem);
    const transactional = operation === 'TransactWriteItems';
    const token = transactional ? (input.ClientRequestToken as string | undefined) : undefined;
    const isDone = token !== undefined && isRecent(doneTokens.get(token));
    const demands = writes.map((write): Demand => {
      const before = stored.get(nameOf(write));
      const { table, pk } = write;
      // A transaction that was made is only read again.
      if (isDone) return { kind: 'Read', table, pk, units: readUnits(itemBytes(before), 'transactional') };
      const after = write.update ? bytesAfterUpdate(write.update, before) : itemBytes(write.item);
      return { kind: 'Write', table, pk, units: writeUnits(Math.max(itemBytes(before), after), transactional) };
    });
    const answer = await makeUnlessThrottled(call, demands, make);
    if (token !== undefined && !isDone && answer.status === 200) {
      // The oldest come first.
      for (const [each, doneAt] of doneTokens) {
        if (isRecent(doneAt)) break;
        doneTokens.delete(each);
      }
      doneTokens.set(token, now());
    }
    return answer;
  }

  /** DynamoDB learns what a read costs by reading: it is admitted for the least that it can cost, and charged the rest. */
  async function meterKeyRead(...[call, make, batchGetItem]: Parameters<Meter>): Promise<AwsResponse> {
    const { operation, input } = call;
    const reads = actionsOf(call);
    const modeOf = (table: string): ReadMode => {
      if (operation === 'TransactGetItems') return 'transactional';
      const options = operation === 'GetItem' ? input : ((input.RequestItems as Requests)[table] as Input);
      return options.ConsistentRead ? 'strong' : 'eventual';
    };
    const demands = reads.map(
      ({ table, pk }): Demand => ({ kind: 'Read', table, pk, units: readUnits(0, modeOf(table)) }),
    );
    const read = new Set<string>();
    const answer = await makeUnlessThrottled(call, demands, (part) => {
      for (const key of actionsOf({ operation, input: part })) read.add(nameOf(key));
      return make(part);
    });
    if (answer.status !== 200 || read.size === 0) return answer;
    // What a projection leaves out is read, and costs, all the same.
    const items = JSON.stringify(input).includes('"ProjectionExpression":')
      ? await storedItems(reads, batchGetItem)
      : itemsIn(operation, reads, parsed(answer));
    for (const [index, demand] of demands.entries()) {
      const key = reads[index];
      if (!key || !read.has(nameOf(key))) continue;
      charge(demand, readUnits(itemBytes(items.get(nameOf(key))), modeOf(key.table)) - demand.units);
    }
    return answer;
  }

  /** A Query reads one partition key; a page of a Scan reads those that it returns, the first where the last page ended. */
  async function meterPage(...[call, make]: Parameters<Meter>): Promise<AwsResponse> {
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

    const isAsked = (input.ReturnConsumedCapacity ?? 'NONE') !== 'NONE';
    // A filter or a projection hides what was read, so the engine is asked; it computes sizes by the same rules.
    const answer = await make(isAsked ? input : { ...input, ReturnConsumedCapacity: 'TOTAL' });
    if (answer.status !== 200) return answer;
    const { ConsumedCapacity, ...body } = parsed(answer);
    const { CapacityUnits } = ConsumedCapacity as { CapacityUnits: number };
    if (operation === 'Query') charge(least, CapacityUnits - least.units);
    else {
      charge(least, -least.units);
      chargeScan(table, CapacityUnits, (body.Items ?? []) as Item[]);
    }
    return isAsked ? answer : { ...answer, body };
  }

  /** A Scan costs the table what the page costs, and each partition key its share of what was returned. */
  function chargeScan(table: string, units: number, items: readonly Item[]): void {
    charge({ kind: 'Read', table, pk: undefined, units });
    const total = items.reduce((bytes, item) => bytes + itemBytes(item), 0);
    for (const item of items) {
      const { S: pk } = (item.pk ?? {}) as { S?: string };
      if (pk !== undefined) partitionBucket(table, 'Read', pk).take((units * itemBytes(item)) / total);
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
  return (call, make, batchGetItem) => meters[call.operation]?.(call, make, batchGetItem) ?? make(call.input);
}

const isExceeded = (limits: readonly Limit[] | undefined): boolean => limits !== undefined && limits.length > 0;

const MESSAGES = {
  KeyRangeThroughputExceeded:
    'Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or ' +
    'index so please try again shortly. If exceptions persist, check if you have a hot key: ' +
    'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html.',
  MaxOnDemandThroughputExceeded: 'Throughput exceeds the maximum OnDemandThroughput configured on table or index',
} satisfies Record<Limit, string>;
const BATCH_MESSAGE =
  'The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning ' +
  'level with the UpdateTable API.';

const refusal = (name: string, message: string, reasons: Record<string, unknown>): AwsResponse => ({
  status: 400,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message, ...reasons },
});
