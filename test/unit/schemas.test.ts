import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import * as Accounts from '../../lib/accounts/account-contracts.ts';
import { idFromText, idInPath, instant, instantOf } from '../../lib/contract/fields.ts';
import * as Integrations from '../../lib/integrations/integration-contracts.ts';
import * as Parameters from '../../lib/integrations/parameter-contracts.ts';
import * as Users from '../../lib/users/user-contracts.ts';
import { isLogin, loginInPath } from '../../lib/users/user-schema.ts';

/** The output of a schema, or the first message at each path. */
function parse(schema: v.GenericSchema, value: unknown): unknown {
  const { success, output, issues } = v.safeParse(schema, value, { abortPipeEarly: true });
  if (success) return output;
  const messages = issues.map((issue) => [v.getDotPath(issue), codeOf(issue)].join(' ').trim());
  return `rejected: ${messages.join(', ')}`;
}
/**
 * As in lib/http/request.ts, a missing or null value is NotNull unless it is the id of an update.
 */
const codeOf = ({ input, message }: v.BaseIssue<unknown>): string =>
  message !== 'no-id' && (input === undefined || input === null) ? 'NotNull' : message;

const NEW_USER = Users.CreateUser.body.entries;
const OWN_ACCOUNT = Accounts.UpdateAccount.body.entries;
const PARAMETER = Parameters.UpdateParameter.body.entries;

const INTEGRATION = { name: 'n', shortName: 's', integrationType: 'API' };
const VALUE = { integration: { id: 4 }, confName: 'n', confValue: 'v' };

const x = (length: number): string => 'x'.repeat(length);

/** A value of a field, and the output if it is another one. */
type Accepted = readonly [value: unknown, output: unknown];
const as = (output: unknown, ...values: unknown[]): Accepted[] =>
  values.map((value) => [value, output]);
const asSent = (...values: unknown[]): Accepted[] => values.map((value) => [value, value]);

/** The rejected values by message, which may begin with the path of a part. */
type Rejected = Readonly<Record<string, readonly unknown[]>>;

const NO_TEXT = [7, true, ['xx'], {}];
const ONE_LINE = [...'\n\r\t\0\u001f\u007f\u0085\u009f'].flatMap((char) => [
  `en${char}`,
  `${char}en`,
]);
const LARGEST = Number.MAX_SAFE_INTEGER;
const NO_IDS = ['01', '0', '-1', '1.5', '1e3', '+1', ' 1', '1 ', 'x', '9007199254740992'];
const ROLES = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'];

const LONGEST_EMAIL = `${'e'.repeat(250)}@b.c`;
/** Unicode normalization form KC expands each ligature to three letters. */
const LIGATURES = `${'\uFB03'.repeat(83)}a@b.c`;
const PAIRS = `${'\u{1F469}'.repeat(250)}@b.c`;
const NOWHERE = [
  ...'<>()[]\\;:",@ \t\n\0\u0085\u00a0\u00a8\u00ad\u200b\u202e\u2028\u0600\u3164\ufeff\uff20\uff0c',
  '\u{E0041}',
];
const ONLY_BEFORE_AT = [..."/?#%!$&*+=^`{|}~'"];
const DOMAINS = [
  ...['b', 'b.c', 'b.c.', 'b_1.c-d', 'b\u3002c', 'xn--bcher-kva.b', 'b\u00fccher.c'],
  ...['b\u00fccher.c2', '1.b\u00fccher.c', '192.0.2.1'],
];
const EMPTY_LABELS = ['.', '.b', 'b..c', 'b.c..', 'b\u3002\u3002c'];
/** A URL parser would read these as other domains. */
const MISREAD = ['%62.c', '1.2', '256', '0x7f.1', '192.0.2.01', '\uff11.1.1.1'];

const PASSWORDS = [x(4), x(100), '😀'.repeat(4), '😀'.repeat(100), ' '.repeat(4)];

/* One field of each kind; the limits of every field are in openapi.json. */
it.each<[string, v.GenericSchema, Accepted[], Rejected]>([
  [
    'login',
    NEW_USER.login,
    asSent('x', x(50)),
    {
      NotBlank: [''],
      Size: [x(51)],
      TypeMismatch: NO_TEXT,
      Pattern: ['xx\ud800', '.', 'a b', 'authorities'],
    },
  ],
  [
    'firstName',
    OWN_ACCOUNT.firstName,
    [...asSent('x', x(50), '😀'.repeat(50), ' é–\u00a0'), ...as(undefined, '', null)],
    {
      Size: [x(51), '😀'.repeat(51)],
      TypeMismatch: NO_TEXT,
      Pattern: ['xx\ud800', ...ONE_LINE],
    },
  ],
  ['langKey of a new user', NEW_USER.langKey, as('en', null, ''), {}],
  [
    'langKey',
    OWN_ACCOUNT.langKey,
    asSent('xx', x(10), ' é–\u00a0'),
    {
      NotNull: [null],
      Size: ['', 'x', x(11)],
      TypeMismatch: NO_TEXT,
      Pattern: ['xx\ud800', ...ONE_LINE],
    },
  ],
  [
    'email',
    OWN_ACCOUNT.email,
    asSent(
      ...['a@b', LONGEST_EMAIL, 'Ada.L@Example.COM', 'o\u0301@b.c', LIGATURES, PAIRS],
      ...DOMAINS.map((domain) => `aa@${domain}`),
      ...ONLY_BEFORE_AT.map((char) => `a${char}a@b.c`),
    ),
    {
      Size: [
        ...['', 'a@', `e${LONGEST_EMAIL}`, `e\u0301${'a'.repeat(249)}@b.c`],
        ...[`${LIGATURES}d`, `\u{1F469}${PAIRS}`],
      ],
      Email: [
        ...['aaa', '@b.c', 'aa@'],
        ...[...EMPTY_LABELS, ...MISREAD].map((domain) => `aa@${domain}`),
        ...NOWHERE.flatMap((char) => [`a${char}a@b.c`, `${char}a@b.c`]),
        ...[...NOWHERE, ...ONLY_BEFORE_AT].flatMap((char) => [
          ...[`a@b${char}b.c`, `a@${char}b`, `a@b.c${char}`],
        ]),
      ],
      NotNull: [null],
      TypeMismatch: NO_TEXT,
      Pattern: ['a\ud800@b.c'],
    },
  ],
  [
    'authorities',
    NEW_USER.authorities,
    [...asSent(['ROLE_ANALYST', 'ROLE_ADMIN'], []), ...as([...ROLES], [...ROLES, ...ROLES])],
    { '1 Pattern': [['ROLE_USER', 'ROLE_ROOT']], TypeMismatch: ['ROLE_USER'] },
  ],
  [
    'name',
    Integrations.UpdateIntegration.body.entries.name,
    asSent('x', x(255), ' x '),
    {
      Size: [x(256)],
      NotBlank: ['', ' \t\n\u00a0'],
      TypeMismatch: NO_TEXT,
      Pattern: ['xx\ud800'],
    },
  ],
  [
    'confValue',
    PARAMETER.confValue,
    asSent('x', ' ', x(16_384), 'é'.repeat(8192)),
    {
      NotBlank: [''],
      // In bytes.
      Size: [x(16_385), `${'é'.repeat(8192)}x`],
      TypeMismatch: NO_TEXT,
      Pattern: ['xx\ud800'],
    },
  ],
  [
    'integration',
    PARAMETER.integration,
    as({ id: 8 }, { id: 8, name: 'x' }, { id: '8' }),
    {
      'id NotNull': [{}, { id: null }, { id: '' }],
      'id TypeMismatch': [{ id: '08' }],
      TypeMismatch: [8, 'x'],
    },
  ],
  [
    'id',
    PARAMETER.id,
    [...as(1, 1, '1'), ...as(LARGEST, LARGEST, String(LARGEST))],
    {
      'no-id': [undefined, null, ''],
      TypeMismatch: [...NO_IDS, 0, -1, 1.5, LARGEST + 1, true, {}, [1]],
    },
  ],
  [
    'password',
    NEW_USER.password,
    [
      ...asSent(...PASSWORDS),
      ...as('\u00e9'.repeat(100), 'e\u0301'.repeat(100)),
      ...as(undefined, '', null, undefined),
    ],
    {
      Size: [x(3), x(101), '😀'.repeat(3), '😀'.repeat(101), 'e\u0301'.repeat(3)],
      Pattern: ['abcd\ud83d'],
      TypeMismatch: [12_345],
    },
  ],
])('the field %s has its limits', (_, schema, accepted, rejected) => {
  for (const [value, output] of accepted)
    expect(parse(schema, value), JSON.stringify(value)).toStrictEqual(output);
  for (const [message, values] of Object.entries(rejected))
    for (const value of values)
      expect(parse(schema, value), JSON.stringify(value)).toBe(`rejected: ${message}`);
});

it.each<[string, v.GenericSchema]>([
  ['activated of a new user', NEW_USER.activated],
  ['activated', Users.UpdateUser.body.entries.activated],
  ['active of a new integration', Integrations.CreateIntegration.body.entries.active],
  ['active', Integrations.UpdateIntegration.body.entries.active],
  ['password of an update', OWN_ACCOUNT.password],
  ['code', Accounts.Authenticate.body.entries.code],
  ['currentPassword', Accounts.ChangePassword.body.entries.currentPassword],
])('the field %s has a type', (_, schema) => {
  for (const value of [1, {}]) expect(parse(schema, value)).toBe('rejected: TypeMismatch');
});

it.each<[string, v.GenericSchema, object]>([
  ['new integration', Integrations.CreateIntegration.body, INTEGRATION],
  [
    'changed integration',
    Integrations.UpdateIntegration.body,
    { id: 4, active: true, ...INTEGRATION },
  ],
  ['new parameter', Parameters.CreateParameter.body, VALUE],
  ['changed parameter', Parameters.UpdateParameter.body, { id: 4_000_001, ...VALUE }],
])('the body of a %s is accepted without its unknown fields', (_, schema, body) => {
  const unknown = { version: 9, pk: 'x', managedBy: 'x', secretVersion: {}, parameterCount: 90 };

  expect(parse(schema, body)).toMatchObject(body);
  expect(parse(schema, { ...body, ...unknown })).toStrictEqual(parse(schema, body));
});

it('a login consists of the allowed characters only', () => {
  const ALLOWED = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$&*+=^_`{|}~.@-';
  const characters = Array.from({ length: 0x250 }, (_, code) => String.fromCharCode(code));

  for (const loginWith of [(char: string) => `a${char}`, (char: string) => `${char}a`])
    expect(characters.filter((char) => isLogin(loginWith(char))).toSorted()).toEqual(
      [...ALLOWED].toSorted(),
    );
});

it('a login is neither empty nor too long, nor a segment that a route or a URL needs', () => {
  const logins = ['.', '..', 'authorities', '', x(51), 'a b'];
  const others = ['...', 'Authorities', 'authorities2', 'a.', x(50)];

  expect([...logins, ...others].filter(isLogin)).toEqual(others);
  for (const login of logins) expect(parse(loginInPath, { login })).toMatch(/^rejected: login/);
  for (const login of others) expect(parse(loginInPath, { login })).toEqual({ login });
});

it('an id in a path is rejected when it is malformed', () => {
  for (const id of [...NO_IDS, '12345678901234567']) {
    expect(parse(idInPath, { id })).toMatch(/^rejected: id/);
    expect(idFromText(id)).toBeUndefined();
  }
  for (const id of [1, 10, LARGEST]) expect(parse(idInPath, { id: String(id) })).toEqual({ id });
});

const isWithZone = (text: string) => v.safeParse(instant, text).success;

describe('a date', () => {
  it.each([
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T13:45', '2026-11-20T13:45:00.000Z'],
    ['2026-11-20 13:45:10,5', '2026-11-20T13:45:10.500Z'],
    ['2024-02-29T13:45:10', '2024-02-29T13:45:10.000Z'],
  ])('is in UTC without a zone: %s', (text, expected) => {
    expect([instantOf(text), isWithZone(text)]).toEqual([expected, false]);
  });

  it('is understood with any fraction and offset of ISO 8601', () => {
    const fraction = fc.option(fc.tuple(fc.constantFrom('.', ','), fc.stringMatching(/^\d{1,9}$/)));
    const offset = fc.record({
      sign: fc.constantFrom('+', '-'),
      hours: fc.integer({ min: 0, max: 14 }),
      minutes: fc.option(fc.integer({ min: 0, max: 59 })),
      colon: fc.constantFrom(':', ''),
    });
    const second = fc.integer({ min: 0, max: 4_000_000_000 });
    fc.assert(
      fc.property(
        second,
        fraction,
        offset,
        fc.constantFrom('T', ' '),
        (seconds, part, { sign, hours, minutes, colon }, separator) => {
          const ms = Number((part?.[1] ?? '').padEnd(3, '0').slice(0, 3));
          const ahead = (hours * 60 + (minutes ?? 0)) * (sign === '+' ? 1 : -1);
          const local = new Date((seconds + ahead * 60) * 1000).toISOString().slice(0, 19);
          const two = (number: number) => String(number).padStart(2, '0');
          const zone = `${sign}${two(hours)}${minutes === null ? '' : colon + two(minutes)}`;
          const text = `${local.replace('T', separator)}${part?.join('') ?? ''}${zone}`;

          expect([text, instantOf(text), isWithZone(text)]).toEqual([
            ...[text, new Date(seconds * 1000 + ms).toISOString(), true],
          ]);
        },
      ),
    );
  });

  // test/unit/openapi.test.ts has others.
  it.each([
    ...['2026-04-31T00:00:00+02:00', '2026-11-20T13:45.5Z', '2026-11-20T13:45:00+1:00'],
    ...['0000-01-01T00:00:00+14:00', '9999-12-31T23:59:59-14:00', '2026-11-20Z', ''],
  ])('is none: %j', (text) => {
    expect([instantOf(text), isWithZone(text)]).toEqual([undefined, false]);
  });
});
