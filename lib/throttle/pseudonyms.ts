import { createHmac } from 'node:crypto';
import type { KMSClient } from '@aws-sdk/client-kms';
import { startInColdStart } from '../runtime/execution-environment.ts';
import { generateMac } from '../runtime/kms.ts';
import { untilItSucceeds } from '../runtime/waiting.ts';

/** Must differ in length from an argon2 hash: the same KMS key computes MACs of those hashes. */
const LABEL = Buffer.from('gatehouse: who guesses at which login');

/** The HMAC of a login, a network or an address, which stands for it in keys. */
export type Pseudonym = (text: string) => string;

/**
 * Opens the pseudonyms under a secret that KMS derives from this key during the cold start. Fails
 * as KMS does, until it has derived the secret.
 */
export function openPseudonyms(pepperKey: string, kms: KMSClient): () => Promise<Pseudonym> {
  const getSecret = untilItSucceeds(() => generateMac(kms, pepperKey, LABEL));
  // So that requests in a flood neither call KMS nor wait for TLS handshakes.
  startInColdStart(getSecret);
  return async () => {
    const key = await getSecret();
    return (text) => createHmac('sha256', key).update(text).digest('base64url');
  };
}
