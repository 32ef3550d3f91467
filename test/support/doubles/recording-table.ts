import type { Key } from '../../../lib/table/keys.ts';
import type { Item, Table } from '../../../lib/table/table.ts';
import type { Write } from '../../../lib/table/write.ts';
import { found, itemsIn, nameOf, queried } from './memory-engine.ts';
import { waitMicrotasks } from './microtasks.ts';

/** A table with fixed items that records writes when they end and applies none. */
export interface RecordingTable extends Table {
  items: Item[];
  readonly reads: Key[][];
  readonly transactions: (readonly Write[])[];
  readonly updates: Write[];
  readonly idKinds: string[];
  /** The errors of the next transactions in turn; undefined for success. */
  readonly transactionErrors: (Error | undefined)[];
  /** The outcomes of the next updates in turn: success, a failed condition, or an error. */
  readonly updateOutcomes: (boolean | Error)[];
}

/** Opens a table with these items. */
export function recordingTable(...items: Item[]): RecordingTable {
  const table: RecordingTable = {
    items,
    reads: [],
    transactions: [],
    updates: [],
    idKinds: [],
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
    async nextId(kind) {
      table.idKinds.push(kind);
      return 100 + table.idKinds.length;
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
