import { createHmac } from 'node:crypto';
import { GenerateMacCommand } from '@aws-sdk/client-kms';
import { Failure } from '../contract/failure.ts';
import { machineOf, networkOf, type Source } from '../contract/source.ts';
import { inTime, openConnection } from '../runtime/aws.ts';
import { startInColdStart } from '../runtime/cold-start.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { change, unlessUnavailable } from '../table/change.ts';
import { elsewhereAttemptsKey, type Key, networkAttemptsKey, sourceAttemptsKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { Write } from '../table/write.ts';
import {
  clearFailures,
  type FailureKeys,
  type Failures,
  mailboxProven,
  recordAttempt,
  recordRequest,
  type SourceFailures,
  type SourceLimits,
  takeBackFailure,
} from './login-throttle-rules.ts';

/** Not as long as an argon2 hash, of which the same key makes MACs too. */
const LABEL = Buffer.from('gatehouse: who guesses at which login');

/** How often a request is counted anew: a window can end meanwhile, or a count be removed, and neither goes on for long. */
const TRIES = 5;

/** Bounds how fast passwords can be guessed. */
export interface LoginThrottle {
  /**
   * Counts a guess before it is made, so that no hash is computed of what is not counted. Fails with too-many-attempts
   * while there is a wait, and with unavailable when it could not be counted.
   */
  recordAttempt(login: string, source: Source): Promise<Attempt>;
  /**
   * Counts a request that is no guess against its source, before any work is done for it. Fails with too-many-attempts,
   * and with unavailable when it could not be counted.
   */
  countRequest(source: Source): Promise<void>;
  /** The writes for a password that was set by a mailed key: they end every wait of this login in this network. */
  mailboxProven(login: string, source: Source): Promise<Write[]>;
}

/** A guess that stays counted as a failure until it is forgiven. */
interface Attempt {
  /** The password was right. An outage leaves it counted. */
  clearFailures(): Promise<void>;
}

/**
 * Counts in the table, by the name that is tried whether an account has it or not, so that a count tells nothing about
 * which names there are. Names and addresses are hidden under the key of the passwords.
 */
export function openLoginThrottle(
  table: Table,
  limits: SourceLimits = {
    failuresPerSource: Number(requireEnv('FAILURES_PER_SOURCE')),
    requestsPerSource: Number(requireEnv('REQUESTS_PER_SOURCE')),
  },
  pepperKey = requireEnv('PEPPER_KEY'),
  kms = sharedKms(),
): LoginThrottle {
  let secret: Promise<Buffer> | undefined;
  // So that no request of a flood causes a call to KMS, and none has to wait for handshakes.
  startInColdStart(derived);
  openConnection('dynamodb');

  async function deriveSecret(): Promise<Buffer> {
    const command = new GenerateMacCommand({ KeyId: pepperKey, Message: LABEL, MacAlgorithm: 'HMAC_SHA_256' });
    const { Mac } = await kms.send(command, inTime());
    return Buffer.from(Mac as Uint8Array);
  }

  function derived(): Promise<Buffer> {
    secret ??= deriveSecret().catch((error) => {
      secret = undefined;
      throw error;
    });
    return secret;
  }

  /** How names and addresses are hidden: by their HMAC. */
  async function hiding(): Promise<(text: string) => string> {
    const key = await derived();
    return (text) => createHmac('sha256', key).update(text).digest('base64url');
  }

  async function keysOf(login: string, address: string): Promise<FailureKeys> {
    const hidden = await hiding();
    return {
      network: networkAttemptsKey(hidden(login), hidden(`${networkOf(address)} ${login}`)),
      elsewhere: elsewhereAttemptsKey(hidden(login)),
      source: sourceAttemptsKey(hidden(machineOf(address))),
    };
  }

  async function load(keys: FailureKeys): Promise<Failures> {
    const items = await table.getAll(Object.values(keys));
    const find = <T>({ pk, sk }: Key) => items.find((item) => item.pk === pk && item.sk === sk) as T | undefined;
    return { network: find(keys.network), elsewhere: find(keys.elsewhere), source: find(keys.source) };
  }

  const readCount = async (key: Key) => (await table.getAll([key]))[0] as SourceFailures | undefined;

  /** Counts a request of a source by what was read of it, and again by what others have made of it meanwhile. */
  async function count(
    key: Key,
    source: SourceFailures | undefined,
    failures: 0 | 1,
    arrivedAt: number,
  ): Promise<void> {
    let known = source;
    for (let tries = 0; tries < TRIES; tries++) {
      if (await table.update(recordRequest(key, known, failures, { now: Date.now(), arrivedAt, ...limits }))) return;
      known = await readCount(key);
    }
    throw new Failure('unavailable');
  }

  return {
    async recordAttempt(login, { address, arrivedAt }) {
      const keys = await keysOf(login, address);
      let source: SourceFailures | undefined;
      const isKnown = await change(
        table,
        () => load(keys),
        (counts) => {
          source = counts.source;
          return recordAttempt(keys, counts, { now: Date.now(), arrivedAt, ...limits });
        },
      );
      await count(keys.source, source, 1, arrivedAt);
      return {
        async clearFailures() {
          const cleared = change(
            table,
            async () => undefined,
            () => ({ writes: clearFailures(keys, isKnown, Date.now()), result: undefined }),
          );
          const givenBack = table.update(takeBackFailure(keys.source, Date.now()));
          await unlessUnavailable(settleAll([cleared, givenBack]));
        },
      };
    },

    async countRequest({ address, arrivedAt }) {
      const hidden = await hiding();
      const key = sourceAttemptsKey(hidden(machineOf(address)));
      await count(key, await readCount(key), 0, arrivedAt);
    },

    mailboxProven: async (login, { address }) => mailboxProven(await keysOf(login, address), Date.now()),
  };
}
