import { allowTimeToUndo } from '../runtime/execution-environment.ts';
import { settleAll } from '../runtime/waiting.ts';
import { commit, ignoreUnavailable, loadDecideCommit } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import { attributesOf, type Item, type Table } from '../table/table.ts';
import type { LoginKeys } from './attempt-items.ts';
import type { AttemptReports } from './attempt-reports.ts';
import {
  countFor,
  type LoginCount,
  type RecordedAttempt,
  recordAttempt,
  takeBackAttempt,
} from './login-throttle-rules.ts';
import {
  countAgainstSource,
  type SourceCount,
  sourceBlockedUntil,
  tooManyAttempts,
} from './source-throttle.ts';

/** Where an attempt is counted. */
export interface AttemptCounts {
  readonly table: Table;
  readonly keys: LoginKeys;
  readonly sources: readonly SourceCount[];
  readonly arrivedAt: number;
}

/** The items of keys, in the order of the keys; undefined for those that do not exist. */
export type Found = readonly (Item | undefined)[];

/**
 * The count that applies to an attempt at this time, and when the waits of login and source end;
 * in milliseconds since 1970.
 */
type CountAt = (now: number, hasRecoveryCode?: boolean) => LoginCount & { allowedAt: number };

/** Reads the counts that decide on an attempt, and other items. */
export async function readCounts(
  { table, keys, sources }: AttemptCounts,
  mayRecover: boolean,
  others: readonly Key[] = [],
): Promise<[CountAt, Found]> {
  const names: (keyof LoginKeys)[] = ['network', 'elsewhere'];
  if (mayRecover) names.push('recovery');
  const read = [...sources.map(({ key }) => key), ...names.map((name) => keys[name])];
  const items = await table.getAll([...read, ...others]);
  const ofLogin = items.slice(sources.length).map((item) => item && attributesOf(item));
  const stored = Object.fromEntries(names.map((name, n) => [name, ofLogin[n]]));
  const sourceUntil = sourceBlockedUntil(sources, items);
  const countAt: CountAt = (now, hasRecoveryCode) => {
    const count = countFor(keys, stored, now, hasRecoveryCode);
    return { ...count, allowedAt: Math.max(count.blockedUntil, sourceUntil) };
  };
  return [countAt, items.slice(read.length)];
}

/**
 * Fails with too-many-attempts if an attempt arrived during a wait, because time spent in a queue
 * does not count as waiting, unless it has a right recovery code. Returns whether it needed one.
 */
export async function admit(
  { table, sources, arrivedAt }: AttemptCounts,
  countAt: CountAt,
  isRecoveryCode: (() => Promise<boolean>) | undefined,
  reports: AttemptReports,
): Promise<boolean> {
  const now = Date.now();
  const count = countAt(now);
  if (arrivedAt >= count.allowedAt) return false;
  if (isRecoveryCode && arrivedAt >= countAt(now, true).allowedAt) {
    await countAgainstSource(table, sources, 'request');
    if (await isRecoveryCode()) return true;
    // Of its source only: a wrong code must not use up the attempts of the owner.
    await countAgainstSource(table, sources, 'failure');
  }
  if (arrivedAt < count.blockedUntil && !count.before.rejected) await reports.throttled(count);
  throw tooManyAttempts(count.allowedAt);
}

/** What records an attempt that was admitted, and takes back whatever has been counted of it. */
export function openRecording(
  counts: AttemptCounts,
  countAt: CountAt,
  hasRecoveryCode: boolean,
): { record(): Promise<RecordedAttempt>; takeBack(): Promise<void> } {
  const { table, sources, arrivedAt } = counts;
  let recorded: RecordedAttempt | undefined;
  const read = [countAt];
  const load = async () => read.pop() ?? (await readCounts(counts, hasRecoveryCode))[0];
  const decide = (current: CountAt, now: number) => {
    recorded = undefined;
    const count = current(now, hasRecoveryCode);
    if (arrivedAt < count.allowedAt) throw tooManyAttempts(count.allowedAt);
    const decision = recordAttempt(count, now);
    // Kept before the commit, whose outcome can be unknown: taking it back is conditional on this
    // very count.
    recorded = decision.result;
    return decision;
  };
  return {
    async record() {
      const recording = loadDecideCommit(table, load, decide);
      // With a recovery code, the request was counted before the code was checked.
      const counting = hasRecoveryCode
        ? Promise.resolve()
        : countAgainstSource(table, sources, 'request');
      const [result] = await settleAll([recording, counting]);
      return result;
    },
    async takeBack() {
      // A slow call may have used up the time of the request.
      allowTimeToUndo();
      if (recorded) await ignoreUnavailable(commit(table, [takeBackAttempt(recorded)]));
    },
  };
}
