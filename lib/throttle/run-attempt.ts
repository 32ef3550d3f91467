import { Failure, type FailureCode } from '../contract/failure.ts';
import { isOutage } from '../runtime/outage.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { Item } from '../table/table.ts';
import type { Write } from '../table/write.ts';
import type { User } from '../users/user.ts';

/** The items of keys, in the order of the keys; undefined for those that do not exist. */
export type Found = readonly (Item | undefined)[];

/**
 * What a request does with the right password. It commits the writes of `clearFailures`, which
 * clear the failures of the login, in its own transaction.
 */
type Proceed<R> = (clearFailures: (now: number) => readonly Write[]) => Promise<R>;

/** A wrong code after the right password of a user: somebody knows it who may not be the owner. */
export interface CodeRejected {
  readonly failure: FailureCode;
  readonly codeRejectedOf: User;
}

/** How a password is checked, and what the request does then. */
export interface Check<T, R> {
  /** Reads what `verify` needs, from the items of the keys, while the attempt is recorded. */
  readonly load?: (items: Found) => Promise<T>;
  /**
   * Verifies the password, and the code if one is needed. Returns what the request does with the
   * right ones, or the failure of a wrong one or an account that must not be used. What it throws
   * is no verdict.
   */
  readonly verify: (loaded: T) => Promise<Proceed<R> | FailureCode | CodeRejected>;
  /**
   * Whether a code that has the form of a recovery code is a right one, after equal work whether or
   * not there is such a user. If it is, the attempt is made in spite of a wait.
   */
  readonly isRecoveryCode?: (loaded: T) => Promise<boolean>;
  /**
   * Whether success leaves the failures of the login, without being one: they can be guesses of a
   * code, which the password does not prove.
   */
  readonly keepsFailures?: boolean;
}

/** The steps of an attempt: `record`, then one of the others. */
export interface AttemptSteps {
  /**
   * Counts the attempt as a failure. Fails with too-many-attempts if concurrent attempts have
   * caused a waiting period, and with unavailable when the attempt could not be counted; it may
   * then be counted in part.
   */
  record(): Promise<void>;
  /** The writes that clear the failures of the login. `now` is in milliseconds since 1970. */
  clearFailures(now: number): readonly Write[];
  /**
   * Counts a wrong password against the source. Fails with too-many-attempts when concurrent
   * failures have reached the limit of the source, and with unavailable when the failure could not
   * be counted. Audits the failure, and a code that was rejected after the right password, of which
   * it also tells the user once a day.
   */
  countFailure(codeRejectedOf?: User): Promise<void>;
  /** Takes back whatever has been counted of the attempt. */
  takeBack(): Promise<void>;
}

/**
 * Runs an attempt. It is counted before the password is verified, so that no hash is computed for
 * an uncounted attempt, and a wrong password is counted against its source before it is revealed.
 * An attempt that ends without a verdict, or whose request ends in an outage or has no change left
 * after the right password, is taken back: users would otherwise lock themselves out with correct
 * passwords.
 *
 * Fails with what `verify` returns, with too-many-attempts, with unavailable, and as the check and
 * the request do.
 */
export async function runAttempt<T, R>(
  steps: AttemptSteps,
  items: Found,
  // Stryker disable next-line ArrowFunction: settleAll accepts a value in place of its promise
  { load = async () => undefined as T, verify, keepsFailures = false }: Check<T, R>,
): Promise<R> {
  const recordAndVerify = async () => {
    const [, loaded] = await settleAll([steps.record(), load(items)]);
    return verify(loaded);
  };
  const proceed = await recordAndVerify().catch(async (error) => {
    await steps.takeBack();
    throw error;
  });
  if (typeof proceed === 'string') {
    await steps.countFailure();
    throw new Failure(proceed);
  }
  if (typeof proceed === 'object') {
    await steps.countFailure(proceed.codeRejectedOf);
    throw new Failure(proceed.failure);
  }
  if (keepsFailures) {
    await steps.takeBack();
    return proceed(() => []);
  }
  return proceed(steps.clearFailures).catch(async (error) => {
    if (isOutage(error) || isNoFault(error)) await steps.takeBack();
    throw error;
  });
}

/** Whether the request fails for a reason that lies neither in its password nor in its change. */
const isNoFault = (error: unknown): boolean =>
  error instanceof Failure && ['unavailable', 'change-budget-spent'].includes(error.code);
