import { randomInt, randomUUID } from 'node:crypto';
import { Failure } from '../contract/failure.ts';
import { isOutage } from '../runtime/aws.ts';
import { remainingMs } from '../runtime/deadline.ts';
import type { Table } from './table.ts';
import type { Write } from './write.ts';

/** What a rule decides on: all of these writes or none, and what is true once they are made. */
export interface Decision<R> {
  readonly writes: readonly Write[];
  readonly result: R;
}

/** How long a change keeps trying, and what it leaves of the request's time to answer with; milliseconds. */
const PATIENCE = 5000;
const RESERVE = 2000;

/** The waits between tries that meet another transaction, or changed data once more: full jitter below a bound that doubles; milliseconds. */
const FIRST_WAIT = 25;
const LONGEST_WAIT = 400;

/**
 * Every change of the table: load what the rule needs, decide, commit. When another change came between, it starts
 * again from the load, so that no decision outlives what it was taken on: at once the first time, later after a growing wait.
 *
 * `onContention` is called before each further try. Fails with what `decide` throws, with the `onConditionFailed` of the first
 * broken condition, or with `unavailable` when the table stayed busy or it cannot be known whether the change was made.
 */
export async function change<L, R>(
  table: Table,
  load: () => Promise<L>,
  decide: (loaded: L, now: number) => Decision<R>,
  onContention: () => Promise<void> = async () => undefined,
): Promise<R> {
  const until = giveUpAt();
  const pause = pauses();
  let timesChanged = 0;
  for (;;) {
    const { writes, result } = decide(await load(), Date.now());
    if (writes.length === 0) return result;
    const outcome = await commit(table, writes, until);
    if (outcome === 'committed') return result;
    if (outcome === 'changed') timesChanged++;
    await onContention();
    if (outcome === 'busy' || timesChanged > 1) await pause();
    if (Date.now() >= until) throw new Failure('unavailable');
  }
}

/** Waits for a change that an outage may prevent: what it is for can as well be done another time. */
export async function unlessUnavailable(change: Promise<unknown>): Promise<void> {
  await change.catch((error) => {
    if (!(error instanceof Failure && error.code === 'unavailable')) throw error;
  });
}

const giveUpAt = (): number => Date.now() + Math.min(PATIENCE, remainingMs() - RESERVE);

/** Waits a little, and longer each time. */
function pauses(): () => Promise<void> {
  let bound = FIRST_WAIT;
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, randomInt(bound)));
    bound = Math.min(2 * bound, LONGEST_WAIT);
  };
}

/**
 * Makes all writes or none, once: 'changed' and 'busy' ask for a new decision. Throws the first broken rule's failure, and
 * `unavailable` when it cannot be known whether they were made.
 *
 * A lost answer leaves that open. The same transaction under the same token finds out, and is made at most once. That it
 * meets another one says nothing about the time before: only when it was refused at the first attempt was it not made.
 */
export async function commit(
  table: Table,
  writes: readonly Write[],
  until = giveUpAt(),
): Promise<'committed' | 'changed' | 'busy'> {
  const token = randomUUID();
  const pause = pauses();
  let inDoubt = false;
  for (let lost = 0; ; ) {
    try {
      await table.transact(writes, token);
      return 'committed';
    } catch (error) {
      if (isOutage(error)) {
        lost++;
        if (lost === 2) throw new Failure('unavailable');
        inDoubt = true;
        continue;
      }
      const meaning = meaningOf(error, writes);
      inDoubt ||= attemptsOf(error) > 1;
      if (meaning !== 'busy' || !inDoubt) return meaning;
      if (Date.now() >= until) throw new Failure('unavailable');
      await pause();
    }
  }
}

/** How often the SDK has sent what failed: it repeats lost calls itself. */
const attemptsOf = (error: unknown): number =>
  (error as { $metadata?: { attempts?: number } } | null)?.$metadata?.attempts ?? 1;

const BUSY = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

/** Reads the reasons of a cancelled transaction by their position among its writes. */
function meaningOf(error: unknown, writes: readonly Write[]): 'changed' | 'busy' {
  if (!(error instanceof Error) || error.name !== 'TransactionCanceledException') throw error;

  const reasons = (error as Error & { CancellationReasons?: { Code?: string }[] }).CancellationReasons ?? [];
  const codes = reasons.map((reason) => reason.Code ?? 'None');
  const broken = writes.filter((_, position) => codes[position] === 'ConditionalCheckFailed');
  const others = codes.filter((code) => code !== 'None' && code !== 'ConditionalCheckFailed');
  if (others.some((code) => !BUSY.has(code))) throw error;
  if (others.length > 0) return 'busy';
  // A guard that is broken because the decision was stale (the same rename twice at once) is no broken rule.
  if (broken.some((write) => write.onConditionFailed === 'retry')) return 'changed';
  const rule = broken[0]?.onConditionFailed;
  if (rule === undefined || rule === 'retry') throw error;
  throw new Failure(rule);
}
