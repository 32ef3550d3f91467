import { type Actor, anonymous } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { openConnection } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { isRecoveryForm, separateCode } from '../second-factor/second-factor.ts';
import type { Key } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { Caller } from '../users/caller.ts';
import type { User } from '../users/user.ts';
import { actorOf } from '../users/user-table.ts';
import { pseudonymIn } from './attempt-items.ts';
import { openAttemptKeys } from './attempt-keys.ts';
import { admit, type CountedAttempt, readCounts, stepsOf } from './counted-attempt.ts';
import { entriesAbout } from './failed-attempts.ts';
import type { FailureKeys } from './login-throttle-rules.ts';
import { type Check, type Found, runAttempt } from './run-attempt.ts';
import {
  countAgainstSource,
  type SourceCounts,
  type SourceEvent,
  type SourceKeys,
  type SourceLimits,
  sourceBlockedUntil,
  tooManyAttempts,
} from './source-throttle.ts';

/** An attempt to prove an identity by a login, a password and a code, as they were typed. */
export interface PasswordAttempt {
  readonly login: string;
  /** Absent where only a code is asked for. */
  readonly password?: string;
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
  /**
   * Reads how many resets and confirmations of addresses this source has requested, and the items
   * under `keys`.
   */
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
  pepperKeys: readonly string[] = requireEnv('PEPPER_KEYS').split(','),
  kms = sharedKms(),
): LoginThrottle {
  const limits = limitsFor(Number(requireEnv('FAILURES_PER_SOURCE')));
  const attemptKeys = openAttemptKeys(pepperKeys[0] as string, kms);
  openConnection('dynamodb');

  return {
    async attempt(attempt, check) {
      const keys = await attemptKeys.ofLogin(attempt.login, attempt.source);
      try {
        const [counted, items] = await readAttempt({ table, limits }, keys, attempt, check);
        return await runAttempt(stepsOf(counted, await admit(counted)), items, check);
      } catch (error) {
        if (error instanceof Failure) error.loginPseudonym = pseudonymIn(keys.elsewhere);
        throw error;
      }
    },

    async beginReset(source, keys = []) {
      const sources = await attemptKeys.ofResets(source);
      const resetLimits = { failuresPerSource: 1, requestsPerSource: limits.resetsPerSource };
      return begin(table, source, keys, { sources, limits: resetLimits, event: 'request' });
    },

    async beginExchange(source, keys) {
      const sources = await attemptKeys.ofModules(source);
      return begin(table, source, keys, { sources, limits, event: 'failure' });
    },

    keysOf: (login, source) => attemptKeys.ofLogin(login, source),
  };
}

/** Reads the counts of a source and the items under `keys`. */
async function begin(
  table: Table,
  { arrivedAt }: Source,
  keys: readonly Key[],
  { sources, limits, event }: { sources: SourceKeys; limits: SourceLimits; event: SourceEvent },
): Promise<Begun> {
  const { source, site } = sources;
  const [ofSource, ...others] = await table.getAll([source, ...(site ? [site] : []), ...keys]);
  const counts = { source: ofSource, site: site && others[0] } as SourceCounts;
  return {
    items: site ? others.slice(1) : others,
    async count() {
      const retryAt = sourceBlockedUntil(counts, arrivedAt, limits);
      if (retryAt > 0) throw tooManyAttempts(retryAt, Date.now());
      await countAgainstSource(table, sources, event, arrivedAt, limits);
    },
  };
}

/** Reads the counts of an attempt, and the items of `alsoRead`. */
async function readAttempt<T, R>(
  { table, limits }: { table: Table; limits: SourceLimits },
  keys: FailureKeys,
  { login, password = '', code = null, source, alsoRead, userIdIn, ...rest }: PasswordAttempt,
  { load, isRecoveryCode }: Check<T, R>,
): Promise<[CountedAttempt, Found]> {
  const { actor = anonymous(source.address) } = rest;
  const mayRecover =
    isRecoveryCode !== undefined && isRecoveryForm(separateCode(password, code).code);
  const [counts, items] = await readCounts(table, keys, mayRecover, alsoRead);
  const attempt: CountedAttempt = {
    table,
    limits,
    keys,
    counts,
    actor,
    arrivedAt: source.arrivedAt,
    entryAbout: entriesAbout({ keys, login, userId: userIdIn(items), actor }),
    ...(mayRecover && {
      isRecoveryCode: async () => isRecoveryCode((await load?.(items)) as T),
    }),
  };
  return [attempt, items];
}
