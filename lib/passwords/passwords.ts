import * as crypto from 'node:crypto';
import { promisify } from 'node:util';
import { GenerateMacCommand } from '@aws-sdk/client-kms';
import { abortBeforeDeadline } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { isBcrypt, matchesBcrypt } from './bcrypt.ts';

/*
 * Passwords are hashed with argon2id, then with an HMAC under a key that never leaves KMS (a pepper): a password may
 * have only four characters, so argon2id alone would not protect a leaked table. The stored PHC string names the key,
 * so that the key can be replaced, and the next login rehashes the password with the new one:
 *
 *   $argon2id$v=19$m=19456,t=2,p=1,keyid=<id of the key>$<salt>$<HMAC of the hash>
 *
 * An imported user has a bcrypt hash until the first login.
 */

/** The minimum configuration for argon2id in the OWASP Password Storage Cheat Sheet; memory in KiB. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const PHC =
  /^\$argon2id\$v=19\$m=(?<memory>\d{1,6}),t=(?<passes>\d{1,2}),p=(?<parallelism>[1-9]),keyid=(?<key>[\w.-]{1,100})\$(?<salt>[A-Za-z0-9+/]{11,})\$(?<mac>[A-Za-z0-9+/]{43})$/;

/** The lowest parameters that argon2 accepts; a hash takes well below a millisecond. */
const MINIMAL = { message: '', nonce: Buffer.alloc(8), memory: 8, passes: 1, parallelism: 1, tagLength: 4 } as const;

/** Throws unless argon2 works: Node.js also exports the function if its OpenSSL is too old for it. */
export function requireArgon2(argon2Sync: typeof crypto.argon2Sync | undefined): void {
  let tagBytes: number | undefined;
  try {
    tagBytes = argon2Sync?.('argon2id', MINIMAL).length;
  } catch {
    // The cause only names the missing part of OpenSSL.
  }
  if (tagBytes !== MINIMAL.tagLength) {
    throw new Error('Passwords require crypto.argon2: Node.js 24.7 or newer, built with OpenSSL 3.2 or newer');
  }
}

// Checked in the cold start, so that a deployment to an unsuitable runtime fails before the first login.
requireArgon2(crypto.argon2Sync);
const argon2 = promisify(crypto.argon2);

/** Creates and verifies password hashes. Throws SDK errors of KMS. */
export interface Passwords {
  /** Returns the PHC string to store. */
  hash(password: string): Promise<string>;
  /**
   * Whether the password matches. Takes equally long without a stored hash, and longer only for a bcrypt hash. Throws
   * if the stored hash is malformed.
   */
  matches(password: string, stored: string | undefined): Promise<boolean>;
  /** Whether the parameters or the key of a hash differ from those of a new hash. */
  isOutdated(stored: string): boolean;
}

/**
 * Opens password hashing with the HMAC keys of the stack, or with others. The first key is that of new hashes; the
 * others, which are former keys, only verify. A hash under any other key is verified by no password.
 */
export function openPasswords(
  pepperKeys: readonly string[] = requireEnv('PEPPER_KEYS').split(','),
  kms = sharedKms(),
): Passwords {
  const keyIds = pepperKeys.map(idOfKey);
  const [keyId = ''] = keyIds;
  const parameters = `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism},keyid=${keyId}$`;
  const dummyHash = `${parameters}${base64(Buffer.alloc(SALT_BYTES))}$${base64(Buffer.alloc(HASH_BYTES))}`;

  async function mac(password: string, salt: Buffer, cost: typeof COST, key: string): Promise<Buffer> {
    const hash = await argon2('argon2id', {
      message: Buffer.from(password.normalize('NFC'), 'utf8'),
      nonce: salt,
      tagLength: HASH_BYTES,
      ...cost,
    });
    const { Mac } = await kms.send(
      new GenerateMacCommand({ KeyId: key, Message: hash, MacAlgorithm: 'HMAC_SHA_256' }),
      abortBeforeDeadline(),
    );
    return Buffer.from(Mac as Uint8Array);
  }

  return {
    async hash(password) {
      const salt = crypto.randomBytes(SALT_BYTES);
      return `${parameters}${base64(salt)}$${base64(await mac(password, salt, COST, keyId))}`;
    },

    async matches(password, stored) {
      const bcryptHash = stored !== undefined && isBcrypt(stored) ? stored : undefined;
      const phc = bcryptHash === undefined ? stored : undefined;
      const isUsable = phc !== undefined && keyIds.includes(parse(phc).key);
      const { memory, passes, parallelism, key, salt, mac: expected } = parse(isUsable ? phc : dummyHash);
      const cost = { memory, passes, parallelism } as typeof COST;
      const [computed, bcryptMatches] = await settleAll([
        mac(password, salt, cost, key),
        bcryptHash === undefined ? Promise.resolve(false) : matchesBcrypt(password, bcryptHash),
      ]);
      const phcMatches = crypto.timingSafeEqual(computed, expected) && isUsable;
      // UTF-8 encodes every lone surrogate as U+FFFD, so different ill-formed passwords have the same hash.
      return (phcMatches || bcryptMatches) && password.isWellFormed();
    },

    isOutdated: (stored) => !stored.startsWith(parameters),
  };
}

/** The id of a key, which the hashes under it contain. */
export const idOfKey = (arn: string): string => arn.slice(arn.lastIndexOf('/') + 1);

/** The id of the HMAC key of a stored hash; undefined for a bcrypt hash. Throws if it is malformed. */
export const keyIdOf = (stored: string): string | undefined => (isBcrypt(stored) ? undefined : parse(stored).key);

/** Whether a stored hash can be verified with these HMAC keys; a bcrypt hash needs none. Throws if it is malformed. */
export function isVerifiable(stored: string, pepperKeys: readonly string[]): boolean {
  const key = keyIdOf(stored);
  return key === undefined || pepperKeys.map(idOfKey).includes(key);
}

/** Whether a text is a stored hash that `matches` accepts. */
export function isReadable(stored: string): boolean {
  return isBcrypt(stored) || read(stored) !== undefined;
}

function parse(phc: string) {
  const hash = read(phc);
  if (!hash) throw new Error('A stored password hash is not readable');
  return hash;
}

function read(phc: string) {
  const { memory, passes, parallelism, key, salt, mac } = PHC.exec(phc)?.groups ?? {};
  if (!key || !salt || !mac || Number(memory) > 262_144 || Number(passes) > 10) return undefined;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    key,
    salt: Buffer.from(salt, 'base64'),
    mac: Buffer.from(mac, 'base64'),
  };
}

/** Base64 without padding, as in PHC strings. */
const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
