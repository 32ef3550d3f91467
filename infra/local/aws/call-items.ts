import type { Action } from '../calls/actions.ts';
import type { AwsCall, AwsResponse } from '../calls/aws-call.ts';
import type { Item, Update } from './item-size.ts';

/* The items that a call to DynamoDB writes, has read, or leaves for later. */

type Input = Record<string, unknown>;
type Key = Pick<Action, 'table' | 'pk' | 'sk'>;

/** One item that a call writes or checks. */
export interface ItemWrite extends Key {
  /** What a Put writes. */
  readonly item?: Item | undefined;
  /** What an Update changes. */
  readonly update?: Update | undefined;
}

/** By table: the keys to get, with the options of that table, or the requests to write. */
export type Requests = Record<string, { readonly Keys: unknown[]; readonly ConsistentRead?: boolean } | unknown[]>;

/** Tells items apart. */
export const nameOf = ({ table, pk, sk }: Key): string => JSON.stringify([table, pk, sk]);

export const parsed = ({ body }: AwsResponse): Record<string, unknown> =>
  typeof body === 'string' ? JSON.parse(body) : body;

/** The writes of a call in its order; a check of a transaction is one of them. */
export function writesOf({ operation, input }: Pick<AwsCall, 'operation' | 'input'>): ItemWrite[] {
  const one = (act: string, parts: Input): ItemWrite => {
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
      Object.entries(member).map(([act, parts]) => one(act, parts)),
    );
  }
  if (operation === 'BatchWriteItem') {
    return Object.entries(input.RequestItems as Record<string, Record<string, Input>[]>).flatMap(
      ([TableName, requests]) =>
        requests
          .flatMap((request) => Object.entries(request))
          .map(([request, parts]) => one(request.replace('Request', ''), { TableName, ...parts })),
    );
  }
  return [one(operation.replace('Item', ''), input)];
}

/** The items at these keys as they are stored, by their names; those that do not exist are left out. */
export async function storedItems(
  keys: readonly Key[],
  batchGetItem: (input: Input) => Promise<AwsResponse>,
): Promise<Map<string, Item>> {
  const found = new Map<string, Item>();
  let wanted: Requests | undefined = Object.fromEntries(
    Object.entries(Object.groupBy(keys, ({ table }) => table)).map(([table, group = []]) => {
      const Keys = group.map(({ pk, sk }) => ({ pk: { S: pk }, sk: { S: sk } }));
      return [table, { Keys, ConsistentRead: true }];
    }),
  );
  while (wanted && Object.keys(wanted).length > 0) {
    const answer = await batchGetItem({ RequestItems: wanted });
    // The engine refuses what cannot be read, keys named twice for example: it refuses the call as well.
    if (answer.status !== 200) break;
    for (const [name, item] of itemsIn('BatchGetItem', [], parsed(answer))) found.set(name, item);
    wanted = parsed(answer).UnprocessedKeys as Requests | undefined;
  }
  return found;
}

/** The items in the answer to a read by keys, by their names. */
export function itemsIn(operation: string, reads: readonly Key[], body: Record<string, unknown>): Map<string, Item> {
  if (operation === 'BatchGetItem') {
    const items = Object.entries((body.Responses ?? {}) as Record<string, Item[]>).flatMap(([table, found]) =>
      found.map((item) => [nameOf({ table, pk: String(item.pk?.S), sk: String(item.sk?.S) }), item] as const),
    );
    return new Map(items);
  }
  const answers = operation === 'TransactGetItems' ? (body.Responses as { Item?: Item }[]) : [body as { Item?: Item }];
  return new Map(reads.flatMap((key, index) => (answers[index]?.Item ? [[nameOf(key), answers[index].Item]] : [])));
}

/** A batch with only those of its keys or requests whose positions are wanted. */
export function partOf(input: Input, isWanted: (position: number) => boolean): { RequestItems: Requests } {
  let position = 0;
  const wanted = <T>(list: readonly T[]): T[] => list.filter(() => isWanted(position++));
  const parts = Object.entries(input.RequestItems as Requests).map(([table, part]): [string, Requests[string]] => [
    table,
    Array.isArray(part) ? wanted(part) : { ...part, Keys: wanted(part.Keys) },
  ]);
  return { ...input, RequestItems: Object.fromEntries(parts.filter(([, part]) => listIn(part).length > 0)) };
}

/** Two parts of one batch as one. */
export function together(one: Requests = {}, other: Requests = {}): Requests {
  const merged = { ...one };
  for (const [table, part] of Object.entries(other)) {
    const list = [...listIn(one[table]), ...listIn(part)];
    merged[table] = Array.isArray(part) ? list : { ...part, Keys: list };
  }
  return merged;
}

const listIn = (part: Requests[string] | undefined): unknown[] => (Array.isArray(part) ? part : (part?.Keys ?? []));
