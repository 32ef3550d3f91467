import { createHmac } from 'node:crypto';
import { GenerateMacCommand } from '@aws-sdk/client-kms';
import { Failure } from '../contract/failure.ts';
import { machineOf, networkOf, type Source } from '../contract/source.ts';
import { openConnection } from '../runtime/aws.ts';
import { startInColdStart } from '../runtime/cold-start.ts';
import { abortBeforeDeadline } from '../runtime/deadline.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { change, commit, ignoreUnavailable } from '../table/change.ts';
import { elsewhereAttemptsKey, type Key, networkAttemptsKey, sourceAttemptsKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { Write } from '../table/write.ts';
import {
  clearFailures,
  type FailureKeys,
  type Failures,
  type RecordedFailure,
  recordFailure,
  recordRequest,
  requireNoWait,
  type SourceFailures,
  type SourceLimits,
  takeBackFailure,
  takeBackLoginFailure,
} from './login-throttle-rules.ts';

/** Must differ in length from an argon2 hash: the same KMS key computes MACs of those hashes. */
const LABEL = Buffer.from('gatehouse: who guesses at which login');

/** Attempts to count a request. One fails when the window ends or the item is removed concurrently. */
const MAX_TRIES = 5;

/** Bounds how fast passwords can be guessed. */
export interface LoginThrottle {
  /**
   * Reads the counts that decide on a login attempt, together with the items under `keys`. Fails with too-many-attempts
   * during a waiting period.
   */
  begin(login: string, source: Source, keys?: readonly Key[]): Promise<BegunAttempt>;
  /** Reads the count of the requests of a source other than login attempts, together with the items under `keys`. */
  beginRequest(source: Source, keys?: readonly Key[]): Promise<BegunRequest>;
  /** The keys under which the counts of this login and source are stored, for the rules of a reset. */
  keysOf(login: string, source: Source): Promise<FailureKeys>;
}

/** A login attempt, and the items that were read with its counts; undefined for those that do not exist. */
interface BegunAttempt {
  readonly attempt: Attempt;
  readonly items: readonly (Item | undefined)[];
}

/** A request other than a login attempt, and the items that were read with the count of its source. */
interface BegunRequest {
  /**
   * Counts the request against its source. Await it before any work beyond reading is done for the request. Fails with
   * too-many-attempts, and with unavailable when the request could not be counted.
   */
  count(): Promise<void>;
  readonly items: readonly (Item | undefined)[];
}

/** A login attempt that no waiting period forbids. */
interface Attempt {
  /**
   * Counts the attempt as a failure. Await it before the password is hashed, so that no hash is computed for an
   * uncounted attempt. Fails with too-many-attempts if concurrent attempts have caused a waiting period, and with
   * unavailable when the attempt could not be counted; it may then be counted in part, so take it back.
   */
  record(): Promise<void>;
  /** The writes after a correct password, which clear the failures of the login. Call it after `record`. */
  clearFailures(now: number): Write[];
  /** Takes back the failure of the source, after a correct password. During an outage it remains counted. */
  takeBackFailure(): Promise<void>;
  /**
   * Takes back whatever has been counted of an attempt that failed before its password was verified, and fails with the
   * error that prevented it: during an outage, users would otherwise lock themselves out with correct passwords.
   */
  takeBack(error: unknown): Promise<never>;
}

/**
 * Opens a throttle that stores its counts in the table. It counts by the submitted login whether or not an account has
 * it, so that a count does not reveal which logins exist. Logins and addresses are stored as HMACs under a secret that
 * is derived from the password pepper key.
 */
export function openLoginThrottle(
  table: Table,
  limits: SourceLimits = {
    failuresPerSource: Number(requireEnv('FAILURES_PER_SOURCE')),
    requestsPerSource: Number(requireEnv('REQUESTS_PER_SOURCE')),
  },
  [pepperKey = ''] = requireEnv('PEPPER_KEYS').split(','),
  kms = sharedKms(),
): LoginThrottle {
  let secret: Promise<Buffer> | undefined;
  // During the cold start, so that requests in a flood neither call KMS nor wait for TLS handshakes. Without network
  // latency, the secret saves the first login 7 of 95 ms, and the connection 3 ms.
  startInColdStart(getSecret);
  openConnection('dynamodb');

  async function deriveSecret(): Promise<Buffer> {
    const command = new GenerateMacCommand({ KeyId: pepperKey, Message: LABEL, MacAlgorithm: 'HMAC_SHA_256' });
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

  async function readCounts(keys: FailureKeys, others: readonly Key[] = []): Promise<[Failures, (Item | undefined)[]]> {
    const items = await table.getAll([keys.network, keys.elsewhere, keys.source, ...others]);
    const [network, elsewhere, source, ...rest] = items as unknown[];
    return [{ network, elsewhere, source } as Failures, rest as (Item | undefined)[]];
  }

  /** Counts a request against its source, rereading the count after each concurrent change. */
  async function count(
    key: Key,
    source: SourceFailures | undefined,
    failures: 0 | 1,
    arrivedAt: number,
  ): Promise<void> {
    let known = source;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (await table.update(recordRequest(key, known, failures, { now: Date.now(), arrivedAt, ...limits }))) return;
      [known] = (await table.getAll([key])) as unknown as [SourceFailures | undefined];
    }
    throw new Failure('unavailable');
  }

  return {
    async begin(login, source, others) {
      const { arrivedAt } = source;
      const keys = await keysOf(login, source);
      const [counts, items] = await readCounts(keys, others);
      requireNoWait(counts, { now: Date.now(), arrivedAt, ...limits });

      let read: Failures | undefined = counts;
      const load = async () => {
        const [current] = read ? [read] : await readCounts(keys);
        read = undefined;
        return current;
      };
      let failure: RecordedFailure | undefined;
      let isSourceCounted = false;
      const attempt: Attempt = {
        async record() {
          const recorded = change(table, load, (current, now) => {
            failure = undefined;
            requireNoWait(current, { now, arrivedAt, ...limits });
            const decision = recordFailure(keys, current, now);
            // Kept before the commit, whose outcome can be unknown: taking it back is conditional on this very count.
            failure = decision.result;
            return decision;
          });
          const counted = count(keys.source, counts.source, 1, arrivedAt).then(() => {
            isSourceCounted = true;
          });
          await settleAll([recorded, counted]);
        },
        clearFailures: (now) => clearFailures(keys, failure?.isKnown ?? false, now),
        async takeBackFailure() {
          await ignoreUnavailable(table.update(takeBackFailure(keys.source, Date.now())));
        },
        async takeBack(error) {
          await settleAll([
            failure ? ignoreUnavailable(commit(table, [takeBackLoginFailure(failure)])) : Promise.resolve(),
            isSourceCounted ? attempt.takeBackFailure() : Promise.resolve(),
          ]);
          throw error;
        },
      };
      return { attempt, items };
    },

    async beginRequest({ address, arrivedAt }, keys = []) {
      const hash = await keyedHash();
      const key = sourceAttemptsKey(hash(machineOf(address)));
      const [counted, ...items] = await table.getAll([key, ...keys]);
      return { items, count: () => count(key, counted as SourceFailures | undefined, 0, arrivedAt) };
    },

    keysOf,
  };
}
