import { totalKey } from '../../../lib/table/counters.ts';
import { entityKey, type Key, KINDS, type Kind } from '../../../lib/table/keys.ts';
import type { SnapshotTable } from '../../../lib/table/snapshot.ts';
import type { Item, Range } from '../../../lib/table/table.ts';
import type { Write } from '../../../lib/table/write.ts';
import { cancelledBy } from './aws-errors.ts';
import { found, type Items, itemsIn, nameOf, queried, transacted } from './memory-engine.ts';
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
  const initial = itemsIn([
    ...KINDS.map((kind) => ({
      ...totalKey(kind),
      n: totals[kind] ?? stored.filter(({ pk }) => pk === kind).length,
    })),
    ...stored,
  ]);
  let items: Items = initial;
  const [calls, queries, updates]: [string[], MemoryTable['queries'], Write[]] = [[], [], []];
  const transactions: (readonly Write[])[] = [];
  const concurrent: (readonly Write[])[] = [];
  let failures = 0;
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
      return items.get(nameOf(key));
    },
    async getAll(keys, onConsumed) {
      onConsumed?.(keys.length);
      calls.push(`getAll ${keys.length}`);
      return found(items, keys);
    },
    async snapshot(keys, onConsumed) {
      onConsumed?.(2 * keys.length);
      calls.push(`snapshot ${keys.length}`);
      return found(items, keys);
    },
    async query(pk, range = {}, onConsumed) {
      calls.push(`query ${pk}`);
      queries.push({ pk, range });
      const inRange = queried(items, pk, range);
      // As for items of 450 bytes.
      onConsumed?.(Math.max(1, inRange.length * 0.11));
      return inRange;
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
      items = transacted(items, concurrent.shift() ?? [], () => true).items;
      const { codes, items: after } = transacted(items, writes);
      if (after === items) {
        failures++;
        if (failures > 3) throw new Error(`A condition never holds: ${JSON.stringify(writes)}`);
        throw cancelledBy(...codes);
      }
      failures = 0;
      transactions.push(writes);
      items = after;
    },
  };
}
