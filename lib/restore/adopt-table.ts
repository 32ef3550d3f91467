import { setTimeout as wait } from 'node:timers/promises';
import { change, commit } from '../table/change.ts';
import { notBeforeKey, rosterKey, sequenceKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { TableScanner } from '../table/table-scanner.ts';
import { put, remove, set } from '../table/write.ts';

/**
 * How many ids are skipped: more than were given between the backup and the loss. 35 days, the longest time that
 * point-in-time recovery goes back, have room for one creation every three seconds.
 */
export const SKIPPED_IDS = 1_000_000;

/** What an adoption has done. */
export interface Adoption {
  readonly sequences: readonly { readonly kind: string; readonly before: number; readonly after: number }[];
  /** How many reset keys and invitations were deleted. */
  readonly resetKeys: number;
  /** Tokens that were issued before are rejected. */
  readonly notBefore: Date;
}

/**
 * Makes a table that was restored from a backup safe to put into service: no id is given twice, and no token, reset key or
 * invitation from before is accepted. Can be repeated: each time skips more ids and ends all sessions. Running functions
 * learn of it within five minutes, because they keep the key set for that long.
 * Fails with NotGatehouseTable before it changes anything, with unavailable, and as the SDK does.
 */
export async function adoptTable(table: Table, whole: TableScanner, skippedIds = SKIPPED_IDS): Promise<Adoption> {
  if (!(await table.get(rosterKey))) throw new NotGatehouseTable();
  const sequences = [
    await advanceSequence(table, 'USER', skippedIds),
    await advanceSequence(table, 'INTEGRATION', skippedIds),
  ];
  // Tokens count whole seconds: the next second is the first in which none has been issued.
  const seconds = Math.floor(Date.now() / 1000) + 1;
  await change(
    table,
    async () => undefined,
    () => ({ writes: [put(notBeforeKey, { seconds })], result: undefined }),
  );
  const resetKeys = await deleteResetKeys(table, whole);
  // A login that is answered after this has a token that is accepted.
  await wait(Math.max(0, seconds * 1000 - Date.now()));
  return { sequences, resetKeys, notBefore: new Date(seconds * 1000) };
}

/** The table names no administrators: it belongs to something else, or it is empty. */
export class NotGatehouseTable extends Error {}

async function advanceSequence(table: Table, kind: 'USER' | 'INTEGRATION', skippedIds: number) {
  const key = sequenceKey(kind);
  return change(
    table,
    () => table.get(key),
    (item) => {
      const before = (item?.n as number | undefined) ?? 0;
      const after = before + skippedIds;
      const asRead = item
        ? ({
            condition: '#n = :before',
            names: { '#n': 'n' },
            values: { ':before': before },
            onConditionFailed: 'retry',
          } as const)
        : ({ condition: 'attribute_not_exists(pk)', onConditionFailed: 'retry' } as const);
      return { writes: [set(key, { n: after }, asRead)], result: { kind, before, after } };
    },
  );
}

async function deleteResetKeys(table: Table, whole: TableScanner): Promise<number> {
  let deleted = 0;
  for await (const items of whole.scan()) {
    for (const { pk, sk } of items.filter((item) => item.pk.startsWith('RESET#'))) {
      // One that is gone has expired, or has been used.
      while ((await commit(table, [remove({ pk, sk }, EXISTS)])) === 'busy') await wait(50);
      deleted++;
    }
  }
  return deleted;
}

const EXISTS = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
