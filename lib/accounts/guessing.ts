import { createHmac } from 'node:crypto';
import { GenerateMacCommand } from '@aws-sdk/client-kms';
import { inTime } from '../aws.ts';
import { sharedKms } from '../kms.ts';
import { setting } from '../setting.ts';
import { change, unlessUnavailable } from '../table/change.ts';
import { elsewhereAttemptsKey, type Key, networkAttemptsKey, sourceAttemptsKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type CountKeys, type Counts, forgiveness, reservation } from './attempts.ts';
import { machineOf, networkOf, type Source } from './source.ts';

/** Not as long as an argon2 hash, of which the same key makes MACs too. */
const LABEL = Buffer.from('gatehouse: who guesses at which login');

/** Bounds how fast passwords can be guessed. */
export interface Guessing {
  /**
   * Counts a guess before it is made, so that no hash is computed of what is not counted. Fails with too-many-attempts
   * while there is a wait, and with unavailable when it could not be counted.
   */
  reserve(login: string, source: Source): Promise<Attempt>;
}

/** A guess that stays counted as a failure until it is forgiven. */
export interface Attempt {
  /** The password was right. An outage leaves it counted. */
  forgive(): Promise<void>;
}

/**
 * Counts in the table, by the name that is tried whether an account has it or not, so that a count tells nothing about
 * which names there are. Names and addresses are hidden under the key of the passwords.
 */
export function openGuessing(
  table: Table,
  failuresPerSource = Number(setting('FAILURES_PER_SOURCE')),
  pepperKey = setting('PEPPER_KEY'),
  kms = sharedKms(),
): Guessing {
  let secret: Promise<Buffer> | undefined;

  async function deriveSecret(): Promise<Buffer> {
    const command = new GenerateMacCommand({ KeyId: pepperKey, Message: LABEL, MacAlgorithm: 'HMAC_SHA_256' });
    const { Mac } = await kms.send(command, inTime());
    return Buffer.from(Mac as Uint8Array);
  }

  async function keysOf(login: string, address: string): Promise<CountKeys> {
    secret ??= deriveSecret().catch((error) => {
      secret = undefined;
      throw error;
    });
    const key = await secret;
    const hidden = (text: string) => createHmac('sha256', key).update(text).digest('base64url');
    return {
      network: networkAttemptsKey(hidden(login), hidden(`${networkOf(address)} ${login}`)),
      elsewhere: elsewhereAttemptsKey(hidden(login)),
      source: sourceAttemptsKey(hidden(machineOf(address))),
    };
  }

  async function load(keys: CountKeys): Promise<Counts> {
    const items = await table.getAll(Object.values(keys));
    const find = <T>({ pk, sk }: Key) => items.find((item) => item.pk === pk && item.sk === sk) as T | undefined;
    return { network: find(keys.network), elsewhere: find(keys.elsewhere), source: find(keys.source) };
  }

  return {
    async reserve(login, { address, arrivedAt }) {
      const keys = await keysOf(login, address);
      const isKnown = await change(
        table,
        () => load(keys),
        (counts) => reservation(keys, counts, { now: Date.now(), arrivedAt, failuresPerSource }),
      );
      return {
        forgive: () =>
          unlessUnavailable(
            change(
              table,
              async () => undefined,
              () => ({ writes: forgiveness(keys, isKnown, Date.now()), result: undefined }),
            ),
          ),
      };
    },
  };
}
