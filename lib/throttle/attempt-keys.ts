import { createHmac } from 'node:crypto';
import type { KMSClient } from '@aws-sdk/client-kms';
import { machineOf, networkOf, siteOf } from '../contract/source.ts';
import { startInColdStart } from '../runtime/cold-start.ts';
import { generateMac } from '../runtime/kms.ts';
import type { Key } from '../table/keys.ts';
import {
  elsewhereAttemptsKey,
  networkAttemptsKey,
  sourceAttemptsKey,
  sourceModulesKey,
  sourceResetsKey,
} from './attempt-items.ts';
import type { FailureKeys } from './login-throttle-rules.ts';

/** Must differ in length from an argon2 hash: the same KMS key computes MACs of those hashes. */
const LABEL = Buffer.from('gatehouse: who guesses at which login');

/**
 * The length of a fingerprint: 24 bits distinguish the passwords that somebody tries, and reveal
 * little of one.
 */
const FINGERPRINT_CHARACTERS = 4;

/** The keys of the counts of a source; `site`, its /48, only for an IPv6 address. */
export type SourceKeys = Pick<FailureKeys, 'source' | 'site'>;

/** The keys of the counts, in which logins and addresses are HMACs. All fail as KMS does. */
export interface AttemptKeys {
  ofLogin(login: string, address: string): Promise<FailureKeys>;
  ofResets(address: string): Promise<SourceKeys>;
  ofModules(address: string): Promise<SourceKeys>;
  /** A value that only attempts at this login with the same password have. */
  fingerprint(login: string, password: string): Promise<string>;
}

function sourceKeys(address: string, keyOf: (source: string) => Key): SourceKeys {
  const [machine, site] = [machineOf(address), siteOf(address)];
  return { source: keyOf(machine), ...(site !== machine && { site: keyOf(site) }) };
}

/** Opens the keys under a secret that KMS derives from this key during the cold start. */
export function openAttemptKeys(pepperKey: string, kms: KMSClient): AttemptKeys {
  let secret: Promise<Buffer> | undefined;
  // During the cold start, so that requests in a flood neither call KMS nor wait for TLS
  // handshakes.
  startInColdStart(getSecret);

  function getSecret(): Promise<Buffer> {
    secret ??= generateMac(kms, pepperKey, LABEL).catch((error) => {
      secret = undefined;
      throw error;
    });
    return secret;
  }

  async function keyedHash(): Promise<(text: string) => string> {
    const key = await getSecret();
    return (text) => createHmac('sha256', key).update(text).digest('base64url');
  }

  return {
    async ofLogin(login, address) {
      const hash = await keyedHash();
      return {
        network: networkAttemptsKey(hash(login), hash(`${networkOf(address)} ${login}`)),
        elsewhere: elsewhereAttemptsKey(hash(login)),
        ...sourceKeys(address, (source) => sourceAttemptsKey(hash(source))),
      };
    },
    async ofResets(address) {
      const hash = await keyedHash();
      return sourceKeys(address, (source) => sourceResetsKey(hash(source)));
    },
    async ofModules(address) {
      const hash = await keyedHash();
      return sourceKeys(address, (source) => sourceModulesKey(hash(source)));
    },
    async fingerprint(login, password) {
      const hash = await keyedHash();
      return hash(`${login}\n${password}`).slice(0, FINGERPRINT_CHARACTERS);
    },
  };
}
