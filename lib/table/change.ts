import { randomUUID } from 'node:crypto';
import { Failure, type FailureCode } from '../contract/failure.ts';
import {
  countRetry,
  currentDeadline,
  throttledTriesMax,
} from '../runtime/execution-environment.ts';
import { cancellationCodes, isOutage, isThrottled, isThrottlingCode } from '../runtime/outage.ts';
import { sleepJittered } from '../runtime/waiting.ts';
import type { Table } from './table.ts';
import type { Write } from './write.ts';

/**
 * The writes of a rule, committed all or none, and the result to return once they are committed.
 */
export interface Decision<R> {
  readonly writes: readonly Write[];
  readonly result: R;
}

/**
 * How long a change is retried, and how much of the 10 seconds of a request it leaves for the
 * response.
 */
const DURATION_MS_MAX = 8000;
const RESPONSE_RESERVE_MS = 2000;

/**
 * First and last bound of the wait before a retry; the bound doubles, and the wait below it has
 * full jitter.
 */
const FIRST_WAIT_MS = 25;
const WAIT_MS_MAX = 400;

/**
 * Loads what a rule needs, decides and commits. If the data has changed in between, it starts again
 * from the load, so that a decision is never committed on stale data: immediately the first time,
 * later after a growing wait. A change that conflicts with another transaction waits before every
 * retry; one that is throttled in a request is retried once.
 *
 * Fails with what `decide` throws, with the `onConditionFailed` of the first failed condition, or
 * with `unavailable` if the table stayed busy or the outcome of the commit is unknown.
 */
export async function loadDecideCommit<L, R>(
  table: Table,
  load: () => Promise<L>,
  decide: (loaded: L, now: number) => Decision<R>,
): Promise<R> {
  const until = giveUpAt();
  const pause = pauses();
  let timesThrottled = 0;
  for (let tries = 1; ; tries++) {
    const { writes, result } = decide(await load(), Date.now());
    if (writes.length === 0) return result;
    const { outcome, cause } = await tryToCommit(table, writes, until);
    if (outcome === 'committed') return result;
    // A conflict ends with the other change; throttling lasts while its cause does.
    if (isThrottled(cause)) timesThrottled++;
    if (timesThrottled === throttledTriesMax()) throw new Failure('unavailable', { cause });
    countRetry();
    if (outcome === 'busy' || tries > 1) await pause();
    if (Date.now() >= until) throw new Failure('unavailable', { cause });
  }
}

/**
 * Commits writes that do not depend on stored data; retries and fails as `loadDecideCommit` does.
 */
export function commitWithRetries(
  table: Table,
  writesAt: (now: number) => readonly Write[],
): Promise<void> {
  return loadDecideCommit(
    table,
    async () => undefined,
    (_, now) => ({ writes: writesAt(now), result: undefined }),
  );
}

/**
 * Awaits a change that may be skipped during an outage: ignores `unavailable`, and rejects with any
 * other error.
 */
export async function ignoreUnavailable(change: Promise<unknown>): Promise<void> {
  await change.catch((error) => {
    if (!(error instanceof Failure && error.code === 'unavailable')) throw error;
  });
}

const giveUpAt = (): number =>
  Math.min(Date.now() + DURATION_MS_MAX, currentDeadline() - RESPONSE_RESERVE_MS);

function pauses(): () => Promise<void> {
  let bound = FIRST_WAIT_MS;
  return async () => {
    await sleepJittered(bound);
    bound = Math.min(2 * bound, WAIT_MS_MAX);
  };
}

/**
 * Commits all writes or none. After 'changed' or 'busy' nothing was written, and the caller must
 * load and decide again. Fails with the `onConditionFailed` of the first failed condition, and with
 * `unavailable` if the outcome is unknown.
 *
 * A lost response leaves the outcome unknown. Sending the transaction again with the same client
 * request token resolves it, because DynamoDB applies a token at most once. A conflict on a later
 * attempt says nothing about the earlier attempts: only a transaction that was rejected at its
 * first attempt is known not to have been committed.
 */
export const commit = async (table: Table, writes: readonly Write[]): Promise<Attempt['outcome']> =>
  (await tryToCommit(table, writes, giveUpAt())).outcome;

interface Attempt {
  readonly outcome: 'committed' | 'changed' | 'busy';
  /** The error with which DynamoDB has rejected the writes. */
  readonly cause?: unknown;
}

async function tryToCommit(
  table: Table,
  writes: readonly Write[],
  until: number,
): Promise<Attempt> {
  const token = randomUUID();
  const pause = pauses();
  let inDoubt = false;
  for (let lostResponses = 0; ; ) {
    try {
      await table.transact(writes, token);
      return { outcome: 'committed' };
    } catch (error) {
      if (isOutage(error)) {
        lostResponses++;
        if (lostResponses === 2) throw new Failure('unavailable', { cause: error });
        inDoubt = true;
        continue;
      }
      const outcome = outcomeOf(error, writes);
      inDoubt ||= attemptsOf(error) > 1;
      if (outcome !== 'busy' || !inDoubt) return { outcome, cause: error };
      if (Date.now() >= until) throw new Failure('unavailable', { cause: error });
      await pause();
    }
  }
}

/** How many times the SDK sent the failed request: it retries lost requests itself. */
const attemptsOf = (error: unknown): number =>
  (error as { $metadata?: { attempts?: number } }).$metadata?.attempts ?? 1;

/**
 * Maps CancellationReasons to writes by position. Fails with the `onConditionFailed` of the first
 * failed condition.
 */
function outcomeOf(error: unknown, writes: readonly Write[]): 'changed' | 'busy' {
  const codes = cancellationCodes(error);
  if (!codes) throw error;
  const failedWrites = writes.filter((_, position) => codes[position] === 'ConditionalCheckFailed');
  const otherCodes = codes.filter((code) => code !== 'None' && code !== 'ConditionalCheckFailed');
  if (otherCodes.some((code) => code !== 'TransactionConflict' && !isThrottlingCode(code)))
    throw error;
  if (otherCodes.length > 0) return 'busy';
  // Stale data takes priority: a uniqueness guard may fail only because the same rename was made
  // twice at once.
  if (failedWrites.some((write) => write.onConditionFailed === 'retry')) return 'changed';
  const code = failedWrites[0]?.onConditionFailed as FailureCode | undefined;
  throw code ? new Failure(code) : error;
}
