import { dynamoDbError, transactionCanceled } from '../aws/transaction-conflicts.ts';
import { actionsOf, isWrite } from '../calls/actions.ts';
import type { AwsResponse, Forward, Meter, OperationCall } from '../calls/aws-call.ts';
import { type Item, itemBytes, READ_UNITS_MIN, writeUnits } from './item-size.ts';
import { type Demand, openThroughput, type TableMaximum, type Throughput } from './throughput.ts';

/* The rules and their sources are in docs/adr/0003-local-cloud-runs-the-template.md. */

/** Throttles the calls of all callers to the table; `now` is a monotonic clock in milliseconds. */
export function meterCapacity(
  tableMaximum: TableMaximum,
  now: () => number = () => performance.now(),
): Meter {
  const throughput = openThroughput(tableMaximum, now);
  return async (call, forward, batchGetItem) => {
    if (!isWrite(call.operation)) return meterRead(throughput, call, forward);
    const exceeded = throughput.takeAll(await writesOf(call, batchGetItem));
    return exceeded.includes(true) ? throttled(call, exceeded) : forward(call.input);
  };
}

/** A read is admitted at the minimum cost, then charged the rest of what the engine reports. */
async function meterRead(
  { takeAll, charge }: Throughput,
  call: OperationCall,
  forward: Forward,
): Promise<AwsResponse> {
  const demands = actionsOf(call).map(
    ({ pk }): Demand => ({ kind: 'Read', pk, units: READ_UNITS_MIN }),
  );
  const exceeded = takeAll(demands);
  if (exceeded.includes(true)) return throttled(call, exceeded);
  if (demands.length === 0) return forward(call.input);

  const response = await forward({ ReturnConsumedCapacity: 'TOTAL', ...call.input });
  if (response.status !== 200) return response;
  const { ConsumedCapacity } = bodyOf<{ ConsumedCapacity: Consumed | Consumed[] }>(response);
  const units = [ConsumedCapacity].flat().reduce((sum, each) => sum + each.CapacityUnits, 0);
  for (const demand of demands) charge(demand, units / demands.length - demand.units);
  return response;
}

type Consumed = { readonly CapacityUnits: number };

interface WriteParameters {
  readonly TableName: string;
  readonly Item?: Item;
  readonly Key?: Item;
  readonly ExpressionAttributeValues?: Item;
}

/**
 * A write costs the larger of the item before and after. An Update is taken to leave only its key
 * and the values of its expression, because what it leaves is not known before it is made.
 */
async function writesOf(
  { operation, input }: OperationCall,
  batchGetItem: Forward,
): Promise<Demand[]> {
  const transactional = operation === 'TransactWriteItems';
  const writes = transactional
    ? (input.TransactItems as Record<string, WriteParameters>[]).flatMap(
        Object.values<WriteParameters>,
      )
    : [input as unknown as WriteParameters];
  const keys = writes.map(({ Item, Key = Item }) => ({ pk: Key?.pk, sk: Key?.sk }));
  const idOf = (key?: Item) => JSON.stringify([key?.pk, key?.sk]);
  const [{ TableName } = { TableName: '' }] = writes;
  const stored = await batchGetItem({
    RequestItems: { [TableName]: { Keys: keys, ConsistentRead: true } },
  });
  // The engine rejects invalid keys; it will reject the writes for the same reason.
  const { Responses = {} } = bodyOf<{ Responses?: Record<string, Item[]> }>(stored);
  const before = new Map(Responses[TableName]?.map((item) => [idOf(item), itemBytes(item)]));
  return writes.map(({ Item, Key = Item, ExpressionAttributeValues }): Demand => {
    const after = itemBytes(Item ?? { ...Key, ...ExpressionAttributeValues });
    const units = writeUnits(Math.max(before.get(idOf(Key)) ?? 0, after), transactional);
    return { kind: 'Write', pk: String(Key?.pk?.S), units };
  });
}

const bodyOf = <T>({ body }: AwsResponse): T =>
  typeof body === 'string' ? JSON.parse(body) : (body as T);

function throttled({ operation }: OperationCall, exceeded: readonly boolean[]): AwsResponse {
  if (operation.startsWith('Transact'))
    return transactionCanceled(
      exceeded.map((isExceeded) => ({ Code: isExceeded ? 'ThrottlingError' : 'None' })),
    );
  return dynamoDbError(
    operation.startsWith('Batch')
      ? 'ProvisionedThroughputExceededException'
      : 'ThrottlingException',
    'Throughput exceeds the current capacity of your table',
  );
}
