import { Failure, type FailureCode } from '../contract/failure.ts';
import { isOutage } from '../runtime/outage.ts';
import { settleAll } from '../runtime/waiting.ts';
import type { Write } from '../table/write.ts';
import type { User } from '../users/user.ts';
import {
  type AttemptCounts,
  admit,
  type Found,
  openRecording,
  type readCounts,
} from './attempt-counts.ts';
import type { AttemptReports } from './attempt-reports.ts';
import { clearFailures } from './login-throttle-rules.ts';
import { countAgainstSource } from './source-throttle.ts';

/**
 * What a request does with the right password. It commits the writes of `clearFailures`, which
 * clear the failures of the login, in its own transaction.
 */
type Proceed<R> = (clearFailures: (now: number) => readonly Write[]) => Promise<R>;

/** Why an attempt fails: a wrong password or code, or an account that must not be used. */
export interface Rejected {
  readonly failure: FailureCode;
  /** Who has the password, if only the code was wrong: somebody knows it who may not be them. */
  readonly codeRejectedOf?: User;
}

/** How a password is checked, and what the request does then. */
export interface Check<T, R> {
  /** Reads what `verify` needs, from the items of the keys, while the attempt is recorded. */
  readonly load?: (items: Found) => Promise<T>;
  /**
   * Verifies the password, and the code if one is needed. Returns what the request does with the
   * right ones. What it throws is no verdict.
   */
  readonly verify: (loaded: T) => Promise<Proceed<R> | Rejected>;
  /**
   * Of a code that has the form of a recovery code: whether it is a right one, after equal work
   * whether or not there is such a user. If it is, the attempt is made in spite of a wait.
   */
  readonly isRecoveryCode?: (loaded: T) => Promise<boolean>;
  /**
   * Whether success leaves the failures of the login, without being one: they can be guesses of a
   * code, which the password does not prove.
   */
  readonly keepsFailures?: boolean;
}

/**
 * Runs an attempt. It is counted before the password is verified, so that no hash is computed for
 * an uncounted attempt, and a wrong password is counted against its source before it is revealed.
 * An attempt that ends without a verdict, or whose request ends in an outage, has no change left or
 * needs a code after the right password, is taken back: users would otherwise lock themselves out
 * with correct passwords.
 *
 * Fails with what `verify` returns, with too-many-attempts, with unavailable if the attempt or its
 * failure could not be counted, and as the check and the request do.
 */
export async function runAttempt<T, R>(
  counts: AttemptCounts,
  [countAt, items]: Awaited<ReturnType<typeof readCounts>>,
  // Stryker disable next-line ArrowFunction: settleAll accepts a value in place of its promise
  { load = async () => undefined as T, verify, isRecoveryCode, keepsFailures }: Check<T, R>,
  reports: AttemptReports,
): Promise<R> {
  const isRight = isRecoveryCode && (async () => isRecoveryCode(await load(items)));
  const hasRecoveryCode = await admit(counts, countAt, isRight, reports);
  const { record, takeBack } = openRecording(counts, countAt, hasRecoveryCode);
  const recordAndVerify = async () => {
    const [recorded, loaded] = await settleAll([record(), load(items)]);
    return { recorded, verdict: await verify(loaded) };
  };
  const { recorded, verdict } = await recordAndVerify().catch(async (error) => {
    await takeBack();
    throw error;
  });
  if (typeof verdict !== 'function') {
    // Concurrently: a source that reaches its limit at this moment is reported all the same.
    await settleAll([
      countAgainstSource(counts.table, counts.sources, 'failure'),
      reports.failed(recorded, verdict.codeRejectedOf),
    ]);
    throw new Failure(verdict.failure);
  }
  if (keepsFailures) {
    await takeBack();
    return verdict(() => []);
  }
  return verdict((now) => clearFailures(counts.keys, now, recorded)).catch(async (error) => {
    if (isOutage(error) || isNoFault(error)) await takeBack();
    throw error;
  });
}

const NO_FAULTS: readonly FailureCode[] = ['unavailable', 'change-budget-spent', 'code-required'];

/** Whether the request fails for a reason that lies neither in its password nor in its change. */
const isNoFault = (error: unknown): boolean =>
  error instanceof Failure && NO_FAULTS.includes(error.code);
