import { type Actor, anonymous } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { openConnection } from '../runtime/aws.ts';
import { allowTimeToUndo } from '../runtime/deadline.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { endsWithCode, isRecoveryForm, separateCode } from '../second-factor/second-factor.ts';
import { stepAt } from '../second-factor/totp.ts';
import { commit, ignoreUnavailable, loadDecideCommit } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { Caller } from '../users/caller.ts';
import type { User } from '../users/user.ts';
import { actorOf } from '../users/user-table.ts';
import { pseudonymIn, recoveryAttemptsKey } from './attempt-items.ts';
import { type AttemptKeys, openAttemptKeys, type SourceKeys } from './attempt-keys.ts';
import { entriesAbout, reportCode, storeFailure } from './failed-attempts.ts';
import {
  clearFailures,
  type FailureKeys,
  type Failures,
  isSourceBlocked,
  markRejected,
  type RecordedAttempt,
  recordAttempt,
  requireNoWait,
  type TimedAttempt,
  takeBackAttempt,
} from './login-throttle-rules.ts';
import { type AttemptSteps, type Check, type Found, runAttempt } from './run-attempt.ts';
import { sourceCounters } from './source-counters.ts';
import type { SourceEvent, SourceLimits } from './source-throttle-rules.ts';

/** An attempt to prove an identity by a login, a password and a code, as they were typed. */
export interface PasswordAttempt {
  readonly login: string;
  /** Absent where only a code is asked for. */
  readonly password?: string;
  /** Another code is another guess, also with the same password. */
  readonly code?: string | null;
  readonly source: Source;
  /** The keys of items to read together with the counts. */
  readonly alsoRead?: readonly Key[];
  /** The id of the user with this login, by the items of `alsoRead`; undefined if there is none. */
  readonly userIdIn: (items: Found) => number | undefined;
  /** Who makes the attempt, if that is known. */
  readonly actor?: Actor;
}

/** An attempt by a user who has a session. */
export const attemptBy = (
  { jti }: Caller,
  user: User,
  source: Source,
  typed: Pick<PasswordAttempt, 'password' | 'code'>,
): PasswordAttempt => ({
  ...typed,
  login: user.login,
  source,
  userIdIn: () => user.id,
  actor: actorOf(user, { source: source.address, session: jti }),
});

/** Bounds how fast passwords can be guessed. */
export interface LoginThrottle {
  /**
   * Makes an attempt: records it, lets `check` verify the password, stores the outcome, and returns
   * what the request does with the right password. Fails with too-many-attempts during a waiting
   * period, and as `runAttempt` does.
   */
  attempt<T, R>(attempt: PasswordAttempt, check: Check<T, R>): Promise<R>;
  /** Reads how many resets this source has requested, and the items under `keys`. */
  beginReset(source: Source, keys?: readonly Key[]): Promise<Begun>;
  /**
   * Likewise for rejected credentials of modules. Call `count` only after a rejection: a module
   * with the right credential is never locked out.
   */
  beginExchange(source: Source, keys: readonly Key[]): Promise<Begun>;
  /**
   * The keys under which the counts of this login and source are stored, for the rules of a reset.
   */
  keysOf(login: string, source: Source): Promise<FailureKeys>;
}

/** A request, and the items that were read with the count of its source. */
interface Begun {
  /**
   * Counts the request against its source. For a reset, await it before any work beyond reading is
   * done for the request. Fails with too-many-attempts, and with unavailable when it could not be
   * counted.
   */
  count(): Promise<void>;
  readonly items: Found;
}

/** What one source may do in 15 minutes. */
interface Limits extends SourceLimits {
  readonly resetsPerSource: number;
}

/** Most logins have the right password. A person needs two requests for a reset. */
const limitsFor = (failuresPerSource: number): Limits => ({
  failuresPerSource,
  requestsPerSource: 10 * failuresPerSource,
  resetsPerSource: failuresPerSource,
});

/**
 * Opens a throttle that stores its counts in the table. It counts by the submitted login whether or
 * not an account has it, so that a count does not reveal which logins exist. Logins and addresses
 * are stored as HMACs under a secret that is derived from the password pepper key.
 */
export function openLoginThrottle(
  table: Table,
  limits = limitsFor(Number(requireEnv('FAILURES_PER_SOURCE'))),
  pepperKeys: readonly string[] = requireEnv('PEPPER_KEYS').split(','),
  kms = sharedKms(),
): LoginThrottle {
  const attemptKeys = openAttemptKeys(pepperKeys[0] as string, kms);
  openConnection('dynamodb');

  return {
    async attempt(attempt, check) {
      const keys = await attemptKeys.ofLogin(attempt.login, attempt.source.address);
      try {
        const services = { table, limits, attemptKeys };
        const { steps, items } = await beginAttempt(services, keys, attempt, check);
        return await runAttempt(steps, items, check);
      } catch (error) {
        if (error instanceof Failure) error.loginPseudonym = loginPseudonymOf(keys);
        throw error;
      }
    },

    async beginReset(source, keys = []) {
      const sources = await attemptKeys.ofResets(source.address);
      const resetLimits = { failuresPerSource: 1, requestsPerSource: limits.resetsPerSource };
      return begin(table, source, { sources, keys, limits: resetLimits, event: 'request' });
    },

    async beginExchange(source, keys) {
      const sources = await attemptKeys.ofModules(source.address);
      return begin(table, source, { sources, keys, limits, event: 'failure' });
    },

    keysOf: (login, { address }) => attemptKeys.ofLogin(login, address),
  };
}

/** Reads the counts of a source and the items under `keys`. */
async function begin(
  table: Table,
  { arrivedAt }: Source,
  {
    sources,
    keys,
    limits,
    event,
  }: {
    sources: SourceKeys;
    keys: readonly Key[];
    limits: SourceLimits;
    event: SourceEvent;
  },
): Promise<Begun> {
  const { source, site } = sources;
  const [ofSource, ...others] = await table.getAll([source, ...(site ? [site] : []), ...keys]);
  const items = site ? others.slice(1) : others;
  const counts = { source: ofSource, site: site && others[0] };
  const counter = sourceCounters(table, sources, counts, arrivedAt, limits);
  return { items, count: () => counter.count(event) };
}

const loginPseudonymOf = ({ elsewhere }: FailureKeys): string => pseudonymIn(elsewhere);

/** What the counting of attempts needs. */
interface Services {
  readonly table: Table;
  readonly limits: SourceLimits;
  readonly attemptKeys: AttemptKeys;
}

/**
 * Reads the counts that decide on an attempt. Returns the steps of the attempt, and the items of
 * `alsoRead`. Fails with too-many-attempts during a waiting period, unless the attempt has a right
 * recovery code; the first time, until the failures are cleared, that is audited.
 */
async function beginAttempt<T, R>(
  { table, limits, attemptKeys }: Services,
  keys: FailureKeys,
  {
    login,
    password = '',
    code,
    source,
    alsoRead = [],
    userIdIn,
    actor = anonymous(source.address),
  }: PasswordAttempt,
  { load: loadForCheck, isRecoveryCode }: Check<T, R>,
): Promise<{ steps: AttemptSteps; items: Found }> {
  // In another time step, the same code is another guess.
  const step = code || endsWithCode(password) ? stepAt(Date.now()) : undefined;
  const typed = step === undefined ? password : [password, code, step].join('\n');
  const fingerprint = await attemptKeys.fingerprint(login, typed);
  const mayRecover =
    isRecoveryCode !== undefined && isRecoveryForm(separateCode(password, code ?? null).code);
  const [counts, items] = await readCounts(table, keys, alsoRead, mayRecover);
  const { arrivedAt } = source;
  const counter = sourceCounters(table, keys, counts, arrivedAt, limits);
  let requestCounted: Promise<void> | undefined;
  const countRequest = () => {
    requestCounted ??= counter.count('request');
    return requestCounted;
  };
  /** A wrong code is a failure of its source only: it must not use up the attempts of the owner. */
  const hasRecoveryCode = async (): Promise<boolean> => {
    if (!mayRecover || isSourceBlocked(counts, timed, limits)) return false;
    await countRequest();
    if (await isRecoveryCode((await loadForCheck?.(items)) as T)) return true;
    await counter.count('failure');
    return false;
  };
  const entryAbout = entriesAbout({ keys, login, userId: userIdIn(items), actor });
  const reject = async (error: unknown): Promise<never> => {
    const marked = markRejected(keys, counts, timed);
    if (marked) {
      const entry = entryAbout('login.throttled', timed.now);
      await ignoreUnavailable(commit(table, [marked, entry]));
    }
    throw error;
  };
  let timed: TimedAttempt = { now: Date.now(), arrivedAt, fingerprint };
  try {
    requireNoWait(counts, timed, limits);
  } catch (error) {
    if (await hasRecoveryCode()) {
      timed = { ...timed, hasRecoveryCode: true };
      requireNoWait(counts, timed, limits);
    } else await reject(error);
  }
  let read: Failures | undefined = counts;
  const load = async () => {
    const [current] = read ? [read] : await readCounts(table, keys, [], mayRecover);
    read = undefined;
    return current;
  };
  let recorded: RecordedAttempt | undefined;
  const decide = (current: Failures, now: number) => {
    recorded = undefined;
    const attempt = { ...timed, now };
    requireNoWait(current, attempt, limits);
    const decision = recordAttempt(keys, current, attempt);
    // Kept before the commit, whose outcome can be unknown: taking it back is conditional on this
    // very count.
    recorded = decision.result;
    return decision;
  };
  const confirm = () =>
    ignoreUnavailable(storeFailure(table, keys, recorded as RecordedAttempt, entryAbout));
  const steps: AttemptSteps = {
    async record() {
      await settleAll([loadDecideCommit(table, load, decide), countRequest()]);
    },
    clearFailures(now) {
      const { isKnown, failures } = recorded as RecordedAttempt;
      return clearFailures(keys, isKnown, now, failures.audited);
    },
    async confirmFailure(codeRejectedOf) {
      const confirmAndReport = async () => {
        await confirm();
        if (codeRejectedOf) await reportCode(table, keys, codeRejectedOf, actor);
      };
      // Concurrently: a source that reaches its limit at this moment is reported all the same.
      // Stryker disable next-line StringLiteral: whatever is not a request counts as a failure
      await settleAll([counter.count('failure'), confirmAndReport()]);
    },
    async takeBack() {
      // A slow call may have used up the time of the request.
      allowTimeToUndo();
      if (recorded) await ignoreUnavailable(commit(table, [takeBackAttempt(recorded)]));
    },
  };
  return { steps, items };
}

async function readCounts(
  table: Table,
  keys: FailureKeys,
  others: readonly Key[] = [],
  withRecovery = false,
): Promise<[Failures, Found]> {
  const recoveryKeys = withRecovery ? [recoveryAttemptsKey(keys.elsewhere)] : [];
  const items = await table.getAll([
    keys.network,
    keys.elsewhere,
    keys.source,
    ...(keys.site ? [keys.site] : []),
    ...others,
    ...recoveryKeys,
  ]);
  const [network, elsewhere, source, ...rest] = items as unknown[];
  const site = keys.site ? rest.shift() : undefined;
  const recovery = withRecovery ? rest.pop() : undefined;
  const counts = { network, elsewhere, source, site, recovery } as Failures;
  return [counts, rest as (Item | undefined)[]];
}
