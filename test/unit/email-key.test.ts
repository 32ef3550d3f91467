import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { emailKey, formerEmailKey } from '../../lib/users/email-key.ts';
import { email } from '../../lib/users/user-schema.ts';

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
      [char.toUpperCase(), char.normalize('NFKC')].some((other) => other !== char),
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
    ['the long s and s', 'jame\u017F@example.com', 'james@example.com'],
    ['the dotless i and i', 'm\u0131ke@example.com', 'mike@example.com'],
    ['the dotless i and I', 'm\u0131ke@example.com', 'MIKE@EXAMPLE.COM'],
    ['the dotted I and i with a dot above', 'm\u0130ke@example.com', 'mi\u0307ke@example.com'],
    ['sharp s and SS', 'stra\u00DFe@example.com', 'STRASSE@example.com'],
    ['the capital sharp s and ss', 'STRA\u1E9EE@example.com', 'strasse@example.com'],
    ['a ligature and its letters', '\uFB01nn@example.com', 'Finn@example.com'],
    ['full-width letters and ASCII', '\uFF41\uFF44\uFF41@example.com', 'ada@example.com'],
    ['an accent apart from its letter', 'rene\u0301@example.com', 'REN\u00C9@example.com'],
    ['the sigma at the end of a word', 'οδός@example.com', 'ΟΔΌΣ@example.com'],
    [
      'a letter with two accents and its capitals',
      '\u0390@example.com',
      '\u0399\u0308\u0301@example.com',
    ],
    ['the dotted capital I and i', 'm\u0130ke@example.com', 'mike@example.com'],
    [
      'i with an accent and a dot above, and without the dot',
      'mi\u0307\u0301ke@example.com',
      'm\u00EDke@example.com',
    ],
    ['a zero-width space', 'a\u200Bda@example.com', 'ada@example.com'],
    ['a zero-width joiner in the domain', 'ada@exam\u200Dple.com', 'ada@example.com'],
    ['a byte order mark', '\uFEFFada@example.com', 'ada@example.com'],
    ['a soft hyphen', 'a\u00ADda@exam\u00ADple.com', 'ada@example.com'],
    ['a variation selector', 'ada\uFE0F@example.com', 'ada@example.com'],
    ['a mark of the writing direction', 'ada\u202E@example.com', 'ada@example.com'],
    [
      'a character between a letter and its accent',
      'rene\u200D\u0301@example.com',
      'ren\u00E9@example.com',
    ],
    ['an ideographic full stop', 'ada@example\u3002com', 'ada@example.com'],
    ['a half-width ideographic full stop', 'ada@example\uFF61com', 'ada@example.com'],
    ['a full-width full stop', 'ada@example\uFF0Ecom', 'ada@example.com'],
    ['a trailing dot (DNS root)', 'ada@example.com.', 'ada@example.com'],
    ['punycode and Unicode', 'ada@xn--bcher-kva.example', 'ada@b\u00FCcher.example'],
    ['punycode in capitals', 'ada@XN--BCHER-KVA.example', 'ada@B\u00DCcher.example'],
    ['punycode of a sharp s and ss', 'ada@xn--strae-oqa.de', 'ada@strasse.de'],
    ['punycode of an emoji', 'ada@xn--53h.us', 'ada@\u2615.us'],
    ['a full-width dot and a dot', 'a\uFF0Eb@example.com', 'a.b@example.com'],
  ])('is the same for equivalent addresses: %s', (_, one, other) => {
    expect(emailKey(one)).toBe(emailKey(other));
  });

  it.each([
    ['a letter with and without an accent', 'ren\u00E9@example.com', 'rene@example.com'],
    ['letters of two scripts that look alike', '\u0430da@example.com', 'ada@example.com'],
    ['a part after +', 'ada+work@example.com', 'ada@example.com'],
    ['dots', 'a.da@example.com', 'ada@example.com'],
  ])('differs for different addresses: %s', (_, one, other) => {
    expect(emailKey(one)).not.toBe(emailKey(other));
  });

  it.each(['tr_TR', 'az_AZ', 'lt_LT', 'de_DE', 'C'])(
    'is the same under the locale %s',
    (locale) => {
      const addresses = [
        'TITLE\u0130i\u0131I@example.com',
        'I\u0300J\u0301@example.com',
        '\u00DF\uFB01\uFF21\u212A@b.c',
      ];
      const source = join(import.meta.dirname, '../../lib/users/email-key.ts');
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
      expect(actualLocale.slice(0, 2)).toBe(locale === 'C' ? 'en' : locale.slice(0, 2));
      expect(keys).toEqual(addresses.map(emailKey));
    },
  );

  it('equals the former key for ASCII domains, except invisible ones and a dotted I', () => {
    const local = fc.string({
      unit: fc.constantFrom(...foldable, ...'abcXYZ019.+-'),
      minLength: 1,
      maxLength: 8,
    });
    const label = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9]{0,5}$/);
    fc.assert(
      fc.property(local, label, label, (name, sub, domain) => {
        const former = formerEmailKey(`${name}@${sub}.${domain}`);
        fc.pre(
          !/i\u0307|[\p{Cf}\p{Default_Ignorable_Code_Point}@]/u.test(
            former.slice(0, former.lastIndexOf('@')),
          ),
        );
        expect(emailKey(`${name}@${sub}.${domain}`)).toBe(former);
      }),
      { numRuns: 5000 },
    );
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

describe('the e-mail address schema', () => {
  it.each([
    ['the shortest address', 'a@b'],
    ['the longest address', `${'a'.repeat(250)}@b.c`],
    ['a part after +', 'ada+work@example.com'],
    ['permitted punctuation', `o'neil!#$%&*/=?^_\`{|}~-@example.com`],
    ['letters of other scripts', 'δοκιμή@παράδειγμα.gr'],
    ['an accent apart from its letter', 'rene\u0301@example.com'],
    ['an emoji', '😀@example.com'],
    ['a domain in punycode', 'ada@xn--bcher-kva.example'],
    ['a domain with an ideographic full stop', 'ada@example\u3002com'],
    ['a domain of one label', 'ada@localhost'],
    ['a domain with an underscore', 'ada@mail_1.example'],
    ['capitals, which are kept', 'Ada.Lovelace@Example.COM'],
  ])('accepts %s', (_, address) => {
    const { success, output } = v.safeParse(email, address);

    expect({ success, output }).toEqual({ success: true, output: address });
  });

  it.each([
    ['an empty string', '', 'Size'],
    ['two characters', 'a@', 'Size'],
    ['255 characters', `${'a'.repeat(251)}@b.c`, 'Size'],
    ['255 characters that normalize to fewer', `e\u0301${'a'.repeat(249)}@b.c`, 'Size'],
    ['ligatures that expand to 255 characters', `${'\uFB03'.repeat(83)}aa@b.c`, 'Size'],
    ['a missing @', 'ada.example.com', 'Email'],
    ['two @ signs', 'ada@b@example.com', 'Email'],
    ['nothing before the @', '@example.com', 'Email'],
    ['nothing after the @', 'ada@', 'Email'],
    ['a space', 'a da@example.com', 'Email'],
    ['a space at the end', 'ada@example.com ', 'Email'],
    ['a line break at the end', 'ada@example.com\n', 'Email'],
    ['a no-break space', 'a\u00A0da@example.com', 'Email'],
    ['a header injection', 'ada@example.com\r\nBcc:x@y.z', 'Email'],
    ['a NUL', 'a\u0000da@example.com', 'Email'],
    ['a Latin-1 control character', 'a\u0085da@example.com', 'Email'],
    ['a zero-width space', 'a\u200Bda@example.com', 'Email'],
    ['a zero-width joiner', 'a\u200Dda@example.com', 'Email'],
    ['a soft hyphen in the domain', 'ada@exam\u00ADple.com', 'Email'],
    ['a byte order mark at the start', '\uFEFFada@example.com', 'Email'],
    ['a mark of the writing direction', 'ada\u202E@example.com', 'Email'],
    ['a Hangul filler', 'ada\u3164@example.com', 'Email'],
    ['a tag character', 'ada\u{E0041}@example.com', 'Email'],
    ['an empty label', 'ada@example..com', 'Email'],
    ['a domain with a slash', 'ada@example.com/eve', 'Email'],
    ['a domain with a percent sign', 'ada@exam%ple.com', 'Email'],
    ['a comma', 'ada@example.com,eve', 'Email'],
    ['a full-width @ as the only one', 'ada\uFF20example.com', 'Email'],
    ['a full-width @ as the second one', 'ada@example.com\uFF20eve.org', 'Email'],
    ['a full-width comma', 'ada@example.com\uFF0Ceve', 'Email'],
    ['a character that normalizes to a space', 'ada\u00A8@example.com', 'Email'],
    ['a lone surrogate', 'a\uD800da@example.com', 'Pattern'],
    ['a number', 7, 'TypeMismatch'],
  ])('rejects %s', (_, address, reason) => {
    const { success, issues } = v.safeParse(email, address, { abortPipeEarly: true });

    expect(success).toBe(false);
    expect(issues?.[0]?.message).toBe(reason);
  });
});
