import type { Key, Kind } from '../../../lib/table/keys.ts';
import type { SnapshotTable } from '../../../lib/table/snapshot.ts';
import type { Item, Range } from '../../../lib/table/table.ts';
import type { Write } from '../../../lib/table/write.ts';
import { waitMicrotasks } from './microtasks.ts';

/** A table in memory that records reads when they begin and writes when they have ended. */
export interface MemoryTable extends SnapshotTable {
  /**
   * The reads and id requests in order: the operation, and its partition key, kind or number of
   * keys.
   */
  readonly calls: string[];
  readonly queries: { readonly pk: string; readonly range: Range }[];
  /** The writes of every transaction, applied without evaluating their conditions. */
  readonly transactions: (readonly Write[])[];
  /** Updates outside of transactions, which are not applied. */
  readonly updates: Write[];
  find(key: Key): Item | undefined;
}

/** Opens a table with these items. A total that is not given is the number of items of its kind. */
export function memoryTable(
  stored: readonly Item[] = [],
  totals: Partial<Record<Kind, number>> = {},
): MemoryTable {
  const items = new Map(stored.map((item) => [nameOf(item), item]));
  const [calls, queries, updates]: [string[], MemoryTable['queries'], Write[]] = [[], [], []];
  const transactions: (readonly Write[])[] = [];
  const inPartition = (partition: string) =>
    [...items.values()].filter(({ pk }) => pk === partition);
  /** Includes the totals. */
  const read = (key: Key): Item | undefined =>
    items.get(nameOf(key)) ??
    (key.pk === 'TOTAL'
      ? { ...key, n: totals[key.sk as Kind] ?? inPartition(key.sk).length }
      : undefined);
  let lastId = 1000;
  return {
    calls,
    queries,
    transactions,
    updates,
    find: (key) => items.get(nameOf(key)),
    async get(key) {
      calls.push(`get ${key.pk}`);
      return read(key);
    },
    async getAll(keys) {
      calls.push(`getAll ${keys.length}`);
      // As in DynamoDB, duplicate keys are rejected.
      if (new Set(keys.map(nameOf)).size < keys.length)
        throw new Error(`Duplicate keys: ${JSON.stringify(keys)}`);
      return keys.map(read);
    },
    async snapshot(keys) {
      calls.push(`snapshot ${keys.length}`);
      return keys.map(read);
    },
    async query(pk, range = {}, onConsumed) {
      calls.push(`query ${pk}`);
      queries.push({ pk, range });
      const { from = '', to = '\uffff', backwards = false, limit } = range;
      // As in DynamoDB, these ranges are rejected.
      if (from > to || (limit !== undefined && limit < 1))
        throw new Error(`No such range: ${JSON.stringify(range)}`);
      const found = inPartition(pk)
        .filter(({ sk }) => sk >= from && sk <= to)
        .sort((a, b) => (a.sk < b.sk ? -1 : 1));
      const items = (backwards ? found.reverse() : found).slice(0, limit);
      // As for items of 450 bytes.
      onConsumed?.(Math.max(1, items.length * 0.11));
      return items;
    },
    async nextId(kind) {
      calls.push(`nextId ${kind}`);
      return ++lastId;
    },
    async update(write) {
      await waitMicrotasks();
      updates.push(write);
      return { ...write.key };
    },
    async transact(writes) {
      await waitMicrotasks();
      transactions.push(writes);
      for (const write of writes) {
        if (write.act === 'Put')
          items.set(nameOf(write.key), { ...write.attributes, ...write.key });
        if (write.act === 'Delete') items.delete(nameOf(write.key));
        if (write.act === 'Update')
          items.set(nameOf(write.key), applyUpdate(items.get(nameOf(write.key)), write));
      }
    },
  };
}

const nameOf = ({ pk, sk }: Key): string => `${pk} ${sk}`;

/** Applies `SET` of plain values and `REMOVE`; arithmetic and sets are not supported. */
function applyUpdate(
  item: Item | undefined,
  { key, update = '', names = {}, values = {} }: Write,
): Item {
  const after: Item = { ...item, ...key };
  for (const [, name = '', value = ''] of update.matchAll(/(#\w+) = (:\w+)/g))
    after[names[name] ?? ''] = values[value];
  const [, removed = ''] = /REMOVE (.*)/.exec(update) ?? [];
  for (const name of removed.split(', ')) delete after[names[name] ?? ''];
  return after;
}
