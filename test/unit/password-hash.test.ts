import { argon2Sync } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { describe, expect, it, vi } from 'vitest';
import { openPasswords } from '../../lib/passwords/passwords.ts';
import { setDeadline } from '../../lib/runtime/execution-environment.ts';
import { bcryptHash } from '../support/commands/transfer.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';

/*
 * The calls to Argon2 and KMS. Stored hashes have the minimum cost unless a test is about the cost.
 */

const MAC = Buffer.alloc(32, 7);
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
const macOf = (mac: Buffer) => ({ Mac: mac.toString('base64') });

const KEY = 'arn:aws:kms:eu-central-1:111122223333:key/current-key';
const FORMER_KEY = 'arn:aws:kms:eu-central-1:111122223333:key/former-key';
function passwordsWithKms(...responses: ScriptedResponse[]) {
  const { settings, requests, inputs } = scriptedClient(...responses);
  return { passwords: openPasswords([KEY, FORMER_KEY], new KMSClient(settings)), requests, inputs };
}

const generateMac = (Message: string, KeyId = 'current-key') => ({
  KeyId,
  Message,
  MacAlgorithm: 'HMAC_SHA_256',
});
const SALT = Buffer.from('sixteen bytes of');
const CHEAP = { memory: 8, passes: 1, parallelism: 1, key: 'current-key', salt: SALT as Buffer };
type Parameters = Partial<typeof CHEAP>;
/** A stored hash whose MAC is MAC. */
const phc = (parameters: Parameters = {}) => {
  const { memory, passes, parallelism, key, salt } = { ...CHEAP, ...parameters };
  const cost = `m=${memory},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${cost},keyid=${key}$${base64(salt)}$${base64(MAC)}`;
};
/** The Argon2 hash of which KMS must generate the MAC, in base64. */
function hashOf(password: string, parameters: Parameters = {}): string {
  const { salt, key: _, ...cost } = { ...CHEAP, ...parameters };
  const options = { message: Buffer.from(password), nonce: salt, ...cost, tagLength: 32 };
  return argon2Sync('argon2id', options).toString('base64');
}

/** The cost and the salt in place of an unusable hash's. */
const DUMMY = { memory: 19_456, passes: 2, salt: Buffer.alloc(16) };

describe('a new password hash', () => {
  it('has OWASP’s parameters, the current key, and the MAC of an Argon2 hash', async () => {
    const { passwords, inputs } = passwordsWithKms(macOf(MAC), macOf(MAC));

    const hashes = [await passwords.hash('pässword'), await passwords.hash('pa\u0308ssword')];

    const salts = hashes.map((hash) => {
      const [, salt = ''] =
        /^\$argon2id\$v=19\$m=19456,t=2,p=1,keyid=current-key\$(.+)\$(.+)$/.exec(hash) ?? [];
      return Buffer.from(salt, 'base64');
    });
    expect(hashes.map((hash) => hash.split('$').at(-1))).toEqual([base64(MAC), base64(MAC)]);
    expect(salts.map((salt) => salt.length)).toEqual([16, 16]);
    expect(salts[0]).not.toEqual(salts[1]);
    const cost = { memory: 19_456, passes: 2, salt: salts[1] as Buffer };
    expect(inputs()[1]).toEqual(generateMac(hashOf('pässword', cost)));
  });
});

describe('a password', () => {
  it.each<[string, Parameters]>([
    ['passes', { passes: 3 }],
    ['parallelism', { memory: 32, parallelism: 2 }],
    ['key', { key: 'former-key' }],
    ['size of the salt', { salt: Buffer.from('eight by') }],
  ])('is compared with the parameters of the stored hash: %s', async (_, parameters) => {
    const { passwords, inputs } = passwordsWithKms(macOf(MAC));

    expect(await passwords.matches('password', phc(parameters))).toBe(true);
    expect(inputs()).toEqual([generateMac(hashOf('password', parameters), parameters.key)]);
  });

  it('is compared in Unicode normalization form C', async () => {
    const { passwords, inputs } = passwordsWithKms(macOf(MAC));

    expect(await passwords.matches('pa\u0308ssword', phc())).toBe(true);
    expect(inputs()[0].Message).toBe(hashOf('p\u00E4ssword'));
  });

  it.each([
    ['has another MAC', 'password', macOf(Buffer.alloc(32, 8)), phc()],
    ['has a lone surrogate, which is hashed as another character', 'pass\uD800', macOf(MAC), phc()],
  ])('does not match when it %s', async (_, password, response, stored) => {
    const { passwords, requests } = passwordsWithKms(response);

    expect(await passwords.matches(password, stored)).toBe(false);
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['is empty', ''],
    ['has 101 code points', 'x'.repeat(101)],
    ['is too long to be normalized', 'x'.repeat(801)],
  ])('takes the same work but never matches when it %s', async (_, password) => {
    const { passwords, inputs } = passwordsWithKms(macOf(MAC), macOf(MAC));

    expect(await passwords.matches(password, phc())).toBe(false);
    expect(await passwords.matches(password, bcryptHash(password))).toBe(false);
    expect(inputs().map(({ Message }) => Message)).toEqual([hashOf(''), hashOf('', DUMMY)]);
  });

  it.each([
    ['under a key that the stack no longer has', phc({ key: 'retired-key' })],
    ['without a stored hash', undefined],
    ['another bcrypt hash', bcryptHash('another')],
  ])('takes the same work but never matches %s, whatever the MAC', async (_, stored) => {
    const { passwords, inputs } = passwordsWithKms(macOf(MAC), macOf(Buffer.alloc(32)));

    for (let macs = 0; macs < 2; macs++)
      expect(await passwords.matches('password', stored)).toBe(false);
    expect(inputs()).toEqual(Array(2).fill(generateMac(hashOf('password', DUMMY))));
  });

  it('fails with the error of KMS', async () => {
    const { passwords } = passwordsWithKms({ error: 'KMSInternalException', status: 500 });

    await expect(passwords.matches('password', phc())).rejects.toMatchObject({
      name: 'KMSInternalException',
    });
  });

  it('is no longer compared when the deadline of the request is near', async () => {
    const { passwords } = passwordsWithKms(macOf(MAC));
    setDeadline(0);

    await expect(passwords.matches('password', phc())).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  it.each([
    ['of another kind', '$2b$10$abcdefghijklmnopqrstuv'],
    ['empty', ''],
    ['of another variant', phc().replace('argon2id', 'argon2i')],
    ['without a key', phc().replace(',keyid=current-key', '')],
    ['that needs more memory than a function has', phc({ memory: 262_145 })],
    ['whose memory has too many digits', phc({ memory: 1_000_000 })],
    ['with too many passes', phc({ passes: 11 })],
    ['without a thread', phc({ parallelism: 0 })],
    ['with a shorter MAC', phc().slice(0, -1)],
    ['with a leading space', ` ${phc()}`],
    ['with a trailing character', `${phc()}$`],
  ])('is rejected by a hash %s before KMS is called', async (_, stored) => {
    const { passwords, requests } = passwordsWithKms(macOf(MAC));

    await expect(passwords.matches('password', stored)).rejects.toThrow(
      'A stored password hash is not readable',
    );
    expect(requests).toEqual([]);
  });

  it.each<Parameters>([
    // OWASP's 46 MiB
    { memory: 47_104 },
    { passes: 10 },
  ])('matches a hash that costs more than a new one: %o', async (parameters) => {
    const { passwords } = passwordsWithKms(macOf(MAC));

    expect(await passwords.matches('password', phc(parameters))).toBe(true);
  });
});

describe('a password with an imported bcrypt hash', () => {
  it.each(['$2a$', '$2b$', '$2y$'])(
    'is compared with it after the work for any other hash: %s',
    async (prefix) => {
      const { passwords, inputs } = passwordsWithKms(macOf(MAC), macOf(MAC));
      const stored = bcryptHash('pässword', prefix);

      expect(await passwords.matches('pässword', stored)).toBe(true);
      expect(await passwords.matches('password', stored)).toBe(false);
      expect(inputs()).toEqual([
        generateMac(hashOf('pässword', DUMMY)),
        generateMac(hashOf('password', DUMMY)),
      ]);
    },
  );

  it('is compared as typed, up to its 72nd byte', async () => {
    const { passwords } = passwordsWithKms(...Array(5).fill(macOf(MAC)));
    const [decomposed, long] = ['pa\u0308ssword', 'x'.repeat(72)];

    expect(await passwords.matches(decomposed, bcryptHash(decomposed))).toBe(true);
    expect(await passwords.matches(decomposed.normalize('NFC'), bcryptHash(decomposed))).toBe(
      false,
    );
    expect(await passwords.matches(`${long}y`, bcryptHash(`${long}z`))).toBe(true);
    expect(await passwords.matches('pass\uD83D', bcryptHash('pass\uD83D'))).toBe(false);
    expect(await passwords.matches('pass\uD83D', bcryptHash(''))).toBe(false);
  });

  it.each([
    ...['$2$', '$2x$'].map((prefix) => bcryptHash('password', prefix)),
    ...['03', '13', '31', '99'].map((cost) => bcryptHash('password').replace('$04$', `$${cost}$`)),
  ])('is not readable with another prefix or cost: %s', async (stored) => {
    const { passwords } = passwordsWithKms(macOf(MAC));

    await expect(passwords.matches('password', stored)).rejects.toThrow('not readable');
  });

  it.each([
    ['35 Cyrillic letters', '\u043F'.repeat(35), true],
    ['36 Cyrillic letters', '\u043F'.repeat(36), false],
  ])('stays if bcrypt cannot see the end of the password: %s', (_, password, outdated) => {
    expect(passwordsWithKms().passwords.isOutdated(bcryptHash(password), password)).toBe(outdated);
  });
});

describe('a stored hash', () => {
  const current = { memory: 19_456, passes: 2, parallelism: 1, key: 'current-key' };

  it.each<[string, Parameters, boolean]>([
    ['a change of salt', { ...current, salt: Buffer.from('another salt....') }, false],
    ['a change to less memory', { ...current, memory: 19_455 }, true],
    ['a change of passes', { ...current, passes: 1 }, true],
    ['a change of parallelism', { ...current, parallelism: 2 }, true],
    ['a change of key', { ...current, key: 'former-key' }, true],
    ['a change to a key with the same prefix', { ...current, key: 'current-key-2' }, true],
  ])(
    'is outdated after a change of parameters or key, but not of salt: %s',
    (_, parameters, outdated) => {
      const { passwords } = passwordsWithKms();

      expect(passwords.isOutdated(phc(parameters), 'a'.repeat(73))).toBe(outdated);
    },
  );

  it('names its key by id, whether the stack names an id or an ARN', async () => {
    vi.stubEnv('PEPPER_KEYS', 'plain-id');
    const { settings } = scriptedClient();

    const stored = phc({ ...current, key: 'plain-id' });
    expect(openPasswords(undefined, new KMSClient(settings)).isOutdated(stored, 'password')).toBe(
      false,
    );
  });
});
