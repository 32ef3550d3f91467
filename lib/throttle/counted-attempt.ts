import type { Actor } from '../audit/audit-entry.ts';
import { allowTimeToUndo } from '../runtime/deadline.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { commit, ignoreUnavailable, loadDecideCommit } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import { attributesOf, type Table } from '../table/table.ts';
import { auditFailure, type entriesAbout, reportCode } from './failed-attempts.ts';
import {
  clearFailures,
  type FailureKeys,
  type Failures,
  markRejected,
  type RecordedAttempt,
  recordAttempt,
  requireNoWait,
  type TimedAttempt,
  takeBackAttempt,
} from './login-throttle-rules.ts';
import type { AttemptSteps, Found } from './run-attempt.ts';
import {
  countAgainstSource,
  type SourceEvent,
  type SourceLimits,
  sourceBlockedUntil,
} from './source-throttle.ts';

/** An attempt whose counts have been read. */
export interface CountedAttempt {
  readonly table: Table;
  readonly limits: SourceLimits;
  readonly keys: FailureKeys;
  readonly counts: Failures;
  readonly arrivedAt: number;
  /** Whether its recovery code is right; absent if its code has another form. */
  readonly isRecoveryCode?: () => Promise<boolean>;
  readonly actor: Actor;
  readonly entryAbout: ReturnType<typeof entriesAbout>;
}

/** Reads the counts that decide on an attempt, and other items. */
export async function readCounts(
  table: Table,
  keys: FailureKeys,
  mayRecover: boolean,
  others: readonly Key[] = [],
): Promise<[Failures, Found]> {
  const { network, elsewhere, source, site, recovery } = keys;
  const counted = { network, elsewhere, source, ...(site && { site }) };
  const read = { ...counted, ...(mayRecover && { recovery }) };
  const items = await table.getAll([...Object.values(read), ...others]);
  const counts = Object.keys(read).map((name, n) => [name, items[n] && attributesOf(items[n])]);
  return [Object.fromEntries(counts), items.slice(counts.length)];
}

const countOf = ({ table, keys, arrivedAt, limits }: CountedAttempt, event: SourceEvent) =>
  countAgainstSource(table, keys, event, arrivedAt, limits);

/**
 * Fails with too-many-attempts during a waiting period, unless the attempt has a right recovery
 * code; the first time, until the failures are cleared, that is audited.
 */
export async function admit(attempt: CountedAttempt): Promise<TimedAttempt> {
  const { counts, arrivedAt, limits } = attempt;
  const timed = { now: Date.now(), arrivedAt };
  try {
    requireNoWait(counts, timed, limits);
    return timed;
  } catch (error) {
    if (!(await hasRecoveryCode(attempt))) {
      await auditRejection(attempt, timed);
      throw error;
    }
  }
  const recovering = { ...timed, hasRecoveryCode: true } as const;
  requireNoWait(counts, recovering, limits);
  return recovering;
}

/** A wrong code is a failure of its source only: it must not use up the attempts of the owner. */
async function hasRecoveryCode(attempt: CountedAttempt): Promise<boolean> {
  const { counts, arrivedAt, limits, isRecoveryCode } = attempt;
  if (!isRecoveryCode || sourceBlockedUntil(counts, arrivedAt, limits) > 0) return false;
  await countOf(attempt, 'request');
  if (await isRecoveryCode()) return true;
  await countOf(attempt, 'failure');
  return false;
}

async function auditRejection(
  { table, keys, counts, entryAbout }: CountedAttempt,
  timed: TimedAttempt,
): Promise<void> {
  const marked = markRejected(keys, counts, timed);
  if (!marked) return;
  await ignoreUnavailable(commit(table, [marked, entryAbout('login.throttled', timed.now)]));
}

/** The steps of an attempt that was admitted. */
export function stepsOf(attempt: CountedAttempt, admitted: TimedAttempt): AttemptSteps {
  const { table, limits, keys, counts, isRecoveryCode, actor, entryAbout } = attempt;
  let read: Failures | undefined = counts;
  let recorded: RecordedAttempt | undefined;
  const load = async () => {
    const [current] = read ? [read] : await readCounts(table, keys, isRecoveryCode !== undefined);
    read = undefined;
    return current;
  };
  const decide = (current: Failures, now: number) => {
    recorded = undefined;
    const timed = { ...admitted, now };
    requireNoWait(current, timed, limits);
    const decision = recordAttempt(keys, current, timed);
    // Kept before the commit, whose outcome can be unknown: taking it back is conditional on this
    // very count.
    recorded = decision.result;
    return decision;
  };
  return {
    async record() {
      const recordFailure = loadDecideCommit(table, load, decide);
      // With a recovery code, the request was counted before the code was checked.
      const countRequest = admitted.hasRecoveryCode ? [] : [countOf(attempt, 'request')];
      await settleAll([recordFailure, ...countRequest]);
    },
    clearFailures(now) {
      const { isKnown, failures } = recorded as RecordedAttempt;
      return clearFailures(keys, isKnown, now, failures.audited);
    },
    async countFailure(codeRejectedOf) {
      const report = async () => {
        await auditFailure(table, keys, recorded as RecordedAttempt, entryAbout);
        if (codeRejectedOf) await reportCode(table, keys, codeRejectedOf, actor);
      };
      // Concurrently: a source that reaches its limit at this moment is reported all the same.
      // Stryker disable next-line StringLiteral: whatever is not a request counts as a failure
      await settleAll([countOf(attempt, 'failure'), report()]);
    },
    async takeBack() {
      // A slow call may have used up the time of the request.
      allowTimeToUndo();
      if (recorded) await ignoreUnavailable(commit(table, [takeBackAttempt(recorded)]));
    },
  };
}
