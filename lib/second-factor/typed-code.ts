import { BLANK } from '../contract/fields.ts';

/*
 * What people type as a code: with the digits and signs of their keyboard, printout or clipboard.
 */

/** Normalizing a text takes quadratic time. Longer ones are no code. */
const LENGTH_MAX = 200;

/**
 * Blanks and dashes. Three look like a dash without being one for Unicode: the hyphen bullet, and
 * the prolonged sound mark that Japanese keyboards have in place of a dash, in two widths.
 */
const SEPARATOR = `(?:${BLANK.source}|[\\p{Dash}\u2043\u30fc\uff70])`;
const SEPARATORS = new RegExp(SEPARATOR, 'gu');

/** The end of a password that has its code appended: six digits. */
const APPENDED = new RegExp(`(?:\\p{Nd}${SEPARATOR}*){6}$`, 'u');

/**
 * The letters and digits that were typed as a code, in capitals and ASCII. Empty if nothing visible
 * was typed.
 */
export function typedCode(text: string): string {
  if (text.length > LENGTH_MAX) return text;
  const compatible = text.normalize('NFKC').replace(SEPARATORS, '').toUpperCase();
  return compatible.replace(/\p{Nd}/gu, (digit) => `${digitValue(digit)}`);
}

/** Digits are encoded in runs that ascend from a zero (The Unicode Standard, 4.6). */
function digitValue(digit: string): number {
  const point = digit.codePointAt(0) as number;
  let first = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return (point - first) % 10;
}

/**
 * A typed code as a recovery code, whose letters and digits (base32) include neither 0 nor 1:
 * somebody has read the letters O and I as digits.
 */
export const asRecoveryCode = (typed: string): string =>
  typed.replaceAll('0', 'O').replaceAll('1', 'I');

/** The code at the end of a password; empty if there is none. Looks at the end only. */
export const appendedCode = (password: string): string =>
  APPENDED.exec(password.slice(-LENGTH_MAX))?.[0] ?? '';
