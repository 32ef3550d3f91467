import * as crypto from 'node:crypto';
import { promisify } from 'node:util';
import { GenerateMacCommand } from '@aws-sdk/client-kms';
import { inTime } from '../runtime/aws.ts';
import { requireEnv } from '../runtime/env.ts';
import { sharedKms } from '../runtime/kms.ts';

/*
 * argon2id, then an HMAC under a key that never leaves KMS: passwords may have four characters, so a hash alone would
 * not protect a table that has leaked. Kept as a PHC string that names the key, so that the key can be exchanged:
 *
 *   $argon2id$v=19$m=19456,t=2,p=1,keyid=<id of the key>$<salt>$<HMAC of the hash>
 */

/** OWASP's first choice for argon2id; memory in KiB. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const PHC =
  /^\$argon2id\$v=19\$m=(?<memory>\d{1,6}),t=(?<passes>\d{1,2}),p=(?<parallelism>\d),keyid=(?<key>[\w.-]{1,100})\$(?<salt>[A-Za-z0-9+/]+)\$(?<mac>[A-Za-z0-9+/]+)$/;

/** The least that argon2 accepts; it takes well below a millisecond. */
const MINIMAL = { message: '', nonce: Buffer.alloc(8), memory: 8, passes: 1, parallelism: 1, tagLength: 4 } as const;

/** Proves that argon2 works: Node has the function also where its OpenSSL is too old for it. Fails with one sentence. */
export function requireArgon2(argon2Sync: typeof crypto.argon2Sync | undefined): void {
  let tagBytes: number | undefined;
  try {
    tagBytes = argon2Sync?.('argon2id', MINIMAL).length;
  } catch {
    // The cause would only say which part of OpenSSL is missing.
  }
  if (tagBytes !== MINIMAL.tagLength) {
    throw new Error(
      'Passwords need crypto.argon2, which Node has since version 24.7 and only with OpenSSL 3.2 or newer',
    );
  }
}

// At the cold start, so that a deployment to an unfit runtime fails before the first password.
requireArgon2(crypto.argon2Sync);
const argon2 = promisify(crypto.argon2);

/** Makes and checks password hashes. */
export interface Passwords {
  /** The PHC string to store. */
  hash(password: string): Promise<string>;
  /** Whether this is the password; takes the same time when there is no hash to compare with. */
  matches(password: string, phc: string | undefined): Promise<boolean>;
  /** Whether a hash was made by other parameters than a new one would be. */
  isOutdated(phc: string): boolean;
}

/** Passwords under the HMAC key that the stack names, or under another one. */
export function openPasswords(pepperKey = requireEnv('PEPPER_KEY'), kms = sharedKms()): Passwords {
  const keyId = pepperKey.slice(pepperKey.lastIndexOf('/') + 1);
  const parameters = `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism},keyid=${keyId}$`;
  const nobodys = `${parameters}${base64(Buffer.alloc(SALT_BYTES))}$${base64(Buffer.alloc(HASH_BYTES))}`;

  async function mac(password: string, salt: Buffer, cost: typeof COST, key: string): Promise<Buffer> {
    const hash = await argon2('argon2id', {
      message: Buffer.from(password.normalize('NFC'), 'utf8'),
      nonce: salt,
      tagLength: HASH_BYTES,
      ...cost,
    });
    const { Mac } = await kms.send(
      new GenerateMacCommand({ KeyId: key, Message: hash, MacAlgorithm: 'HMAC_SHA_256' }),
      inTime(),
    );
    return Buffer.from(Mac as Uint8Array);
  }

  return {
    async hash(password) {
      const salt = crypto.randomBytes(SALT_BYTES);
      return `${parameters}${base64(salt)}$${base64(await mac(password, salt, COST, keyId))}`;
    },

    async matches(password, phc) {
      const { memory, passes, parallelism, key, salt, mac: stored } = parse(phc ?? nobodys);
      const cost = { memory, passes, parallelism } as typeof COST;
      const computed = await mac(password, salt, cost, key);
      // Storage spells every lone surrogate alike, so a password with one could match what it is not.
      return crypto.timingSafeEqual(computed, stored) && phc !== undefined && password.isWellFormed();
    },

    isOutdated: (phc) => !phc.startsWith(parameters),
  };
}

function parse(phc: string) {
  const { memory, passes, parallelism, key, salt, mac } = PHC.exec(phc)?.groups ?? {};
  if (!key || !salt || !mac || Number(memory) > 262_144 || Number(passes) > 10)
    throw new Error('A stored password hash is not readable');
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    key,
    salt: Buffer.from(salt, 'base64'),
    mac: Buffer.from(mac, 'base64'),
  };
}

/** Without padding, as PHC strings have it. */
const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
