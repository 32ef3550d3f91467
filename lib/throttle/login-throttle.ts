import { type Actor, anonymous } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { openConnection } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/execution-environment.ts';
import { sharedKms } from '../runtime/kms.ts';
import type { Key } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { Caller } from '../users/caller.ts';
import type { User } from '../users/user.ts';
import { actorOf } from '../users/user-table.ts';
import { type Found, readCounts } from './attempt-counts.ts';
import { type LoginKeys, loginKeys, type SourceKind } from './attempt-items.ts';
import { openReports } from './attempt-reports.ts';
import { openPseudonyms, type Pseudonym } from './pseudonyms.ts';
import { type Check, runAttempt } from './run-attempt.ts';
import {
  countAgainstSource,
  sourceBlockedUntil,
  sourceCounts,
  tooManyAttempts,
} from './source-throttle.ts';

/** An attempt to prove an identity by a login, a password and a code. */
export interface PasswordAttempt {
  /** As it was typed. */
  readonly login: string;
  readonly source: Source;
  /** The keys of items to read together with the counts. */
  readonly alsoRead?: readonly Key[];
  /** The id of the user with this login, by the items of `alsoRead`; undefined if there is none. */
  readonly userIdIn: (items: Found) => number | undefined;
  /** Who makes the attempt, if that is known. */
  readonly actor?: Actor;
}

/** An attempt by a user who has a session. */
export const attemptBy = ({ jti }: Caller, user: User, source: Source): PasswordAttempt => ({
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
   * Reads how many resets and confirmations of addresses this source has requested, or how many of
   * its requests for tokens were rejected, and the items under `keys`.
   */
  begin(kind: 'RESETS' | 'MODULES', source: Source, keys?: readonly Key[]): Promise<Begun>;
  /** The keys under which attempts at this login are counted, for the rules of a reset. */
  keysOf(login: string, source: Source): Promise<LoginKeys>;
}

/** A request, and the items that were read with the count of its source. */
interface Begun {
  /**
   * Counts the request against its source: a reset before any work beyond reading is done for it, a
   * request for a token only after its rejection, so that a right one is never locked out. Fails
   * with too-many-attempts, and with unavailable when it could not be counted.
   */
  count(): Promise<void>;
  readonly items: Found;
}

/**
 * Opens a throttle that stores its counts in the table. It counts by the submitted login whether or
 * not an account has it, so that a count does not reveal which logins exist. Logins and addresses
 * are stored as HMACs under a secret that is derived from the password pepper key.
 */
export function openLoginThrottle(
  table: Table,
  [pepperKey] = requireEnv('PEPPER_KEYS').split(','),
  kms = sharedKms(),
): LoginThrottle {
  const failuresPerSource = Number(requireEnv('FAILURES_PER_SOURCE'));
  const pseudonyms = openPseudonyms(pepperKey as string, kms);
  openConnection('dynamodb');
  const countsOf = (kind: SourceKind, source: Source, pseudonym: Pseudonym) =>
    sourceCounts(kind, source, pseudonym, failuresPerSource);

  return {
    async attempt(attempt, check) {
      const { login, source, alsoRead, userIdIn, actor = anonymous(source.address) } = attempt;
      const pseudonym = await pseudonyms();
      const keys = loginKeys(login, source.address, pseudonym);
      try {
        const sources = countsOf('SOURCE', source, pseudonym);
        const counts = { table, keys, sources, arrivedAt: source.arrivedAt };
        const read = await readCounts(counts, check.isRecoveryCode !== undefined, alsoRead);
        const reports = openReports(table, keys, { login, userId: userIdIn(read[1]), actor });
        return await runAttempt(counts, read, check, reports);
      } catch (error) {
        if (error instanceof Failure) error.loginPseudonym = pseudonym(login);
        throw error;
      }
    },
    async begin(kind, source, keys = []) {
      const counts = countsOf(kind, source, await pseudonyms());
      const items = await table.getAll([...counts.map(({ key }) => key), ...keys]);
      return {
        items: items.slice(counts.length),
        async count() {
          const retryAt = sourceBlockedUntil(counts, items);
          if (retryAt > 0) throw tooManyAttempts(retryAt);
          await countAgainstSource(table, counts, kind === 'RESETS' ? 'request' : 'failure');
        },
      };
    },
    keysOf: async (login, { address }) => loginKeys(login, address, await pseudonyms()),
  };
}
