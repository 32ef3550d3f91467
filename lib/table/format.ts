import { Failure } from '../contract/failure.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { type Decision, loadDecideCommit } from './change.ts';
import { formatKey } from './keys.ts';
import type { Item, Table } from './table.ts';
import { set } from './write.ts';

/*
 * The format of the items is a number, which a change that former code would misread raises in two
 * releases: docs/deploying-a-change.md, Migrating data. The table stores the newest one that was
 * written, so that code from before the first of the two, which a rollback can bring back, stops
 * instead of misreading items and writing what follows from that.
 */

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

/** The stored format; 0 in a table that only releases before 1.0.0 have written. */
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
   * The result of a read, once the format has turned out to be readable. The two run in parallel,
   * so that the check costs no time.
   */
  confirm<T>(read: Promise<T>): Promise<T>;
  /** Stores the format that this code writes, if the stored one is lower. */
  prepareToWrite(): Promise<void>;
}

/**
 * Checks the format at the first use of the table, and stores it before the first write. What fails
 * is repeated by the next use. `open` opens the table without a guard. Fails with unavailable, or
 * with SDK errors.
 */
export function guardFormat(open: () => Table): FormatGuard {
  const readFormat = () => open().get(formatKey);
  const readable = untilItSucceeds(async () => requireReadable(await readFormat()));
  const prepared = untilItSucceeds(async () => {
    if ((await readable()) < WRITTEN_FORMAT)
      await loadDecideCommit(open(), readFormat, raiseFormat);
  });
  return {
    async confirm(read) {
      const [, result] = await settleAll([readable(), read]);
      return result;
    },
    prepareToWrite: prepared,
  };
}

/**
 * Runs `work` for the first caller and those meanwhile, and again only after a failure: a newer
 * format ends when the newer release is deployed again.
 */
function untilItSucceeds<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().catch((error) => {
      running = undefined;
      throw error instanceof NewerFormat ? new Failure('unavailable', { cause: error }) : error;
    });
    return running;
  };
}

/** A table that is used only as the guard allows. */
export function withGuard(table: Table, { confirm, prepareToWrite }: FormatGuard): Table {
  return {
    get: (key) => confirm(table.get(key)),
    getAll: (keys, onConsumed) => confirm(table.getAll(keys, onConsumed)),
    query: (pk, range, onConsumed) => confirm(table.query(pk, range, onConsumed)),
    async nextId(kind) {
      await prepareToWrite();
      return table.nextId(kind);
    },
    async update(write) {
      await prepareToWrite();
      return table.update(write);
    },
    async transact(writes, token) {
      await prepareToWrite();
      await table.transact(writes, token);
    },
  };
}
