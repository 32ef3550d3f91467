import type { Key } from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { aWhile } from './a-while.ts';

/** A table with fixed items that records writes when they have ended and applies none. */
export interface RecordedTable extends Table {
  items: Item[];
  readonly reads: Key[][];
  readonly transacted: (readonly Write[])[];
  readonly updated: Write[];
  readonly ids: string[];
  /** The errors of the next transactions in turn; undefined for success. */
  readonly refusals: (Error | undefined)[];
  /** The outcomes of the next updates in turn: success, a failed condition, or an error. */
  readonly updates: (boolean | Error)[];
}

/** Opens a table with these items. */
export function recordedTable(...items: Item[]): RecordedTable {
  const find = ({ pk, sk }: Key) => table.items.find((item) => item.pk === pk && item.sk === sk);
  const table: RecordedTable = {
    items,
    reads: [],
    transacted: [],
    updated: [],
    ids: [],
    refusals: [],
    updates: [],
    async get(key) {
      table.reads.push([key]);
      return find(key);
    },
    async getAll(keys) {
      table.reads.push([...keys]);
      return table.items.filter((item) => keys.some(({ pk, sk }) => item.pk === pk && item.sk === sk));
    },
    async query(pk) {
      return table.items.filter((item) => item.pk === pk);
    },
    async total() {
      return table.items.length;
    },
    async nextId(kind) {
      table.ids.push(kind);
      return 100 + table.ids.length;
    },
    async update(write) {
      await aWhile();
      table.updated.push(write);
      const outcome = table.updates.shift() ?? true;
      if (outcome instanceof Error) throw outcome;
      return outcome ? { ...write.key } : undefined;
    },
    async transact(writes) {
      await aWhile();
      table.transacted.push(writes);
      if (table.transacted.length > 1000) throw new Error('More than 1,000 transactions');
      const refusal = table.refusals.shift();
      if (refusal) throw refusal;
    },
  };
  return table;
}

/** The error of a transaction that DynamoDB cancels, with one reason code per write. */
export function cancelledBy(...codes: string[]): Error {
  const CancellationReasons = codes.map((Code) => ({ Code }));
  return Object.assign(new Error('cancelled'), { name: 'TransactionCanceledException', CancellationReasons });
}
