import * as v from 'valibot';
import { Failure } from '../contract/failure.ts';
import { settleAll, untilItSucceeds } from '../runtime/waiting.ts';
import { type Decision, loadDecideCommit } from './change.ts';
import { type ItemDeclaration, whole } from './item-kind.ts';
import type { Key } from './keys.ts';
import type { Item, Table } from './table.ts';
import { set } from './write.ts';

/*
 * A change that old code cannot read needs two releases: the first reads the new format, the second
 * writes it (docs/deploying-a-change.md, Migrating data). The table stores the newest format that
 * was written; code that does not understand it, such as after a rollback, refuses to run instead
 * of misreading items.
 */

export const formatKey: Key = { pk: 'FORMAT', sk: 'FORMAT' };
export const formatItem: ItemDeclaration = {
  pk: 'FORMAT',
  sk: 'FORMAT',
  name: 'newest format that was written',
  attributes: () => v.object({ format: v.pipe(whole, v.minValue(1)) }),
  onForget: 'keep',
  onRestore: 'keep',
};

/** The format that this code writes. Raise it one release after READABLE_FORMAT. */
export const WRITTEN_FORMAT = 1;

/**
 * The newest format that this code understands. Raise it first: while WRITTEN_FORMAT is still
 * lower, the release can be rolled back, and the next one has code to be rolled back to.
 */
export const READABLE_FORMAT = 1;

/** The table may hold items that this code does not understand. */
export class NewerFormat extends Error {
  constructor(stored: number) {
    super(
      `The table has the format ${stored}, but this release understands none above ` +
        `${READABLE_FORMAT}: use the release that is deployed, or a newer one.`,
    );
    this.name = 'NewerFormat';
  }
}

/** The stored format; 0 in a table that nothing has written to. */
const formatOf = (item: Item | undefined): number => (item?.format ?? 0) as number;

/** Returns the stored format. Throws NewerFormat if this code does not understand it. */
export function requireReadable(item: Item | undefined): number {
  const stored = formatOf(item);
  if (stored > READABLE_FORMAT) throw new NewerFormat(stored);
  return stored;
}

/** Raises the stored format to the one that this code writes. Throws as `requireReadable` does. */
export function raiseFormat(item: Item | undefined): Decision<undefined> {
  const isLower = requireReadable(item) < WRITTEN_FORMAT;
  const raised = set(
    formatKey,
    { format: WRITTEN_FORMAT },
    {
      condition: 'attribute_not_exists(#format) OR #format < :format',
      names: { '#format': 'format' },
      values: { ':format': WRITTEN_FORMAT },
      onConditionFailed: 'retry',
    },
  );
  return { writes: isLower ? [raised] : [], result: undefined };
}

/** Keeps code from using a table whose items it may not understand. */
export interface FormatGuard {
  /**
   * The result of a read of the table, once the format has turned out to be readable. The two run
   * in parallel, so that the check costs no time.
   */
  confirm<T>(table: Table, read: Promise<T>): Promise<T>;
  /** Stores the format that this code writes, if the stored one is lower. */
  prepareToWrite(table: Table): Promise<void>;
}

/**
 * Checks the format at the first use of a table, and stores it before the first write. What fails
 * is repeated by the next use. Fails with unavailable, or with SDK errors. For one table, however
 * often it is opened.
 */
export function guardFormat(): FormatGuard {
  const readFormat = (table: Table) => table.get(formatKey);
  const readable = untilItSucceeds((table: Table) =>
    readFormat(table).then(requireReadable).catch(unavailable),
  );
  const prepareToWrite = untilItSucceeds(async (table: Table) => {
    if ((await readable(table)) < WRITTEN_FORMAT)
      await loadDecideCommit(table, () => readFormat(table), raiseFormat).catch(unavailable);
  });
  return {
    async confirm(table, read) {
      const [, result] = await settleAll([readable(table), read]);
      return result;
    },
    prepareToWrite,
  };
}

/** A newer format ends when the newer release is deployed again. */
function unavailable(error: unknown): never {
  throw error instanceof NewerFormat ? new Failure('unavailable', { cause: error }) : error;
}

/** A table that is used only as the guard allows. */
export function withGuard(table: Table, { confirm, prepareToWrite } = guardFormat()): Table {
  return {
    get: (key) => confirm(table, table.get(key)),
    getAll: (keys, onConsumed) => confirm(table, table.getAll(keys, onConsumed)),
    query: (pk, range, onConsumed) => confirm(table, table.query(pk, range, onConsumed)),
    async nextId(kind, howMany) {
      await prepareToWrite(table);
      return table.nextId(kind, howMany);
    },
    // Outside of transactions, only counts are written, and when and from where something was used
    // or seen: no format is about them. So a function that reads, and charges for it, needs no
    // right to raise the format.
    async update(write) {
      await confirm(table, Promise.resolve());
      return table.update(write);
    },
    async transact(writes, token) {
      await prepareToWrite(table);
      await table.transact(writes, token);
    },
  };
}
