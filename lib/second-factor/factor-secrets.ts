import { hkdfSync } from 'node:crypto';
import { requireEnv } from '../runtime/execution-environment.ts';
import { generateMac, idOfKey, sharedKms } from '../runtime/kms.ts';
import { RECOVERY_CODES } from '../users/user-factor.ts';
import { base32 } from './totp.ts';

/** The secrets of a second factor, which are never stored. */
export interface FactorSecrets {
  /** The id of the key in KMS. */
  readonly key: string;
  /** The shared secret of RFC 6238: 160 bits, as RFC 4226, 4 recommends. */
  readonly totp: Buffer;
  /** The recovery codes under this nonce, of eight letters and digits: 40 bits each. */
  recoveryCodes(recoveryNonce: string): readonly string[];
}

/**
 * Derives the secrets of the factor of a user. Throws SDK errors of KMS, and if the factor was
 * turned on under another key: codes would seem wrong, and be counted.
 */
export type DeriveFactorSecrets = (
  userId: number,
  factor: { readonly nonce: string; readonly key?: string },
) => Promise<FactorSecrets>;

const TOTP_BYTES = 20;
const RECOVERY_CODE_BYTES = 5;

/**
 * Opens the derivation of secrets under a key that never leaves KMS. A table, a backup or an export
 * therefore contains none of them.
 */
export function openFactorSecrets(
  keyArn = requireEnv('FACTOR_KEY'),
  kms = sharedKms(),
): DeriveFactorSecrets {
  const key = idOfKey(keyArn);
  return async (userId, factor) => {
    const { nonce } = factor;
    if (factor.key !== undefined && factor.key !== key)
      throw new Error(`The second factor of user ${userId} is of another key: ${factor.key}`);
    const message = Buffer.from(`gatehouse: second factor of user ${userId}: ${nonce}`);
    const mac = await generateMac(kms, keyArn, message);
    const derive = (purpose: string, bytes: number): Buffer =>
      Buffer.from(hkdfSync('sha256', mac, '', purpose, bytes));
    return {
      key,
      totp: derive('totp', TOTP_BYTES),
      recoveryCodes(recoveryNonce) {
        const bytes = derive(`recovery ${recoveryNonce}`, RECOVERY_CODES * RECOVERY_CODE_BYTES);
        return base32(bytes).match(/.{8}/g) as string[];
      },
    };
  };
}
