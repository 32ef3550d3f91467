import { pick } from '../../../lib/contract/entity-fields.ts';
import { totalKey } from '../../../lib/table/item-kind.ts';
import { entityKey, type Key, KINDS, type Kind } from '../../../lib/table/keys.ts';
import type { SnapshotTable } from '../../../lib/table/snapshot.ts';
import type { Item, Range, Table } from '../../../lib/table/table.ts';
import type { TableScanner } from '../../../lib/table/table-scanner.ts';
import type { Write } from '../../../lib/table/write.ts';
import { cancelledBy, waitMicrotasks } from './aws-calls.ts';
import { found, type Items, itemsIn, nameOf, queried, transacted } from './memory-engine.ts';

/** A table in memory that records reads when they begin and writes when they have ended. */
export interface MemoryTable extends SnapshotTable {
  /** The reads and id requests: the operation, and its partition key, kind or number of keys. */
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
        const isFinal = writes.some(
          ({ onConditionFailed }, index) =>
            codes[index] !== 'None' && onConditionFailed !== 'retry',
        );
        // A rule that ends with its failure repeats nothing.
        failures = isFinal ? 0 : failures + 1;
        if (failures > 3) throw new Error(`A condition never holds: ${JSON.stringify(writes)}`);
        throw cancelledBy(...codes);
      }
      failures = 0;
      transactions.push(writes);
      items = after;
    },
  };
}

/** The mails and the entries of the audit trail that were written. */
export const recordsIn = (table: MemoryTable): string[] =>
  Object.values(table.changed()).flatMap((item) => {
    if (item?.pk.startsWith('MAIL#')) return [`mail ${item.occasion}`];
    if (!item?.pk.startsWith('AUDIT#')) return [];
    const { actor, session, action, target, targetName } = item;
    return [[actor, session, action, target, targetName].join(' ')];
  });

/** A table with fixed items that records writes when they end and applies none. */
interface RecordingTable extends Table {
  items: Item[];
  readonly reads: Key[][];
  readonly transactions: (readonly Write[])[];
  readonly updates: Write[];
  /** The errors of the next transactions in turn; undefined for success. */
  readonly transactionErrors: (Error | undefined)[];
  /** The outcomes of the next updates in turn: success, a failed condition, or an error. */
  readonly updateOutcomes: (boolean | Error)[];
}

export function recordingTable(...items: Item[]): RecordingTable {
  let lastId = 100;
  const table: RecordingTable = {
    items,
    reads: [],
    transactions: [],
    updates: [],
    transactionErrors: [],
    updateOutcomes: [],
    async get(key) {
      table.reads.push([key]);
      return itemsIn(table.items).get(nameOf(key));
    },
    async getAll(keys) {
      table.reads.push([...keys]);
      return found(itemsIn(table.items), keys);
    },
    async query(pk, range) {
      return queried(itemsIn(table.items), pk, range);
    },
    async nextId() {
      return ++lastId;
    },
    async update(write) {
      await waitMicrotasks();
      table.updates.push(write);
      const outcome = table.updateOutcomes.shift() ?? true;
      if (outcome instanceof Error) throw outcome;
      return outcome ? { ...write.key } : undefined;
    },
    async transact(writes) {
      await waitMicrotasks();
      table.transactions.push(writes);
      if (table.transactions.length > 1000) throw new Error('More than 1,000 transactions');
      const error = table.transactionErrors.shift();
      if (error) throw error;
    },
  };
  return table;
}

/** A read: the keys of a snapshot, or the partition of a range. */
export type Read =
  | { readonly keys: readonly Key[] }
  | { readonly pk: string; readonly from?: string | undefined };

/** A scannable table in memory that records its reads. */
export interface InMemoryScanner extends TableScanner {
  /** The stored items, which tests may change during a read. */
  items: Item[];
  readonly reads: Read[];
  find(key: Key): Item | undefined;
  /** Creates or updates an item; undefined removes an attribute. */
  put(key: Key, attributes: Record<string, unknown>): void;
  remove(key: Key): void;
}

/** Items per page of a scan. */
const PAGE = 3;
/** More than any verification in the tests needs, so that an endless loop fails. */
const READS_MAX = 1000;

/**
 * For a verification without an engine. `onRead` runs before each read, with their number. Scans
 * return only the keys and these attributes, if they are given.
 */
export function inMemoryScanner(
  items: readonly Item[],
  onRead: (read: Read, count: number, table: InMemoryScanner) => void = () => undefined,
  attributes?: readonly string[],
): InMemoryScanner {
  const projected = (item: Item): Item =>
    attributes ? { ...pick(item, attributes), pk: item.pk, sk: item.sk } : item;
  const recordRead = (read: Read) => {
    table.reads.push(read);
    if (table.reads.length > READS_MAX) throw new Error('More than 1,000 reads');
    onRead(read, table.reads.length, table);
  };
  const table: InMemoryScanner = {
    items: structuredClone(items) as Item[],
    reads: [],
    find: (key) => itemsIn(table.items).get(nameOf(key)),
    put(key, attributes) {
      const changed = { ...table.find(key), ...attributes, ...key };
      table.items = [...itemsIn([...table.items, changed]).values()];
    },
    remove(key) {
      table.items = table.items.filter((item) => nameOf(item) !== nameOf(key));
    },
    async *scan() {
      const all = table.items.map(projected);
      while (all.length > 0) yield all.splice(0, PAGE);
    },
    async snapshot(keys) {
      recordRead({ keys });
      return found(itemsIn(table.items), keys);
    },
    async range(pk, range) {
      recordRead({ pk, from: range?.from });
      return queried(itemsIn(table.items), pk, range).map(({ pk, sk, bytes }) => ({
        pk,
        sk,
        ...(bytes !== undefined && { bytes }),
      }));
    },
  };
  return table;
}
