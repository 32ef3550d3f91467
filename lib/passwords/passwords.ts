import { timingSafeEqual } from 'node:crypto';
import { compare } from 'bcryptjs';
import * as v from 'valibot';
import { idOfKey, sharedKms } from '../runtime/kms.ts';
import { settleAll } from '../runtime/waiting.ts';
import {
  base64,
  HASH_BYTES,
  openHasher,
  type PasswordHasher,
  parametersUnder,
  pepperedHash,
  SALT_BYTES,
  stackPepperKeys,
} from './hasher.ts';
import { password as passwordRules } from './password-schema.ts';

/*
 * Stored hashes come from hasher.ts, or are bcrypt hashes of imported users, usually until their
 * first login.
 */

const PHC =
  /^\$argon2id\$v=19\$m=(?<memory>\d{1,6}),t=(?<passes>\d{1,2}),p=(?<parallelism>[1-9]),keyid=(?<key>[\w.-]{1,100})\$(?<salt>[A-Za-z0-9+/]{11,})\$(?<mac>[A-Za-z0-9+/]{43})$/;

/** Creates and verifies password hashes. Throws SDK errors of KMS. */
export interface Passwords extends PasswordHasher {
  /**
   * Whether the password matches; one that breaks the rules of a new password never does. Without a
   * stored hash it takes as long as with a new one; a bcrypt hash takes longer, and a hash with
   * other parameters longer or shorter. Throws if the stored hash is malformed.
   */
  matches(password: string, stored: string | undefined): Promise<boolean>;
  /**
   * Whether to replace this hash after the password has matched it: its parameters or its key
   * differ from a new hash's. A bcrypt hash stays if it does not prove every character of the
   * password.
   */
  isOutdated(stored: string, password: string): boolean;
}

/**
 * Opens password hashing with the HMAC keys of the stack, or with others. The first key is for
 * new hashes; the others, which are former keys, only verify. No password matches a hash under any
 * other key.
 */
export function openPasswords(pepperKeys = stackPepperKeys(), kms = sharedKms()): Passwords {
  const keyIds = pepperKeys.map(idOfKey);
  const parameters = parametersUnder(keyIds[0] as string);
  const zeros = (bytes: number) => base64(Buffer.alloc(bytes));
  const dummyHash = `${parameters}${zeros(SALT_BYTES)}$${zeros(HASH_BYTES)}`;

  return {
    ...openHasher(pepperKeys, kms),

    async matches(password, stored) {
      const bcryptHash = isBcrypt(String(stored)) ? stored : undefined;
      const phc = bcryptHash === undefined ? stored : undefined;
      const isUsable = phc !== undefined && keyIds.includes(parse(phc).key);
      const {
        memory,
        passes,
        parallelism,
        key,
        salt,
        mac: expected,
      } = parse(isUsable ? phc : dummyHash);
      const cost = { memory, passes, parallelism };
      // Other systems may have accepted such a password, even an empty one. It is compared as
      // typed, not normalized.
      const isPossible = v.is(passwordRules, password);
      const tried = isPossible ? password : '';
      const [computed, bcryptMatches] = await settleAll([
        pepperedHash(kms, tried, { salt, cost, key }),
        bcryptHash === undefined ? Promise.resolve(false) : matchesBcrypt(tried, bcryptHash),
      ]);
      const phcMatches = timingSafeEqual(computed, expected) && isUsable;
      return (phcMatches || bcryptMatches) && isPossible;
    },

    isOutdated: (stored, password) =>
      isBcrypt(stored) ? isReadWhole(password) : !stored.startsWith(parameters),
  };
}

/**
 * The id of the HMAC key of a stored hash; undefined for a bcrypt hash. Throws if it is malformed.
 */
export const keyIdOf = (stored: string): string | undefined =>
  isBcrypt(stored) ? undefined : parse(stored).key;

/**
 * Whether a stored hash can be verified with these HMAC keys; a bcrypt hash needs none. Throws if
 * it is malformed.
 */
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
  type Parts = Record<'memory' | 'passes' | 'parallelism' | 'key' | 'salt' | 'mac', string>;
  const parts = PHC.exec(phc)?.groups as Parts | undefined;
  if (!parts || Number(parts.memory) > 262_144 || Number(parts.passes) > 10) return undefined;
  const { memory, passes, parallelism, key, salt, mac } = parts;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    key,
    salt: Buffer.from(salt, 'base64'),
    mac: Buffer.from(mac, 'base64'),
  };
}

/*
 * Imported users keep the bcrypt hash of the system that they come from until their first login,
 * which replaces it unless bcrypt does not read the whole password. Gatehouse verifies such hashes
 * and never creates one.
 */

/** The cost is limited to 12, because each further step doubles the time of a login. */
const HASH = /^\$2[aby]\$(?:0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}$/;

/** Whether this is a bcrypt hash with a cost from 4 to 12. */
const isBcrypt = (stored: string): boolean => HASH.test(stored);

/**
 * Whether a match proves the whole password: bcrypt reads only 72 bytes, including the zero byte at
 * the end.
 */
const isReadWhole = (password: string): boolean => Buffer.byteLength(password) < 72;

/**
 * Whether the password matches as typed: other systems do not normalize it. bcrypt reads only its
 * first 72 bytes.
 */
const matchesBcrypt = (password: string, stored: string): Promise<boolean> =>
  compare(password, stored);
