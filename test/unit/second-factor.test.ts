import { KMSClient } from '@aws-sdk/client-kms';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type FactorSecrets, openFactorSecrets } from '../../lib/second-factor/factor-secrets.ts';
import {
  confirmable,
  confirmedFactor,
  factorAfter,
  formatRecoveryCode,
  isRecoveryForm,
  newNonce,
  newPendingFactor,
  newRecoveryCodes,
  separateCode,
} from '../../lib/second-factor/second-factor.ts';
import {
  base32,
  codeOf,
  isEqual,
  otpauthUri,
  stepAt,
  stepOf,
} from '../../lib/second-factor/totp.ts';
import {
  lacksFactor,
  needsFactor,
  openFactorRequirement,
  type SecondFactor,
} from '../../lib/users/user-factor.ts';
import { scriptedClient } from '../support/doubles/scripted-client.ts';
import { cpuMsOf } from '../support/doubles/time.ts';

const NOW = Date.UTC(2030, 0, 1);
const STEP = NOW / 30_000;
const KEY = Buffer.from('12345678901234567890');

describe('a code', () => {
  // RFC 6238, appendix B, for SHA-1; its last six digits.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('of second %i is as in RFC 6238: %s', (second, code) => {
    expect(codeOf(KEY, stepAt(second * 1000))).toBe(code);
  });

  it('is accepted in its own step, the one before and the one after', () => {
    const found = [-2, -1, 0, 1, 2].map((steps) => stepOf(KEY, codeOf(KEY, STEP + steps), NOW));

    expect(found).toEqual([undefined, STEP - 1, STEP, STEP + 1, undefined]);
    expect(stepOf(KEY, codeOf(KEY, STEP), NOW + 29_999)).toBe(STEP);
  });
});

describe('a secret', () => {
  // RFC 4648, section 10, and a multiple of five bytes.
  it.each([
    ['fooba', 'MZXW6YTB'],
    ['12345678901234567890', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
  ])('is shown in base32: %s', (bytes, text) => {
    expect(base32(Buffer.from(bytes))).toBe(text);
  });

  it('is read by authenticators from a URI, whose names are encoded', () => {
    expect(otpauthUri('gatehouse-prod', 'a&b=c', 'GEZDGNBV')).toBe(
      'otpauth://totp/gatehouse-prod:a%26b%3Dc?secret=GEZDGNBV&issuer=gatehouse-prod&' +
        'algorithm=SHA1&digits=6&period=30',
    );
  });

  it('is compared whole', () => {
    expect([isEqual('ab', 'ab'), isEqual('ab', 'ac'), isEqual('ab', 'abc')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  async function derived(userId = 7, nonce = 'nonce', key = 'k1') {
    const Mac = Buffer.from('mac of KMS').toString('base64');
    const { settings, inputs } = scriptedClient({ Mac });
    const derive = openFactorSecrets('arn:aws:kms:…:key/k1', new KMSClient(settings));
    return { secrets: await derive(userId, { nonce, key }), inputs: inputs() };
  }

  it('is derived by KMS from the id of the user and the nonce', async () => {
    const { secrets, inputs } = await derived(7, 'n1');

    expect(inputs).toEqual([
      {
        KeyId: 'arn:aws:kms:…:key/k1',
        Message: Buffer.from('gatehouse: second factor of user 7: n1').toString('base64'),
        MacAlgorithm: 'HMAC_SHA_256',
      },
    ]);
    expect([secrets.key, secrets.totp.length]).toEqual(['k1', 20]);
  });

  it('stays the same forever: an authenticator and a printed code must still work', async () => {
    const { secrets } = await derived();

    expect(base32(secrets.totp)).toMatchInlineSnapshot(`"P3REFPNKENKUMXMLY5CBBUOCDMJRLR47"`);
    expect(secrets.recoveryCodes('r')).toMatchInlineSnapshot(`
      [
        "PU3UV2DY",
        "7EILFY5B",
        "TKDBH4NQ",
        "FDM5I3GQ",
        "QPOHIQMK",
        "OVPDK2NP",
        "B5KJKOHY",
        "K2UDIDZE",
        "N6BJBZPG",
        "SC2RRAZO",
      ]
    `);
  });

  it('is of one key: under another one, every code would seem wrong', async () => {
    await expect(derived(7, 'nonce', 'k2')).rejects.toThrow(
      'The second factor of user 7 is of another key: k2',
    );
  });
});

const CODES = Array.from({ length: 10 }, (_, index) => `CODE234${'ABCDEFGHIJ'[index]}`);
const SECRETS: FactorSecrets = {
  key: 'k',
  totp: KEY,
  recoveryCodes: (nonce) => (nonce === 'r' ? CODES : []),
};
const FACTOR: SecondFactor = {
  nonce: 'n',
  key: 'k',
  lastStep: STEP - 2,
  recoveryNonce: 'r',
  recoveryCodes: 0b11_1111_1111,
};
/** The digits of every decimal system that JavaScript knows. */
const DIGITS = Intl.supportedValuesOf('numberingSystem')
  .map((numberingSystem) => {
    const { format } = new Intl.NumberFormat('en', { numberingSystem });
    return Array.from({ length: 10 }, (_, digit) => format(digit));
  })
  .filter((digits) => digits.every((digit) => /^\p{Nd}$/u.test(digit)));
const afterUse = (code: string, factor: Partial<SecondFactor> = {}) =>
  factorAfter({ ...FACTOR, ...factor }, SECRETS, code, NOW);

describe('a second factor', () => {
  it('accepts no code of a step that was used, nor of an earlier one', () => {
    const code = codeOf(KEY, STEP);

    expect(afterUse(code)).toEqual({ ...FACTOR, lastStep: STEP });
    expect(afterUse(code, { lastStep: STEP - 1 })).toEqual({ ...FACTOR, lastStep: STEP });
    expect(afterUse(code, { lastStep: STEP })).toBeUndefined();
    expect(afterUse(code, { lastStep: STEP + 1 })).toBeUndefined();
  });

  it.each([...CODES.entries()])('accepts recovery code %i once', (index, code) => {
    const used = 0b11_1111_1111 - 2 ** index;

    expect(afterUse(code)).toEqual({ ...FACTOR, recoveryCodes: used });
    expect(afterUse(code, { recoveryCodes: used })).toBeUndefined();
    expect(afterUse(code, { recoveryCodes: 2 ** index })?.recoveryCodes).toBe(0);
    expect(afterUse(code, { recoveryNonce: 'another' })).toBeUndefined();
  });

  // Blanks, hyphens and dashes, marks without a width, directions, and what looks like a dash.
  const marks =
    '\t\n\u0085 \u00a0\u1680\u2003\u2028\u202f\u205f\u3000-\u00ad\u058a\u2010\u2011\u2012' +
    '\u2013\u2014\u2015\u2043\u207b\u2212\u2e3a\u301c\u30fc\ufe63\uff0d\uff70\0' +
    '\u2800\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066' +
    '\u2069\ufe0f\ufeff\u{e0020}';
  const mark = fc.constantFrom(...marks);
  const divided = (code: string, character: fc.Arbitrary<string>) =>
    fc
      .tuple(
        ...[...code].map((each) =>
          fc.tuple(fc.array(character, { maxLength: 3 }), fc.constant(each)),
        ),
      )
      .map((parts) => parts.flat(2).join(''));

  it('ignores blanks, hyphens, dashes and invisible characters anywhere in a code', () => {
    fc.assert(
      fc.property(divided(`${codeOf(KEY, STEP)} `, mark), (code) => {
        expect(afterUse(code)?.lastStep).toBe(STEP);
      }),
    );
    fc.assert(
      fc.property(divided('Code234A ', mark), (code) => {
        expect(afterUse(code)?.recoveryCodes).toBe(0b11_1111_1110);
      }),
    );
  });

  it('understands the digits of every script', () => {
    const code = codeOf(KEY, STEP);
    const written = DIGITS.map((digits) =>
      [...code].map((digit) => digits[Number(digit)]).join(''),
    );

    expect(written.length).toBeGreaterThan(70);
    expect(written.filter((each) => afterUse(each)?.lastStep !== STEP)).toEqual([]);
    expect(written.filter((each) => separateCode(`pass${each}`, null).code !== code)).toEqual([]);
  });

  it('reads letters of any width and case in a recovery code, and 0 and 1 as O and I', () => {
    expect(afterUse('ｃＯＤＥ－２３４a')?.recoveryCodes).toBe(0b11_1111_1110);
    expect(afterUse('c0de-2341')?.recoveryCodes).toBe(0b10_1111_1111);
    expect(afterUse('C\uff10DE٢٣٤\uff11')?.recoveryCodes).toBe(0b10_1111_1111);
    expect(formatRecoveryCode('CODE234A')).toBe('CODE-234A');
    const forms = ['CODE234A', 'c0de-2341', 'CODE234', 'CODE234AB', 'CODE2349'];
    expect(forms.map(isRecoveryForm)).toEqual([true, true, false, false, false]);
  });

  it.each(['', '0', '000000', 'CODE2349', 'CODE234', `${codeOf(KEY, STEP)}0`])(
    'does not accept %j',
    (code) => {
      expect(afterUse(code)).toBeUndefined();
    },
  );

  it('is confirmed by its first code, within a quarter of an hour and by the same session', () => {
    const pending = newPendingFactor('session', NOW);
    const at = (session: string, seconds: number) =>
      confirmable(pending, session, NOW + seconds * 1000) === pending;
    const confirm = (code: string) => confirmedFactor(pending, SECRETS, code, NOW);

    expect([at('session', 0), at('session', 899), at('session', 900), at('other', 0)]).toEqual([
      ...[true, true, false, false],
    ]);
    expect(confirmable(undefined, 'session', NOW)).toBeUndefined();
    const { nonce } = pending;
    expect(confirm(` ${codeOf(KEY, STEP)}-`)).toMatchObject({ nonce, key: 'k', lastStep: STEP });
    expect([confirm('000000'), confirm(CODES[0] as string)]).toEqual([undefined, undefined]);
  });

  it('has random nonces of 128 bits', () => {
    const { recoveryNonce, recoveryCodes } = newRecoveryCodes();

    expect(new Set([newNonce(), newNonce(), recoveryNonce]).size).toBe(3);
    expect(newNonce()).toMatch(/^[\w-]{22}$/);
    expect(recoveryCodes).toBe(0b11_1111_1111);
  });
});

it.each([
  ['pass123456', null, 'pass', '123456'],
  ['pass12345', null, 'pass12345', ''],
  ['12345678', null, '12', '345678'],
  ['123456', null, '', '123456'],
  ['pass\n123456', null, 'pass\n', '123456'],
  ['pass123-456', null, 'pass', '123456'],
  ['pass12 34 56 ', null, 'pass', '123456'],
  ['pass１２３\u200b４５６\ufeff', null, 'pass', '123456'],
  ['pass 123456', null, 'pass ', '123456'],
  ['pass-9123 456', null, 'pass-9', '123456'],
  ['passK7QD-3MZA', null, 'passK7QD-3MZA', ''],
  ['pass123456', '', 'pass123456', ''],
  ['pass123456', ' \u200b', 'pass123456', ''],
  ['pass', ' 123 456 ', 'pass', '123456'],
  ['pass', 'k7qd-3mza', 'pass', 'K7QD3MZA'],
])('the password %j and the code %j are %j and %j', (typed, field, password, code) => {
  expect(separateCode(typed, field)).toEqual({ password, code });
});

it('a long password is not searched for a code', async () => {
  const search = () => {
    for (let n = 0; n < 100; n++) separateCode(`${'1 '.repeat(30_000)}x`, null);
  };

  expect(await cpuMsOf(search)).toBeLessThan(200);
});

it('a text that is too long for a code is not normalized', async () => {
  const marks = '\u0301\u0316'.repeat(16_000);
  const read = () => {
    expect(afterUse(codeOf(KEY, STEP) + marks)).toBeUndefined();
    expect(separateCode('pass', ' '.repeat(200)).code).toBe('');
    expect(separateCode('pass', ' '.repeat(201)).code).not.toBe('');
  };

  expect(await cpuMsOf(read)).toBeLessThan(100);
});

describe('the requirement of a second factor', () => {
  const required = { roles: ['ROLE_ADMIN', 'ROLE_ANALYST'], from: '2030-01-01' } as const;
  const admin = { authorities: ['ROLE_USER', 'ROLE_ADMIN'] } as const;

  it('begins with its day in UTC', () => {
    expect([NOW - 1, NOW].map((now) => lacksFactor(admin, required, now))).toEqual([false, true]);
  });

  it.each<[string, Parameters<typeof lacksFactor>[0], boolean]>([
    ['a role', admin, true],
    ['another role', { authorities: ['ROLE_ANALYST'] }, true],
    ['no such role', { authorities: ['ROLE_USER'] }, false],
    ['a role and a factor', { ...admin, secondFactor: FACTOR }, false],
  ])('is about users with one of its roles and no factor: %s', (_, user, expected) => {
    expect(lacksFactor(user, required, NOW)).toBe(expected);
    expect(lacksFactor(user, undefined, NOW)).toBe(false);
  });

  it('is not about those without a session, who log out or who turn their factor on', () => {
    const excepted = ['public', 'issued-token', 'enrolling'] as const;
    const others = ['authenticated', { anyRole: ['ROLE_ADMIN'], rolesFrom: 'token' }] as const;

    expect([...excepted, ...others].map(needsFactor)).toEqual([false, false, false, true, true]);
  });

  it('comes from the settings of the stack, if it has one', () => {
    expect(openFactorRequirement()).toBeUndefined();
    vi.stubEnv('FACTOR_REQUIRED_FOR', 'ROLE_ADMIN,ROLE_ANALYST');
    vi.stubEnv('FACTOR_REQUIRED_FROM', '2030-01-01');

    expect(openFactorRequirement()).toEqual(required);
  });
});
