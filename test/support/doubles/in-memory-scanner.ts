import type { Key } from '../../../lib/table/keys.ts';
import type { Item } from '../../../lib/table/table.ts';
import type { TableScanner } from '../../../lib/table/table-scanner.ts';

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
  const isAt = (key: Key) => (item: Key) => item.pk === key.pk && item.sk === key.sk;
  const recordRead = (read: Read) => {
    table.reads.push(read);
    if (table.reads.length > READS_MAX) throw new Error('More than 1,000 reads');
    onRead(read, table.reads.length, table);
  };
  const table: InMemoryScanner = {
    items: structuredClone(items) as Item[],
    reads: [],
    find: (key) => table.items.find(isAt(key)),
    put(key, attributes) {
      const changed: Item = { ...table.find(key), ...attributes, ...key };
      for (const [name, value] of Object.entries(attributes))
        if (value === undefined) delete changed[name];
      table.items = [...table.items.filter((item) => !isAt(key)(item)), changed];
    },
    remove(key) {
      table.items = table.items.filter((item) => !isAt(key)(item));
    },
    async *scan() {
      const all = [...table.items];
      while (all.length > 0) yield all.splice(0, PAGE);
    },
    async snapshot(keys) {
      recordRead({ keys });
      return keys.map((key) => table.find(key));
    },
    async range(pk, range) {
      recordRead({ pk, from: range?.from });
      return table.items
        .filter(
          (item) => item.pk === pk && (!range || (item.sk >= range.from && item.sk <= range.to)),
        )
        .sort((one, other) => (one.sk < other.sk ? -1 : 1))
        .map(({ pk, sk, bytes }) => ({ pk, sk, ...(bytes !== undefined && { bytes }) }));
    },
  };
  return table;
}
