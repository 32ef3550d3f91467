import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fold } from '../contract/fields.ts';

/*
 * Which passwords are easy to guess because many people use them, or because they consist of the
 * login or the e-mail address. A password is compared in the forms that people vary it in: letter
 * case, digits and signs in place of letters, reversed, and with digits and signs around it.
 */

/** Digits and signs in place of letters. `l` is among them, because 1 stands for l and for i. */
const STANDS_FOR: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  l: 'i',
  '3': 'e',
  '4': 'a',
  '@': 'a',
  '5': 's',
  $: 's',
  '7': 't',
};

/** A shorter word followed by digits is not easier to guess than the digits. */
const WORD_MIN = 3;

/** What a password must not be made of. */
export interface Account {
  readonly login: string;
  readonly email: string;
}

/** The form in which words are compared. */
export const plainOf = (text: string): string => withoutLeet(fold(text));

const withoutLeet = (folded: string): string =>
  folded.replace(/[^a-km-z]/g, (character) => STANDS_FOR[character] ?? character);

/** The words of an account that its password must not vary. */
export function wordsOf({ login, email }: Account): ReadonlySet<string> {
  return new Set([login, email, email.slice(0, email.lastIndexOf('@'))].map(plainOf));
}

/** Whether a password is a simple variation of a word in one of the sets. */
export function isVariation(password: string, ...sets: readonly ReadonlySet<string>[]): boolean {
  const folded = fold(password);
  for (const text of [folded, [...folded].reverse().join('')])
    for (const core of coresOf(text)) if (sets.some((words) => words.has(core))) return true;
  return false;
}

/**
 * A text without some of the digits and signs around its letters, or, if it has no letter, any part
 * of more than half its length: long random numbers contain shorter words.
 */
function* coresOf(folded: string): Generator<string> {
  const text = withoutLeet(folded);
  const letters = /\p{L}(?:.*\p{L})?/su.exec(folded);
  const first = letters?.index ?? text.length;
  const last = letters ? first + letters[0].length : 0;
  const shortest = letters ? WORD_MIN : Math.floor(text.length / 2) + 1;
  for (let start = 0; start <= first; start++)
    for (let end = Math.max(last, start + shortest); end <= text.length; end++)
      yield text.slice(start, end);
}

/**
 * Reads the passwords of common-passwords.json, in the form in which they are compared. Each is
 * stored as the number of characters that it shares with its predecessor (A for none), and the
 * rest.
 */
export function readCommonPasswords(): ReadonlySet<string> {
  // infra/bundle/bundle.ts puts it beside the function: only a setting requires it.
  const file = join(import.meta.dirname, 'common-passwords.json');
  const { passwords } = JSON.parse(readFileSync(file, 'utf8')) as { passwords: string };
  const words = new Set<string>();
  let word = '';
  for (const entry of passwords.split(/(?=[A-Z])/)) {
    word = word.slice(0, entry.charCodeAt(0) - 'A'.charCodeAt(0)) + entry.slice(1);
    words.add(word);
  }
  return words;
}
