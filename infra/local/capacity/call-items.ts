import type { Action } from '../calls/actions.ts';
import type { AwsCall, AwsResponse } from '../calls/aws-call.ts';
import type { Item, Update } from './item-size.ts';

/* The items that a DynamoDB call writes, reads or leaves unprocessed. */

type Input = Record<string, unknown>;
type Key = Pick<Action, 'table' | 'pk' | 'sk'>;

interface ItemWrite extends Key {
  /** The new item of a Put. */
  readonly item?: Item | undefined;
  /** The parameters of an Update. */
  readonly update?: Update | undefined;
}

/**
 * The `RequestItems` of a batch: for each table, the keys and options of a read, or a list of write
 * requests.
 */
export type RequestItems = Record<
  string,
  { readonly Keys: unknown[]; readonly ConsistentRead?: boolean } | unknown[]
>;

/** Identifies an item in a map. */
export const itemId = ({ table, pk, sk }: Key): string => JSON.stringify([table, pk, sk]);

export const parsedBody = ({ body }: AwsResponse): Record<string, unknown> =>
  typeof body === 'string' ? JSON.parse(body) : body;

/** The writes of a call, in order; condition checks count as writes. */
export function writesOf({ operation, input }: Pick<AwsCall, 'operation' | 'input'>): ItemWrite[] {
  const writeOf = (act: string, parts: Input): ItemWrite => {
    const item = (act === 'Put' ? parts.Item : parts.Key) as Item;
    return {
      table: String(parts.TableName),
      pk: String(item.pk?.S ?? ''),
      sk: item.sk?.S as string | undefined,
      ...(act === 'Put' && { item }),
      ...(act === 'Update' && { update: parts as Update }),
    };
  };
  if (operation === 'TransactWriteItems') {
    return (input.TransactItems as Record<string, Input>[]).flatMap((member) =>
      Object.entries(member).map(([act, parts]) => writeOf(act, parts)),
    );
  }
  if (operation === 'BatchWriteItem') {
    return Object.entries(input.RequestItems as Record<string, Record<string, Input>[]>).flatMap(
      ([TableName, requests]) =>
        requests
          .flatMap((request) => Object.entries(request))
          .map(([request, parts]) =>
            writeOf(request.replace('Request', ''), { TableName, ...parts }),
          ),
    );
  }
  return [writeOf(operation.replace('Item', ''), input)];
}

/** Reads the stored items with these keys, by item id. Items that do not exist are omitted. */
export async function storedItems(
  keys: readonly Key[],
  batchGetItem: (input: Input) => Promise<AwsResponse>,
): Promise<Map<string, Item>> {
  const found = new Map<string, Item>();
  let pending: RequestItems | undefined = Object.fromEntries(
    Object.entries(Object.groupBy(keys, ({ table }) => table)).map(([table, group = []]) => {
      const Keys = group.map(({ pk, sk }) => ({ pk: { S: pk }, sk: { S: sk } }));
      return [table, { Keys, ConsistentRead: true }];
    }),
  );
  while (pending && Object.keys(pending).length > 0) {
    const response = await batchGetItem({ RequestItems: pending });
    // The engine rejects invalid keys, such as duplicates; it will reject the metered call for the
    // same reason.
    if (response.status !== 200) break;
    for (const [id, item] of itemsIn('BatchGetItem', [], parsedBody(response))) found.set(id, item);
    pending = parsedBody(response).UnprocessedKeys as RequestItems | undefined;
  }
  return found;
}

/** The items in the response to a read by keys, by item id. */
export function itemsIn(
  operation: string,
  reads: readonly Key[],
  body: Record<string, unknown>,
): Map<string, Item> {
  if (operation === 'BatchGetItem') {
    const items = Object.entries((body.Responses ?? {}) as Record<string, Item[]>).flatMap(
      ([table, found]) =>
        found.map(
          (item) =>
            [itemId({ table, pk: String(item.pk?.S), sk: String(item.sk?.S) }), item] as const,
        ),
    );
    return new Map(items);
  }
  const responses =
    operation === 'TransactGetItems'
      ? (body.Responses as { Item?: Item }[])
      : [body as { Item?: Item }];
  return new Map(
    reads.flatMap((key, index) =>
      responses[index]?.Item ? [[itemId(key), responses[index].Item]] : [],
    ),
  );
}

/** A batch reduced to the keys or requests at the selected positions. */
export function batchSubset(
  input: Input,
  isSelected: (position: number) => boolean,
): { RequestItems: RequestItems } {
  let position = 0;
  const select = <T>(list: readonly T[]): T[] => list.filter(() => isSelected(position++));
  const parts = Object.entries(input.RequestItems as RequestItems).map(
    ([table, part]): [string, RequestItems[string]] => [
      table,
      Array.isArray(part) ? select(part) : { ...part, Keys: select(part.Keys) },
    ],
  );
  return {
    ...input,
    RequestItems: Object.fromEntries(parts.filter(([, part]) => listIn(part).length > 0)),
  };
}

/** Merges two parts of a batch. */
export function mergeRequestItems(
  first: RequestItems = {},
  second: RequestItems = {},
): RequestItems {
  const merged = { ...first };
  for (const [table, part] of Object.entries(second)) {
    const list = [...listIn(first[table]), ...listIn(part)];
    merged[table] = Array.isArray(part) ? list : { ...part, Keys: list };
  }
  return merged;
}

const listIn = (part: RequestItems[string] | undefined): unknown[] =>
  Array.isArray(part) ? part : (part?.Keys ?? []);
