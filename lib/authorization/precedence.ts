import { Failure } from '../contract/failure.ts';
import { commit } from '../table/change.ts';
import type { Item, Table } from '../table/table.ts';
import {
  attributesAre,
  type Condition,
  put,
  remove,
  type Write,
  withCondition,
} from '../table/write.ts';
import { precedenceKey } from './precedence-item.ts';

/*
 * Every change checks the item of its caller, so a stream of changes by one user keeps that item
 * busy and gives it new versions. A user could thereby delay their own deactivation, and a thief
 * with a stolen token the reset of the password. When such a change conflicts, it therefore takes
 * precedence: for a short time all changes by that user are rejected. A stale If-Match takes no
 * precedence: a client that repeats it could otherwise block all changes by that user for good.
 */

/**
 * After a conflict, for the retry of the same request: it takes precedence again if it conflicts,
 * and ends it.
 */
const AFTER_CONFLICT_MS = 1000;
/** Takes precedence for the use of a mailed key. No account has this id. */
const NOBODY = 0;
/** How long the item is kept beyond that, to tolerate clock skew. */
const TTL_MARGIN_SECONDS = 60;

/**
 * Rejects changes by this user for a while, except changes of the account `takenBy`. Returns until
 * when, by which `endPrecedence` ends it; undefined if another change already has precedence for
 * longer. Never fails: without precedence the other change is only slower.
 */
export async function takePrecedence(
  table: Table,
  userId: number,
  takenBy = NOBODY,
): Promise<number | undefined> {
  const until = Date.now() + AFTER_CONFLICT_MS;
  const expires = Math.ceil(until / 1000) + TTL_MARGIN_SECONDS;
  const isLatest: Condition = {
    condition: 'attribute_not_exists(#until) OR #until < :until',
    names: { '#until': 'until' },
    values: { ':until': until },
    // Stryker disable next-line StringLiteral: every failure is ignored
    onConditionFailed: 'retry',
  };
  const write = withCondition(put(precedenceKey(userId), { until, expires, takenBy }), isLatest);
  return (await isCommitted(table, write)) ? until : undefined;
}

/**
 * Permits changes by this user again, once the change that took precedence has ended, unless
 * another one has taken it since. Never fails.
 */
async function endPrecedence(table: Table, userId: number, until: number): Promise<void> {
  await isCommitted(table, remove(precedenceKey(userId), attributesAre({ until })));
}

const isCommitted = async (table: Table, write: Write): Promise<boolean> =>
  (await commit(table, [write]).catch(() => undefined)) === 'committed';

/** The precedence of a change by this caller over changes by the user that it is about. */
export function precedenceOver(table: Table, callerId: number) {
  let targetId: number | undefined;
  let end = async (): Promise<void> => undefined;
  return {
    /** Sets the user whose account the change is about. A change of the own account takes none. */
    isAbout(id: number | undefined) {
      targetId = id === callerId ? undefined : id;
    },
    /** Takes precedence for the retry of the change. */
    async take() {
      if (targetId === undefined) return;
      const [id, until] = [targetId, await takePrecedence(table, targetId, callerId)];
      if (until !== undefined) end = () => endPrecedence(table, id, until);
    },
    /** Ends what `take` has taken. */
    end: () => end(),
  };
}

interface Precedence {
  readonly leftMs: number;
  readonly takenBy: unknown;
}

/**
 * Fails with unavailable while another change has precedence over changes by the caller. A change
 * of the account that has taken it is exempt: of two administrators who change each other, neither
 * is rejected, and none can keep another one from deactivating it.
 */
export function requireNotPreceded(
  { leftMs, takenBy }: Precedence,
  targetId: number | undefined,
): void {
  if (leftMs > 0 && takenBy !== targetId)
    throw new Failure('unavailable', { retryAfter: Math.ceil(leftMs / 1000) });
}

/**
 * For how long changes by this user are rejected, in milliseconds, if it is positive; and who has
 * taken precedence.
 */
export async function findPrecedence(table: Table, userId: number): Promise<Precedence> {
  const { until = 0, takenBy = NOBODY }: Partial<Item> =
    (await table.get(precedenceKey(userId))) ?? {};
  return { leftMs: Math.min(AFTER_CONFLICT_MS, (until as number) - Date.now()), takenBy };
}
