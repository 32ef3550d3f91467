import { execFile } from 'node:child_process';
import { argon2Sync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { dictionary } from '@zxcvbn-ts/language-common';
import { describe, expect, it } from 'vitest';
import {
  isVariation,
  plainOf,
  readCommonPasswords,
  wordsOf,
} from '../../lib/passwords/common-passwords.ts';
import { requireArgon2 } from '../../lib/passwords/hasher.ts';

const MESSAGE =
  'Passwords require crypto.argon2: Node.js 24.7 or newer, built with OpenSSL 3.2 or newer';

describe('the self-test of argon2', () => {
  it('accepts the argon2 of this Node', () => {
    expect(() => requireArgon2(argon2Sync)).not.toThrow();
  });

  it.each<[string, typeof argon2Sync]>([
    ['is missing', undefined as never],
    [
      'is present and throws',
      () => {
        throw new Error('error:12800067:random number generator::unable to fetch drbg');
      },
    ],
    ['returns nothing', () => Buffer.alloc(0)],
  ])('fails with a one-sentence message when the function %s', (_, implementation) => {
    expect(() => requireArgon2(implementation)).toThrow(new Error(MESSAGE));
  });

  it('runs when the module loads', async () => {
    const file = pathToFileURL(join(import.meta.dirname, '../../lib/passwords/hasher.ts')).href;
    const script =
      `import crypto from 'node:crypto'; import { syncBuiltinESMExports } from 'node:module';` +
      'crypto.argon2Sync = undefined; syncBuiltinESMExports();' +
      `await import(${JSON.stringify(file)}).catch((error) => console.log(error.message));`;

    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      script,
    ]);

    expect(stdout.trim()).toBe(MESSAGE);
  });
});

/** The commonest first. */
const RANKED = dictionary['passwords-common'].slice(0, 10_000).map(String);
const SOURCE = '@zxcvbn-ts/language-common';

/**
 * The passwords of the source, without those that are variations of others. Of digits alone, only
 * more than half is compared: a variation of `123456` need not be one of `1234`.
 */
function reduced(): string[] {
  const words = new Set<string>();
  const shortestFirst = RANKED.filter(({ length }) => length >= 4).toSorted(
    (one, other) => one.length - other.length,
  );
  for (const password of shortestFirst)
    if (!/[a-z]/.test(password) || !isVariation(password, words)) words.add(plainOf(password));
  return [...words].sort();
}

/** The text that `readCommonPasswords` reads. */
function encoded(words: readonly string[]): string {
  return words
    .map((word, index) => {
      const previous = words[index - 1] ?? '';
      let shared = 0;
      while (shared < 25 && shared < word.length && word[shared] === previous[shared]) shared++;
      return String.fromCharCode('A'.charCodeAt(0) + shared) + word.slice(shared);
    })
    .join('');
}

it('common-passwords.json is current: npm run update updates it', () => {
  const folder = join(dirname(fileURLToPath(import.meta.resolve(SOURCE))), '..');
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const text = JSON.stringify(
    {
      source: `The first 10,000 passwords of ${SOURCE} ${JSON.parse(read('package.json')).version}`,
      license: read('LICENSE.txt').trim().split('\n'),
      passwords: encoded(reduced()),
    },
    null,
    2,
  );

  return expect(`${text}\n`).toMatchFileSnapshot('../../lib/passwords/common-passwords.json');
});

const COMMON = readCommonPasswords();

it('every one of the 10,000 most common passwords that a password may be is recognized', () => {
  const possible = RANKED.filter(({ length }) => length >= 4);

  expect(possible.length).toBeGreaterThan(9_990);
  expect(possible.filter((password) => !isVariation(password, COMMON))).toEqual([]);
});

it.each([
  ['the password itself', 'dragon', true],
  ['in other letter case', 'DraGON', true],
  ['in full-width letters', '\uff44\uff52\uff41\uff47\uff4f\uff4e', true],
  ['with 1 for l', '1etme1n', true],
  ['with l for i', 'dan1el', true],
  ['with @ and $', 'P@$$word', true],
  ['with $ at its beginning', '$hadow', true],
  ['with 7 at its end, and a sign', 'l3tm31n!', true],
  ['with a year and symbols', 'Dragon2026!!', true],
  ['with a date', 'dragon20261231', true],
  ['with digits before it', '007dragon', true],
  ['with digits and symbols around it', '#1 dragon #1', true],
  ['reversed and varied', '99N0gard!', true],
  ['digits with a sign', '123456!', true],
  ['digits that are more than half of it', '80612345', true],
  ['a passphrase of common words', 'correct horse battery staple', false],
  ['a passphrase that begins and ends with one', 'dragon swims with a dragon', false],
  ['with letters around it', 'xdragonx', false],
  ['with a letter after its digits', 'dragon99x', false],
  ['random letters and digits', 'x9k2v7qm', false],
  ['digits that are half of it', '80691234', false],
  ['a long random number', '8374928374912345', false],
  ['symbols only', '?!-_?!-_', false],
  ['letters of another script', '\u043f\u0430\u0440\u043e\u043b\u044c-7', false],
  ['emoji', '\u{1f40e}\u{1f50b}\u{1f4ce}\u{1f40e}', false],
])('%s: %s is a variation of a common password: %s', (_, password, expected) => {
  expect(isVariation(password, COMMON)).toBe(expected);
});

describe('a password of an account', () => {
  const isWordOf = (account: { login: string; email: string }, password: string) =>
    isVariation(password, wordsOf(account));

  it.each([
    ['the login, varied', 'L0ve1ace!', true],
    ['the login, reversed', 'ecalevol1843', true],
    ['the address, varied', '4da.Byr0n@engine.example1', true],
    ['the local part of the address, varied', '12AD@.BYRON34', true],
    ['a passphrase that contains the login', 'lovelace counts the engine wheels', false],
    ['the domain of the address', 'engine.example', false],
    ['a part of the login', 'love', false],
    ['the login of another account', 'babbage', false],
  ])('%s: %s is a variation of its words: %s', (_, password, expected) => {
    const ada = { login: 'Lovelace', email: 'Ada.Byron@Engine.example' };

    expect(isWordOf(ada, password)).toBe(expected);
  });

  it('may begin with a login of one or two characters, but not of three', () => {
    const logins = ['x', 'xy', 'xyz'];

    const varies = logins.map((login) =>
      isWordOf({ login, email: `${login}@example.com` }, `${login}20481632`),
    );

    expect(varies).toEqual([false, false, true]);
  });
});
