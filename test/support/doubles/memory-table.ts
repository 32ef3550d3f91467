import { entityKey, type Key, type Kind } from '../../../lib/table/keys.ts';
import type { SnapshotTable } from '../../../lib/table/snapshot.ts';
import type { Item, Range } from '../../../lib/table/table.ts';
import type { Write } from '../../../lib/table/write.ts';
import { cancelledBy } from './aws-errors.ts';
import { holds, updated } from './expressions.ts';
import { waitMicrotasks } from './microtasks.ts';

/** A table in memory that records reads when they begin and writes when they have ended. */
export interface MemoryTable extends SnapshotTable {
  /**
   * The reads and id requests in order: the operation, and its partition key, kind or number of
   * keys.
   */
  readonly calls: string[];
  readonly queries: { readonly pk: string; readonly range: Range }[];
  /** The writes of every transaction whose conditions held, as applied. */
  readonly transactions: (readonly Write[])[];
  /** The writes of others, applied before the next transactions in turn. */
  readonly concurrent: (readonly Write[])[];
  /** Updates outside of transactions, which are not applied. */
  readonly updates: Write[];
  find(key: Key): Item | undefined;
  /** The items that differ from those at the start, by both keys; null if deleted. */
  changed(): Record<string, Item | null>;
}

/** Opens a table with these items. A total that is not given is the number of items of its kind. */
export function memoryTable(
  stored: readonly Item[] = [],
  totals: Partial<Record<Kind, number>> = {},
): MemoryTable {
  const items = new Map(stored.map((item) => [nameOf(item), item]));
  const [calls, queries, updates]: [string[], MemoryTable['queries'], Write[]] = [[], [], []];
  const transactions: (readonly Write[])[] = [];
  const concurrent: (readonly Write[])[] = [];
  const initial = new Map(items);
  let failures = 0;
  const inPartition = (partition: string) =>
    [...items.values()].filter(({ pk }) => pk === partition);
  /** Includes the totals. */
  const read = (key: Key): Item | undefined =>
    items.get(nameOf(key)) ??
    (key.pk === 'TOTAL'
      ? { ...key, n: totals[key.sk as Kind] ?? stored.filter(({ pk }) => pk === key.sk).length }
      : undefined);
  const apply = (write: Write) => {
    const name = nameOf(write.key);
    if (write.act === 'Put') items.set(name, { ...write.attributes, ...write.key });
    if (write.act === 'Delete') items.delete(name);
    if (write.act === 'Update')
      items.set(name, updated({ ...read(write.key), ...write.key }, write.update ?? '', write));
  };
  let lastId = 1000;
  return {
    calls,
    queries,
    transactions,
    concurrent,
    updates,
    find: (key) => items.get(nameOf(key)),
    changed: () =>
      Object.fromEntries(
        [...new Set([...initial.keys(), ...items.keys()])]
          .filter((name) => items.get(name) !== initial.get(name))
          .map((name) => [name, items.get(name) ?? null]),
      ),
    async get(key) {
      calls.push(`get ${key.pk}`);
      return read(key);
    },
    async getAll(keys, onConsumed) {
      onConsumed?.(keys.length);
      calls.push(`getAll ${keys.length}`);
      // As in DynamoDB, duplicate keys are rejected.
      if (new Set(keys.map(nameOf)).size < keys.length)
        throw new Error(`Duplicate keys: ${JSON.stringify(keys)}`);
      return keys.map(read);
    },
    async snapshot(keys, onConsumed) {
      onConsumed?.(2 * keys.length);
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
      do lastId++;
      while (items.has(nameOf(entityKey(kind, lastId))));
      return lastId;
    },
    async update(write) {
      await waitMicrotasks();
      updates.push(write);
      return { ...write.key };
    },
    async transact(writes) {
      await waitMicrotasks();
      concurrent.shift()?.forEach(apply);
      const codes = writes.map((write) =>
        holds(write.condition, read(write.key), write) ? 'None' : 'ConditionalCheckFailed',
      );
      if (codes.some((code) => code !== 'None')) {
        failures++;
        if (failures > 3) throw new Error(`A condition never holds: ${JSON.stringify(writes)}`);
        throw cancelledBy(...codes);
      }
      failures = 0;
      transactions.push(writes);
      writes.forEach(apply);
    },
  };
}

/** The name of an item in `changed`: both keys. */
export const nameOf = ({ pk, sk }: Key): string => `${pk} ${sk}`;
