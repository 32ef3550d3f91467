import { actionsOf } from '../calls/actions.ts';
import type { AwsCall, Meter } from '../calls/aws-call.ts';
import type { Admit } from './admission.ts';
import { itemId, itemsIn, parsedBody, type RequestItems, storedItems } from './call-items.ts';
import { type Item, itemBytes, type ReadMode, readUnits } from './item-size.ts';
import type { Demand, Throughput } from './throughput.ts';

/**
 * Meters reads by keys. The cost of a read is known only afterwards: it is admitted at the minimum
 * cost, then charged the rest.
 */
export const meterKeyReads =
  (admit: Admit, { charge }: Throughput): Meter =>
  async (call, forward, batchGetItem) => {
    const { operation, input } = call;
    const reads = actionsOf(call);
    const demands = reads.map(
      ({ table, pk }): Demand => ({
        kind: 'Read',
        table,
        pk,
        units: readUnits(0, readMode(call, table)),
      }),
    );
    const read = new Set<string>();
    const response = await admit(call, demands, (part) => {
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
      const units = readUnits(itemBytes(items.get(itemId(key))), readMode(call, key.table));
      charge(demand, units - demand.units);
    }
    return response;
  };

function readMode(
  { operation, input }: Pick<AwsCall, 'operation' | 'input'>,
  table: string,
): ReadMode {
  if (operation === 'TransactGetItems') return 'transactional';
  const options =
    operation === 'GetItem'
      ? input
      : ((input.RequestItems as RequestItems)[table] as AwsCall['input']);
  return options.ConsistentRead ? 'strong' : 'eventual';
}

/**
 * Meters Query and Scan. A Query reads one partition key. A page of a Scan starts at the key where
 * the previous page ended.
 */
export const meterPages =
  (admit: Admit, throughput: Throughput): Meter =>
  async (call, forward) => {
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
    const isRequested = (input.ReturnConsumedCapacity ?? 'NONE') !== 'NONE';
    // Filters and projections hide items that were read, so the engine computes the cost, by the
    // same rules.
    const response = await admit(call, [least], () =>
      forward(isRequested ? input : { ...input, ReturnConsumedCapacity: 'TOTAL' }),
    );
    if (response.status !== 200) return response;
    const { ConsumedCapacity, ...body } = parsedBody(response);
    const { CapacityUnits } = ConsumedCapacity as { CapacityUnits: number };
    if (operation === 'Query') throughput.charge(least, CapacityUnits - least.units);
    else {
      throughput.charge(least, -least.units);
      chargeScan(throughput, table, CapacityUnits, (body.Items ?? []) as Item[]);
    }
    return isRequested ? response : { ...response, body };
  };

/**
 * Charges the table for the whole page, and each partition key for its share of the returned
 * bytes.
 */
function chargeScan(
  { charge, chargePartition }: Throughput,
  table: string,
  units: number,
  items: readonly Item[],
): void {
  charge({ kind: 'Read', table, pk: undefined, units });
  const total = items.reduce((bytes, item) => bytes + itemBytes(item), 0);
  for (const item of items) {
    const { S: pk } = (item.pk ?? {}) as { S?: string };
    if (pk !== undefined) chargePartition(table, pk, (units * itemBytes(item)) / total);
  }
}
