import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emailKey } from '../../lib/mail/address.ts';

/**
 * Characters that change with case or normalization; no other character can make a key wrong.
 * U+0345 (iota subscript) is left out: its upper case is a letter, which no longer reorders with
 * other marks.
 */
const foldable = Array.from({ length: 0x110000 }, (_, point) => point)
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))
  .filter(
    (char) =>
      /\p{M}/u.test(char) ||
      [char.toUpperCase(), char.toLowerCase(), char.normalize('NFKC')].some(
        (other) => other !== char,
      ),
  )
  .filter((char) => !char.normalize('NFKD').includes('\u0345'));
const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom(...foldable), fc.constantFrom(...'iIsS@.')),
  maxLength: 8,
});

describe('the key of an e-mail address', () => {
  it.each([
    ['ASCII letters in another case', 'Ada@Example.COM', 'ada@example.com'],
    ['the Kelvin sign and k', 'mi\u212Ae@example.com', 'mike@example.com'],
    ['the dotted I and i with a dot above', 'm\u0130ke@example.com', 'mi\u0307ke@example.com'],
    ['sharp s and SS', 'stra\u00DFe@example.com', 'STRASSE@example.com'],
    ['capital sharp s and ss', 'STRA\u1E9EE@example.com', 'strasse@example.com'],
    ['a ligature and its letters', '\uFB01nn@example.com', 'Finn@example.com'],
    ['the sigma at the end of a word', 'οδός@example.com', 'ΟΔΌΣ@example.com'],
    ['the dotted capital I and i', 'm\u0130ke@example.com', 'mike@example.com'],
    [
      'i with an accent and a dot above, and without the dot',
      'mi\u0307\u0301ke@example.com',
      'm\u00EDke@example.com',
    ],
    ['a zero-width space', 'a\u200Bda@example.com', 'ada@example.com'],
    ['a variation selector', 'ada\uFE0F@example.com', 'ada@example.com'],
    [
      'a character between a letter and its accent',
      'rene\u200D\u0301@example.com',
      'ren\u00E9@example.com',
    ],
    ['an ideographic full stop', 'ada@example\u3002com', 'ada@example.com'],
    ['a trailing dot (DNS root)', 'ada@example.com.', 'ada@example.com'],
    ['punycode and Unicode', 'ada@xn--bcher-kva.example', 'ada@b\u00FCcher.example'],
    ['punycode below a subdomain', 'ada@a.xn--bcher-kva.example', 'ada@a.b\u00FCcher.example'],
    ['punycode of a sharp s and ss', 'ada@xn--strae-oqa.de', 'ada@strasse.de'],
  ])('is the same for equivalent addresses: %s', (_, one, other) => {
    expect(emailKey(one)).toBe(emailKey(other));
  });

  it.each([
    ['a letter with and without an accent', 'ren\u00E9@example.com', 'rene@example.com'],
    ['letters of two scripts that look alike', '\u0430da@example.com', 'ada@example.com'],
    ['two invalid domains', 'ada@example..com', 'ada@example..org'],
    ['a domain and a path in it', 'ada@example.com/org', 'ada@example.com'],
    ['an invalid domain in two forms', 'ada@.xn--bcher-kva.example', 'ada@.b\u00FCcher.example'],
    ['a part after +', 'ada+work@example.com', 'ada@example.com'],
  ])('differs for different addresses: %s', (_, one, other) => {
    expect(emailKey(one)).not.toBe(emailKey(other));
  });

  it.each(['tr_TR', 'lt_LT'])('is the same under the locale %s', (locale) => {
    const addresses = [
      'TITLE\u0130i\u0131I@example.com',
      'I\u0300J\u0301@example.com',
      '\u00DF\uFB01\uFF21\u212A@b.c',
    ];
    const source = join(import.meta.dirname, '../../lib/mail/address.ts');
    const script = `import { emailKey } from ${JSON.stringify(source)};
      console.log(JSON.stringify([Intl.Collator().resolvedOptions().locale,
        ${JSON.stringify(addresses)}.map(emailKey)]));`;
    const env = {
      ...process.env,
      LC_ALL: `${locale}.UTF-8`,
      LANG: `${locale}.UTF-8`,
      LANGUAGE: '',
    };

    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      env,
      encoding: 'utf8',
    });

    const [actualLocale, keys] = JSON.parse(printed);
    expect(actualLocale.slice(0, 2)).toBe(locale.slice(0, 2));
    expect(keys).toEqual(addresses.map(emailKey));
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(emailKey(emailKey(text))).toBe(emailKey(text));
      }),
      { numRuns: 5000 },
    );
  });

  it('is the same in upper case, in lower case, in NFD and in NFKC', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const spellings = [
          text.toUpperCase(),
          text.toLowerCase(),
          text.normalize('NFD'),
          text.normalize('NFKC'),
        ];

        expect(spellings.map(emailKey)).toEqual(spellings.map(() => emailKey(text)));
      }),
      { numRuns: 5000 },
    );
  });
});
