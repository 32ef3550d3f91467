import type { Key } from '../../../lib/table/keys.ts';
import type { Item } from '../../../lib/table/table.ts';
import type { TableScanner } from '../../../lib/table/table-scanner.ts';
import { found, itemsIn, nameOf, queried } from './memory-engine.ts';

/** A read: the keys of a snapshot, or the partition of a range. */
export type Read =
  | { readonly keys: readonly Key[] }
  | { readonly pk: string; readonly from?: string | undefined };

/** A scannable table in memory that records its reads. */
export interface InMemoryScanner extends TableScanner {
  /** The stored items, which tests may change during a read. */
  items: Item[];
  /** Every read in order, except for scans. */
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
 * Opens a table for a verification without an engine. `onRead` runs before each read, with the
 * number of reads.
 */
export function inMemoryScanner(
  items: readonly Item[],
  onRead: (read: Read, count: number, table: InMemoryScanner) => void = () => undefined,
): InMemoryScanner {
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
      const all = [...table.items];
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
