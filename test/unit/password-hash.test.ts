import { argon2Sync } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import * as v from 'valibot';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { password } from '../../lib/passwords/password-schema.ts';
import { openPasswords } from '../../lib/passwords/passwords.ts';
import { setDeadline } from '../../lib/runtime/deadline.ts';
import { type Reply, scripted } from '../support/scripted-client.ts';

/* What is asked of argon2 and of KMS. Stored hashes have the least cost wherever the cost is not what a test is about. */

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  setDeadline(Number.POSITIVE_INFINITY);
});

const MAC = Buffer.alloc(32, 7);
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
const macOf = (mac: Buffer) => ({ Mac: mac.toString('base64') });

const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/key-of-today';
function passwordsWhereKmsAnswers(...replies: Reply[]) {
  const { settings, asked, inputs } = scripted(...replies);
  return { passwords: openPasswords(KEY, new KMSClient(settings)), asked, inputs };
}

const SALT = Buffer.from('sixteen bytes of');
interface Parameters {
  memory?: number;
  passes?: number;
  parallelism?: number;
  key?: string;
  salt?: Buffer;
}
/** A stored hash whose MAC is MAC. */
const phc = ({ memory = 8, passes = 1, parallelism = 1, key = 'key-of-today', salt = SALT }: Parameters = {}) =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism},keyid=${key}$${base64(salt)}$${base64(MAC)}`;
/** What KMS must be asked to make a MAC of. */
function hashOf(password: string, { memory = 8, passes = 1, parallelism = 1, salt = SALT }: Parameters = {}): string {
  const options = { message: Buffer.from(password), nonce: salt, memory, passes, parallelism, tagLength: 32 };
  return argon2Sync('argon2id', options).toString('base64');
}

describe('a new password hash', () => {
  it('has the parameters of OWASP, the key of today, and a MAC of argon2 under a salt of its own', async () => {
    const { passwords, inputs } = passwordsWhereKmsAnswers(macOf(MAC), macOf(MAC));

    const hashes = [await passwords.hash('pässword'), await passwords.hash('pa\u0308ssword')];

    const parts = hashes.map((hash) => /^(?<parameters>.+\$)(?<salt>[^$]+)\$(?<mac>[^$]+)$/.exec(hash)?.groups);
    const salts = parts.map((part) => Buffer.from(part?.salt ?? '', 'base64'));
    for (const part of parts) {
      expect(part?.parameters).toBe('$argon2id$v=19$m=19456,t=2,p=1,keyid=key-of-today$');
      expect(part?.mac).toBe(base64(MAC));
    }
    expect(salts.map((salt) => salt.length)).toEqual([16, 16]);
    expect(salts[0]?.equals(salts[1] as Buffer)).toBe(false);
    const salt = salts[1] as Buffer;
    expect(inputs()[1]).toEqual({
      KeyId: 'key-of-today',
      Message: hashOf('pässword', { memory: 19_456, passes: 2, salt }),
      MacAlgorithm: 'HMAC_SHA_256',
    });
  });

  it('fails as KMS does', async () => {
    const { passwords, asked } = passwordsWhereKmsAnswers({ error: 'DisabledException' });

    await expect(passwords.hash('password')).rejects.toMatchObject({ name: 'DisabledException' });
    expect(asked).toHaveLength(1);
  });
});

describe('a password', () => {
  it.each<[string, Parameters]>([
    ['memory', { memory: 16 }],
    ['passes', { passes: 3 }],
    ['parallelism', { memory: 32, parallelism: 2 }],
    ['key', { key: 'key-of-yesterday' }],
    ['salt', { salt: Buffer.from('another salt....') }],
    ['size of the salt', { salt: Buffer.from('eight by') }],
  ])('is compared by what the stored hash names: its %s', async (_, parameters) => {
    const { passwords, inputs } = passwordsWhereKmsAnswers(macOf(MAC));

    expect(await passwords.matches('password', phc(parameters))).toBe(true);
    expect(inputs()).toEqual([
      {
        KeyId: parameters.key ?? 'key-of-today',
        Message: hashOf('password', parameters),
        MacAlgorithm: 'HMAC_SHA_256',
      },
    ]);
  });

  it('is compared in one spelling', async () => {
    const { passwords, inputs } = passwordsWhereKmsAnswers(macOf(MAC));

    expect(await passwords.matches('pa\u0308ssword', phc())).toBe(true);
    expect(inputs()[0].Message).toBe(hashOf('p\u00E4ssword'));
  });

  it.each([
    ['has another MAC', 'password', macOf(Buffer.alloc(32, 8)), phc()],
    ['has half of a surrogate pair, which is hashed as another character', 'pass\uD800', macOf(MAC), phc()],
  ])('does not match where it %s', async (_, password, reply, stored) => {
    const { passwords, asked } = passwordsWhereKmsAnswers(reply);

    expect(await passwords.matches(password, stored)).toBe(false);
    expect(asked).toHaveLength(1);
  });

  it('costs the same and matches nothing where there is no hash, whatever the MAC', async () => {
    const { passwords, inputs } = passwordsWhereKmsAnswers(macOf(Buffer.alloc(32)));

    expect(await passwords.matches('password', undefined)).toBe(false);
    expect(inputs()).toEqual([
      {
        KeyId: 'key-of-today',
        Message: hashOf('password', { memory: 19_456, passes: 2, salt: Buffer.alloc(16) }),
        MacAlgorithm: 'HMAC_SHA_256',
      },
    ]);
  });

  it('fails as KMS does', async () => {
    const { passwords } = passwordsWhereKmsAnswers({ error: 'KMSInternalException', status: 500 });

    await expect(passwords.matches('password', phc())).rejects.toMatchObject({ name: 'KMSInternalException' });
  });

  it('is given up in time for the request to be answered', async () => {
    const { passwords } = passwordsWhereKmsAnswers(macOf(MAC));
    setDeadline(0);

    await expect(passwords.matches('password', phc())).rejects.toMatchObject({ name: 'AbortError' });
  });

  it.each([
    ['of another kind', '$2b$10$abcdefghijklmnopqrstuv'],
    ['empty', ''],
    ['of another version', phc().replace('v=19', 'v=16')],
    ['of another variant', phc().replace('argon2id', 'argon2i')],
    ['without a key', phc().replace(',keyid=key-of-today', '')],
    ['of more memory than a function has', phc({ memory: 262_145 })],
    ['of more memory than there are digits for', phc({ memory: 1_000_000 })],
    ['of too many passes', phc({ passes: 11 })],
    ['with something in front', ` ${phc()}`],
    ['with something behind', `${phc()}$`],
  ])('is not compared with a hash %s', async (_, stored) => {
    const { passwords, asked } = passwordsWhereKmsAnswers(macOf(MAC));

    await expect(passwords.matches('password', stored)).rejects.toThrow('A stored password hash is not readable');
    expect(asked).toEqual([]);
  });

  it('may have been made with more memory than a new hash takes: OWASP’s 46 MiB', async () => {
    const { passwords } = passwordsWhereKmsAnswers(macOf(MAC));

    expect(await passwords.matches('password', phc({ memory: 47_104 }))).toBe(true);
  });

  it('can have ten passes', async () => {
    const { passwords } = passwordsWhereKmsAnswers(macOf(MAC));

    expect(await passwords.matches('password', phc({ passes: 10 }))).toBe(true);
  });
});

describe('a stored hash', () => {
  const today = { memory: 19_456, passes: 2, parallelism: 1, key: 'key-of-today' };

  it.each<[string, Parameters, boolean]>([
    ['the same', today, false],
    ['another salt', { ...today, salt: Buffer.from('another salt....') }, false],
    ['less memory', { ...today, memory: 19_455 }, true],
    ['more memory', { ...today, memory: 47_104 }, true],
    ['other passes', { ...today, passes: 1 }, true],
    ['other parallelism', { ...today, parallelism: 2 }, true],
    ['another key', { ...today, key: 'key-of-yesterday' }, true],
    ['a key whose name begins like it', { ...today, key: 'key-of-today-2' }, true],
  ])('with %s of its parameters is outdated: %s', (_, parameters, outdated) => {
    const { passwords } = passwordsWhereKmsAnswers();

    expect(passwords.isOutdated(phc(parameters))).toBe(outdated);
  });

  it('names the key by its id, however the stack names it', async () => {
    vi.stubEnv('PEPPER_KEY', 'plain-id');
    const { settings } = scripted();

    expect(openPasswords(undefined, new KMSClient(settings)).isOutdated(phc({ ...today, key: 'plain-id' }))).toBe(
      false,
    );
    vi.stubEnv('PEPPER_KEY', '');
    expect(() => openPasswords()).toThrow('The environment variable PEPPER_KEY is not set');
  });
});

describe('a password to set', () => {
  const issuesOf = (value: unknown) =>
    v.safeParse(password, value, { abortPipeEarly: true }).issues?.map(({ message }) => message);

  it.each([4, 100])('can have %i code points, as it is brought to one spelling', (length) => {
    expect(v.parse(password, 'e\u0301'.repeat(length))).toBe('\u00E9'.repeat(length));
    expect(v.parse(password, '😀'.repeat(length))).toBe('😀'.repeat(length));
  });

  it.each([
    ['3 code points', '😀'.repeat(3), 'Size'],
    ['101 code points', 'x'.repeat(101), 'Size'],
    ['3 code points once it is brought to one spelling', 'e\u0301'.repeat(3), 'Size'],
    ['half of a surrogate pair', 'pass\uD83D', 'Pattern'],
    ['no text', 12345, 'TypeMismatch'],
  ])('cannot have %s', (_, value, issue) => {
    expect(issuesOf(value)).toEqual([issue]);
  });
});
