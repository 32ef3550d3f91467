import type { Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { TableScanner } from '../../lib/table/table-scanner.ts';

/** A read of a table in memory: the keys of a snapshot, or the partition of a range. */
export type Read = { readonly keys: readonly Key[] } | { readonly pk: string; readonly from?: string | undefined };

export interface WholeTableInMemory extends TableScanner {
  /** What is stored: tests change it, also while it is read. */
  items: Item[];
  /** Every read but those of the scan, in order. */
  readonly reads: Read[];
  find(key: Key): Item | undefined;
  /** Sets attributes of an item, which need not exist; those that are undefined go. */
  put(key: Key, attributes: Record<string, unknown>): void;
  remove(key: Key): void;
}

const PAGE = 3;
/** More than any verification here needs: a loop that never ends must fail. */
const MOST_READS = 1000;

/** A table that is verified without an engine. `onRead` is told of each read before it is answered, with how many there were. */
export function wholeTableInMemory(
  items: readonly Item[],
  onRead: (read: Read, count: number, table: WholeTableInMemory) => void = () => undefined,
): WholeTableInMemory {
  const isAt = (key: Key) => (item: Key) => item.pk === key.pk && item.sk === key.sk;
  const noteRead = (read: Read) => {
    table.reads.push(read);
    if (table.reads.length > MOST_READS) throw new Error('The table is read again and again');
    onRead(read, table.reads.length, table);
  };
  const table: WholeTableInMemory = {
    items: structuredClone(items) as Item[],
    reads: [],
    find: (key) => table.items.find(isAt(key)),
    put(key, attributes) {
      const changed: Item = { ...table.find(key), ...attributes, ...key };
      for (const [name, value] of Object.entries(attributes)) if (value === undefined) delete changed[name];
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
      noteRead({ keys });
      return keys.map((key) => table.find(key));
    },
    async range(pk, range) {
      noteRead({ pk, from: range?.from });
      return table.items
        .filter((item) => item.pk === pk && (!range || (item.sk >= range.from && item.sk <= range.to)))
        .sort((one, other) => (one.sk < other.sk ? -1 : 1))
        .map(({ pk, sk, bytes }) => ({ pk, sk, ...(bytes !== undefined && { bytes }) }));
    },
  };
  return table;
}
