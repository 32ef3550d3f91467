import { createHmac } from 'node:crypto';
import type { KMSClient } from '@aws-sdk/client-kms';
import { machineOf, networkOf, type Source, siteOf } from '../contract/source.ts';
import { startInColdStart } from '../runtime/cold-start.ts';
import { generateMac } from '../runtime/kms.ts';
import type { Key } from '../table/keys.ts';
import {
  elsewhereAttemptsKey,
  networkAttemptsKey,
  recoveryAttemptsKey,
  sourceAttemptsKey,
  sourceModulesKey,
  sourceResetsKey,
} from './attempt-items.ts';
import type { FailureKeys } from './login-throttle-rules.ts';
import { type SourceKeys, windowOf } from './source-throttle.ts';

/** Must differ in length from an argon2 hash: the same KMS key computes MACs of those hashes. */
const LABEL = Buffer.from('gatehouse: who guesses at which login');

/** The keys of the counts, in which logins and addresses are HMACs. All fail as KMS does. */
export interface AttemptKeys {
  ofLogin(login: string, source: Source): Promise<FailureKeys>;
  ofResets(source: Source): Promise<SourceKeys>;
  ofModules(source: Source): Promise<SourceKeys>;
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

  async function ofSource(
    { address, arrivedAt }: Source,
    keyOf: (source: string, window: number) => Key,
  ): Promise<SourceKeys> {
    const hash = await keyedHash();
    const key = (source: string) => keyOf(hash(source), windowOf(arrivedAt).number);
    const [machine, site] = [machineOf(address), siteOf(address)];
    return { source: key(machine), ...(site !== machine && { site: key(site) }) };
  }

  return {
    async ofLogin(login, source) {
      const hash = await keyedHash();
      return {
        network: networkAttemptsKey(hash(login), hash(`${networkOf(source.address)} ${login}`)),
        elsewhere: elsewhereAttemptsKey(hash(login)),
        recovery: recoveryAttemptsKey(hash(login)),
        ...(await ofSource(source, sourceAttemptsKey)),
      };
    },
    ofResets: (source) => ofSource(source, sourceResetsKey),
    ofModules: (source) => ofSource(source, sourceModulesKey),
  };
}
