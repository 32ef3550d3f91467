import { createHmac } from 'node:crypto';
import { GenerateMacCommand } from '@aws-sdk/client-kms';
import { Failure } from '../contract/failure.ts';
import { machineOf, networkOf, type Source } from '../contract/source.ts';
import { openConnection } from '../runtime/aws.ts';
import { startInColdStart } from '../runtime/cold-start.ts';
import { abortBeforeDeadline, allowTimeToUndo } from '../runtime/deadline.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { commit, commitWithRetries, ignoreUnavailable, loadDecideCommit } from '../table/change.ts';
import {
  elsewhereAttemptsKey,
  type Key,
  networkAttemptsKey,
  sourceAttemptsKey,
  sourceResetsKey,
} from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import {
  clearFailures,
  confirmFailure,
  countAgainstSource,
  type FailureKeys,
  type Failures,
  type RecordedAttempt,
  recordAttempt,
  requireNoWait,
  type SourceEvent,
  type SourceFailures,
  type SourceLimits,
  takeBackAttempt,
} from './login-throttle-rules.ts';

/** Must differ in length from an argon2 hash: the same KMS key computes MACs of those hashes. */
const LABEL = Buffer.from('gatehouse: who guesses at which login');

/**
 * Attempts to count a request. One fails when the window ends or the item is removed concurrently.
 */
const MAX_TRIES = 5;

/**
 * The length of a fingerprint: 24 bits distinguish the passwords that somebody tries, and reveal
 * little of one.
 */
const FINGERPRINT_CHARACTERS = 4;

/** A login and a password as they were typed. */
interface Credentials {
  readonly login: string;
  readonly password: string;
}

/** Bounds how fast passwords can be guessed. */
export interface LoginThrottle {
  /**
   * Reads the counts that decide on a login attempt, together with the items under `keys`. Fails
   * with too-many-attempts during a waiting period.
   */
  beginAttempt(
    credentials: Credentials,
    source: Source,
    keys?: readonly Key[],
  ): Promise<BegunAttempt>;
  /** Reads the count of the resets of a source, together with the items under `keys`. */
  beginReset(source: Source, keys?: readonly Key[]): Promise<BegunReset>;
  /**
   * The keys under which the counts of this login and source are stored, for the rules of a reset.
   */
  keysOf(login: string, source: Source): Promise<FailureKeys>;
}

/**
 * A login attempt, and the items that were read with its counts; undefined for those that do not
 * exist.
 */
interface BegunAttempt {
  readonly attempt: Attempt;
  readonly items: readonly (Item | undefined)[];
}

/**
 * A request for a reset or its completion, and the items that were read with the count of its
 * source.
 */
interface BegunReset {
  /**
   * Counts the reset against its source. Await it before any work beyond reading is done for the
   * request. Fails with too-many-attempts, and with unavailable when the reset could not be
   * counted.
   */
  count(): Promise<void>;
  readonly items: readonly (Item | undefined)[];
}

/**
 * A login attempt that no waiting period forbids. After `record`, call one of the other methods.
 */
interface Attempt {
  /**
   * Counts the attempt as a failure. Await it before the password is hashed, so that no hash is
   * computed for an uncounted attempt. Fails with too-many-attempts if concurrent attempts have
   * caused a waiting period, and with unavailable when the attempt could not be counted; it may
   * then be counted in part, so take it back.
   */
  record(): Promise<void>;
  /**
   * Clears the failures of the login, after a correct password. Start it at once, whatever else the
   * request has to do: nothing that fails later makes the password wrong. During an outage, the
   * failure stays counted until the password is given again.
   */
  clearFailures(): Promise<void>;
  /**
   * Stores that the password was wrong, or its account deactivated, and counts it against the
   * source. Await it before the failure is revealed. Fails with too-many-attempts when concurrent
   * failures have reached the limit of the source, and with unavailable when the failure could not
   * be counted.
   */
  confirmFailure(): Promise<void>;
  /**
   * Takes back whatever has been counted of an attempt that failed before its password was
   * verified, and fails with the error that prevented it: during an outage, users would otherwise
   * lock themselves out with correct passwords.
   */
  takeBack(error: unknown): Promise<never>;
}

/** What one source may do in 15 minutes. */
interface Limits extends SourceLimits {
  readonly resetsPerSource: number;
}

/**
 * Opens a throttle that stores its counts in the table. It counts by the submitted login whether or
 * not an account has it, so that a count does not reveal which logins exist. Logins and addresses
 * are stored as HMACs under a secret that is derived from the password pepper key.
 */
export function openLoginThrottle(
  table: Table,
  limits: Limits = {
    failuresPerSource: Number(requireEnv('FAILURES_PER_SOURCE')),
    requestsPerSource: Number(requireEnv('REQUESTS_PER_SOURCE')),
    resetsPerSource: Number(requireEnv('RESETS_PER_SOURCE')),
  },
  [pepperKey = ''] = requireEnv('PEPPER_KEYS').split(','),
  kms = sharedKms(),
): LoginThrottle {
  let secret: Promise<Buffer> | undefined;
  // During the cold start, so that requests in a flood neither call KMS nor wait for TLS
  // handshakes. Without network latency, the secret saves the first login 7 of 95 ms, and the
  // connection 3 ms.
  startInColdStart(getSecret);
  openConnection('dynamodb');

  async function deriveSecret(): Promise<Buffer> {
    const command = new GenerateMacCommand({
      KeyId: pepperKey,
      Message: LABEL,
      MacAlgorithm: 'HMAC_SHA_256',
    });
    const { Mac } = await kms.send(command, abortBeforeDeadline());
    return Buffer.from(Mac as Uint8Array);
  }

  function getSecret(): Promise<Buffer> {
    secret ??= deriveSecret().catch((error) => {
      secret = undefined;
      throw error;
    });
    return secret;
  }

  async function keyedHash(): Promise<(text: string) => string> {
    const key = await getSecret();
    return (text) => createHmac('sha256', key).update(text).digest('base64url');
  }

  async function keysOf(login: string, { address }: Source): Promise<FailureKeys> {
    const hash = await keyedHash();
    return {
      network: networkAttemptsKey(hash(login), hash(`${networkOf(address)} ${login}`)),
      elsewhere: elsewhereAttemptsKey(hash(login)),
      source: sourceAttemptsKey(hash(machineOf(address))),
    };
  }

  async function readCounts(
    keys: FailureKeys,
    others: readonly Key[] = [],
  ): Promise<[Failures, (Item | undefined)[]]> {
    const items = await table.getAll([keys.network, keys.elsewhere, keys.source, ...others]);
    const [network, elsewhere, source, ...rest] = items as unknown[];
    return [{ network, elsewhere, source } as Failures, rest as (Item | undefined)[]];
  }

  /**
   * Counts an event against its source, rereading the counts after each concurrent change. Returns
   * the new counts.
   */
  async function count(
    key: Key,
    event: SourceEvent,
    source: SourceFailures | undefined,
    arrivedAt: number,
    sourceLimits: SourceLimits,
  ): Promise<SourceFailures> {
    let known = source;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const now = Date.now();
      const counted = await table.update(
        countAgainstSource(key, event, known, { now, arrivedAt }, sourceLimits),
      );
      if (counted) return counted as unknown as SourceFailures;
      [known] = (await table.getAll([key])) as unknown as [SourceFailures | undefined];
    }
    throw new Failure('unavailable');
  }

  return {
    async beginAttempt({ login, password }, source, others) {
      const { arrivedAt } = source;
      const keys = await keysOf(login, source);
      const hash = await keyedHash();
      const fingerprint = hash(`${login}\n${password}`).slice(0, FINGERPRINT_CHARACTERS);
      const [counts, items] = await readCounts(keys, others);
      requireNoWait(counts, { now: Date.now(), arrivedAt, fingerprint }, limits);

      let read: Failures | undefined = counts;
      const load = async () => {
        const [current] = read ? [read] : await readCounts(keys);
        read = undefined;
        return current;
      };
      let recorded: RecordedAttempt | undefined;
      let ofSource = counts.source;
      const countSource = async (event: SourceEvent) => {
        ofSource = await count(keys.source, event, ofSource, arrivedAt, limits);
      };
      const attempt: Attempt = {
        async record() {
          const counted = loadDecideCommit(table, load, (current, now) => {
            recorded = undefined;
            const timed = { now, arrivedAt, fingerprint };
            requireNoWait(current, timed, limits);
            const decision = recordAttempt(keys, current, timed);
            // Kept before the commit, whose outcome can be unknown: taking it back is conditional
            // on this very count.
            recorded = decision.result;
            return decision;
          });
          await settleAll([counted, countSource('request')]);
        },
        async clearFailures() {
          const isKnown = recorded?.isKnown ?? false;
          const cleared = commitWithRetries(table, (now) => clearFailures(keys, isKnown, now));
          await ignoreUnavailable(cleared);
        },
        async confirmFailure() {
          const confirm = async () => {
            if (recorded) await ignoreUnavailable(table.update(confirmFailure(recorded)));
          };
          await settleAll([countSource('failure'), confirm()]);
        },
        async takeBack(error) {
          // A slow call may have used up the time of the request.
          allowTimeToUndo();
          if (recorded) await ignoreUnavailable(commit(table, [takeBackAttempt(recorded)]));
          throw error;
        },
      };
      return { attempt, items };
    },

    async beginReset({ address, arrivedAt }, keys = []) {
      const hash = await keyedHash();
      const key = sourceResetsKey(hash(machineOf(address)));
      const [counted, ...items] = await table.getAll([key, ...keys]);
      const resetLimits = { failuresPerSource: 1, requestsPerSource: limits.resetsPerSource };
      const countReset = () =>
        count(key, 'request', counted as SourceFailures | undefined, arrivedAt, resetLimits);
      return { items, count: async () => void (await countReset()) };
    },

    keysOf,
  };
}
