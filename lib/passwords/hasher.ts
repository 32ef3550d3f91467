import * as crypto from 'node:crypto';
import { promisify } from 'node:util';
import type { KMSClient } from '@aws-sdk/client-kms';
import { requireEnv } from '../runtime/execution-environment.ts';
import { generateMac, idOfKey, sharedKms } from '../runtime/kms.ts';

/*
 * Passwords are hashed with argon2id, then with an HMAC under a key that never leaves KMS (a
 * pepper): a password may have only four characters by default, so argon2id alone would not protect
 * a leaked table. The stored PHC string names the key, so that the key can be replaced, and the
 * next login rehashes the password with the new one:
 *
 *   $argon2id$v=19$m=19456,t=2,p=1,keyid=<id of the key>$<salt>$<HMAC of the hash>
 *
 * Separate from passwords.ts, so that functions that only set passwords do not load bcrypt.
 */

/** The cost of argon2id; memory in KiB. */
interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** The minimum configuration for argon2id in the OWASP Password Storage Cheat Sheet. */
const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
export const SALT_BYTES = 16;
export const HASH_BYTES = 32;

/** The lowest parameters that argon2 accepts; a hash takes well below a millisecond. */
const MINIMAL = {
  message: '',
  nonce: Buffer.alloc(8),
  memory: 8,
  passes: 1,
  parallelism: 1,
  tagLength: 4,
} as const;

/**
 * Throws unless argon2 works: Node.js also exports the function if its OpenSSL is too old for it.
 */
export function requireArgon2(argon2Sync: typeof crypto.argon2Sync): void {
  let tagBytes: number | undefined;
  try {
    tagBytes = argon2Sync('argon2id', MINIMAL).length;
  } catch {
    // Node.js lacks the function, or the error only names the missing part of OpenSSL.
  }
  if (tagBytes !== MINIMAL.tagLength) {
    throw new Error(
      'Passwords require crypto.argon2: Node.js 24.7 or newer, built with OpenSSL 3.2 or newer',
    );
  }
}

// Checked in the cold start, so that a deployment to an unsuitable runtime fails before the first
// login.
requireArgon2(crypto.argon2Sync);
const argon2 = promisify(crypto.argon2);

/** Creates password hashes. Throws SDK errors of KMS. */
export interface PasswordHasher {
  /** Returns the PHC string to store. */
  hash(password: string): Promise<string>;
}

/**
 * The ARNs of the HMAC keys of the stack. The first key is for new hashes; the others are
 * former keys.
 */
export const stackPepperKeys = (): readonly string[] => requireEnv('PEPPER_KEYS').split(',');

/** Opens password hashing with the first HMAC key of the stack, or of others. */
export function openHasher(pepperKeys = stackPepperKeys(), kms = sharedKms()): PasswordHasher {
  const key = idOfKey(pepperKeys[0] as string);
  const parameters = parametersUnder(key);
  return {
    async hash(password) {
      const salt = crypto.randomBytes(SALT_BYTES);
      const mac = await pepperedHash(kms, password, { salt, cost: COST, key });
      return `${parameters}${base64(salt)}$${base64(mac)}`;
    },
  };
}

/** The part of a new hash under the key with this id before the salt. */
export const parametersUnder = (key: string): string =>
  `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism},keyid=${key}$`;

/** The HMAC, under a key in KMS, of the argon2id hash of a password. */
export async function pepperedHash(
  kms: KMSClient,
  password: string,
  { salt, cost, key }: { readonly salt: Buffer; readonly cost: Cost; readonly key: string },
): Promise<Buffer> {
  const hash = await argon2('argon2id', {
    message: Buffer.from(password.normalize('NFC')),
    nonce: salt,
    tagLength: HASH_BYTES,
    ...cost,
  });
  return generateMac(kms, key, hash);
}

/** Base64 without padding, as in PHC strings. */
export const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=/g, '');
