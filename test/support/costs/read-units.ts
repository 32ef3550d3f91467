import type { AwsCall, AwsResponse } from '../../../infra/local/calls/aws-call.ts';
import { type Item, itemBytes } from '../../../infra/local/capacity/item-size.ts';

const UNITS_PER_READ = { strong: 1, transactional: 2 };
type ReadMode = keyof typeof UNITS_PER_READ;
const BYTES_PER_READ_UNIT = 4096;

/** Reading an item that does not exist costs as much as the smallest item. */
export const readUnits = (bytes: number, mode: ReadMode): number =>
  Math.max(1, Math.ceil(bytes / BYTES_PER_READ_UNIT)) * UNITS_PER_READ[mode];

/**
 * The read units of a call to DynamoDB, by the sizes of the items in its response; 0 for writes.
 */
export function readUnitsOf({ operation, input }: AwsCall, { body }: AwsResponse): number {
  // biome-ignore lint/suspicious/noExplicitAny: responses differ by operation
  const response: any =
    typeof body === 'string' || Buffer.isBuffer(body) ? JSON.parse(String(body)) : body;
  const unitsOf = (items: readonly (Item | undefined)[], mode: ReadMode) =>
    items.reduce((units, item) => units + readUnits(itemBytes(item ?? {}), mode), 0);
  switch (operation) {
    case 'GetItem':
      return unitsOf([response.Item], 'strong');
    case 'BatchGetItem': {
      const [{ Keys }] = Object.values(input.RequestItems as object) as [{ Keys: unknown[] }];
      const [found = []] = Object.values(response.Responses ?? {}) as Item[][];
      return unitsOf(found, 'strong') + Keys.length - found.length;
    }
    case 'TransactGetItems':
      return unitsOf(
        response.Responses?.map(({ Item }: { Item?: Item }) => Item) ?? [],
        'transactional',
      );
    case 'Query':
      return response.ConsumedCapacity?.CapacityUnits ?? 0;
    default:
      return 0;
  }
}
