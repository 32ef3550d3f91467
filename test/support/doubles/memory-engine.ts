import type { Key } from '../../../lib/table/keys.ts';
import type { Item, Range } from '../../../lib/table/table.ts';
import type { Write } from '../../../lib/table/write.ts';
import { holds, updated } from './expressions.ts';

/* DynamoDB in memory, as far as lib uses it: functions of items, which they leave unchanged. */

export type Items = ReadonlyMap<string, Item>;

/** The items as the engine stores them. */
export const itemsIn = (items: Iterable<Item>): Map<string, Item> =>
  new Map([...items].map((item) => [nameOf(item), stored(item)]));

export const nameOf = ({ pk, sk }: Key): string => `${pk} ${sk}`;

/** Whether the condition of a write holds for the stored item. */
export type Holds = (write: Write, item: Item | undefined) => boolean;

/** As the engine evaluates conditions. */
export const asWritten: Holds = (write, item) => holds(write.condition, item, write);

/** A transaction: one code per write, and the items after it, which are the same if it fails. */
export function transacted(
  items: Items,
  writes: readonly Write[],
  isMet: Holds = asWritten,
): { readonly codes: readonly string[]; readonly items: Items } {
  const names = writes.map(({ key }) => nameOf(key));
  // As in DynamoDB, two actions on one item are rejected.
  if (new Set(names).size < names.length)
    throw new Error(`Two actions on one item: ${names.join(', ')}`);
  const codes = writes.map((write) =>
    isMet(write, items.get(nameOf(write.key))) ? 'None' : 'ConditionalCheckFailed',
  );
  if (codes.some((code) => code !== 'None')) return { codes, items };
  const after = new Map(items);
  for (const write of writes) apply(after, write);
  return { codes, items: after };
}

function apply(items: Map<string, Item>, write: Write): void {
  const name = nameOf(write.key);
  if (write.act === 'Put') items.set(name, stored({ ...write.attributes, ...write.key }));
  if (write.act === 'Delete') items.delete(name);
  if (write.act === 'Update') {
    const before = items.get(name) ?? write.key;
    items.set(name, stored(updated({ ...before, ...write.key }, write.update ?? '', write)));
  }
}

/** The client leaves out attributes without a value. */
const stored = (item: Item): Item =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)) as Item;

export function queried(
  items: Items,
  pk: string,
  { from = '', to = '\uffff', backwards = false, limit }: Range = {},
): Item[] {
  // As in DynamoDB, these ranges are rejected.
  if (from > to || (limit !== undefined && limit < 1))
    throw new Error(`No such range: ${JSON.stringify({ from, to, limit })}`);
  const found = [...items.values()]
    .filter((item) => item.pk === pk && item.sk >= from && item.sk <= to)
    .sort((a, b) => (a.sk < b.sk ? -1 : 1));
  return (backwards ? found.reverse() : found).slice(0, limit);
}

export function found(items: Items, keys: readonly Key[]): (Item | undefined)[] {
  // As in DynamoDB, duplicate keys are rejected.
  if (new Set(keys.map(nameOf)).size < keys.length)
    throw new Error(`Duplicate keys: ${JSON.stringify(keys)}`);
  return keys.map((key) => items.get(nameOf(key)));
}
