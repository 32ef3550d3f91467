import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import * as Accounts from '../../lib/accounts/account-contracts.ts';
import { idFromText, idInPath } from '../../lib/contract/fields.ts';
import * as Integrations from '../../lib/integrations/integration-contracts.ts';
import * as Parameters from '../../lib/integrations/parameter-contracts.ts';
import * as Users from '../../lib/users/user-contracts.ts';
import { isLogin, loginInPath } from '../../lib/users/user-schema.ts';

/** The output of a schema, or the first message for each rejected field. */
function parse(schema: v.GenericSchema, value: unknown): unknown {
  const { success, output, issues } = v.safeParse(schema, value, { abortPipeEarly: true });
  if (success) return output;
  return `rejected: ${issues.map((issue) => `${v.getDotPath(issue)} ${codeOf(issue)}`).join(', ')}`;
}
/**
 * As in lib/http/request.ts, a missing or null value is NotNull unless it is the id of an update.
 */
const codeOf = ({ input, message }: v.BaseIssue<unknown>): string =>
  message !== 'no-id' && (input === undefined || input === null) ? 'NotNull' : message;

type Fields = Record<string, unknown>;
interface Body {
  readonly schema: v.GenericSchema;
  /** The smallest accepted body, and its parsed form. */
  readonly least: Fields;
  readonly parsed: Fields;
}

const USER = { login: 'ada', email: 'ada@b.c' };
const INTEGRATION = { name: 'n', shortName: 's', integrationType: 'API' };
const PARAMETER = { integration: { id: 7 }, confName: 'n', confValue: 'v' };

const BODIES: Record<string, Body> = {
  'a new user': {
    schema: Users.CreateUser.body,
    least: USER,
    parsed: { ...USER, id: undefined, activated: true, langKey: 'en', authorities: [] },
  },
  'a changed user': {
    schema: Users.UpdateUser.body,
    least: { id: 7, ...USER },
    parsed: { id: 7, ...USER },
  },
  'an own account': { schema: Accounts.UpdateAccount.body, least: {}, parsed: {} },
  'a new integration': {
    schema: Integrations.CreateIntegration.body,
    least: INTEGRATION,
    parsed: { ...INTEGRATION, id: undefined, active: true },
  },
  'a changed integration': {
    schema: Integrations.UpdateIntegration.body,
    least: { id: 7, ...INTEGRATION, active: false },
    parsed: { id: 7, ...INTEGRATION, active: false },
  },
  'a new parameter': {
    schema: Parameters.CreateParameter.body,
    least: PARAMETER,
    parsed: { ...PARAMETER, id: undefined },
  },
  'a changed parameter': {
    schema: Parameters.UpdateParameter.body,
    least: { id: 7, ...PARAMETER },
    parsed: { id: 7, ...PARAMETER },
  },
  'a login': {
    schema: Accounts.Authenticate.body,
    least: { username: 'x', password: '' },
    parsed: { username: 'x', password: '', rememberMe: false },
  },
  'a changed password': {
    schema: Accounts.ChangePassword.body,
    least: { currentPassword: '', newPassword: 'abcd' },
    parsed: { currentPassword: '', newPassword: 'abcd' },
  },
  'a reset request': {
    schema: Accounts.RequestReset.body,
    least: { email: 'a@b' },
    parsed: { email: 'a@b' },
  },
  'a reset password': {
    schema: Accounts.FinishReset.body,
    least: { key: 'k', newPassword: 'abcd' },
    parsed: { key: 'k', newPassword: 'abcd' },
  },
  'a restart report': {
    schema: Integrations.ReportRestart.body,
    least: { changes: 0 },
    parsed: { changes: 0 },
  },
};
const bodyOf = (name: string): Body => BODIES[name] as Body;
const rejection = (field: string, message: string) => `rejected: ${field} ${message}`;

describe.each(Object.entries(BODIES))('%s', (_, { schema, least, parsed }) => {
  it('requires only its mandatory fields and has defaults for the others', () => {
    expect(parse(schema, least)).toStrictEqual(parsed);
  });

  it.each(Object.keys(least))('requires %s, which must not be null', (field) => {
    const { [field]: _left, ...others } = least;
    const message = field === 'id' ? 'no-id' : 'NotNull';

    expect(parse(schema, others)).toBe(rejection(field, message));
    expect(parse(schema, { ...least, [field]: null })).toBe(rejection(field, message));
  });

  it('drops unknown fields', () => {
    const unknown = {
      version: 9,
      passwordHash: 'x',
      parameterCount: 1,
      pk: 'x',
      createdBy: 'x',
      module: {},
      revision: 2,
    };

    expect(parse(schema, { ...least, ...unknown })).toStrictEqual(parsed);
  });
});

/**
 * Text fields: the bodies that have them, their minimum and maximum length, and the message if they
 * are too short.
 */
const PERSONAL = ['a new user', 'a changed user', 'an own account'];
const TEXTS: [field: string, bodies: string[], least: number, most: number, tooShort: string][] = [
  ['login', ['a new user', 'a changed user'], 1, 50, 'NotBlank'],
  ['firstName', PERSONAL, 1, 50, ''],
  ['lastName', PERSONAL, 1, 50, ''],
  ['imageUrl', PERSONAL, 1, 256, ''],
  ['langKey', PERSONAL, 2, 10, 'Size'],
  ['name', ['a new integration', 'a changed integration'], 1, 255, 'NotBlank'],
  ['shortName', ['a new integration', 'a changed integration'], 1, 255, 'NotBlank'],
  ['description', ['a new integration', 'a changed integration'], 1, 1000, ''],
  ['confName', ['a new parameter', 'a changed parameter'], 1, 255, 'NotBlank'],
  ['confValue', ['a new parameter', 'a changed parameter'], 1, 16_384, 'NotBlank'],
  ['confDescription', ['a new parameter', 'a changed parameter'], 1, 1000, ''],
];

describe.each(
  TEXTS.flatMap(([field, bodies, ...limits]) =>
    bodies.map((body) => [field, body, ...limits] as const),
  ),
)('%s of %s', (field, name, least, most, tooShort) => {
  const { schema, least: fields } = bodyOf(name);
  const parseField = (value: unknown) => parse(schema, { ...fields, [field]: value });

  it(`has ${least} to ${most} characters`, () => {
    for (const length of [least, most]) {
      expect(parseField('x'.repeat(length))).toMatchObject({ [field]: 'x'.repeat(length) });
    }
    expect(parseField('x'.repeat(most + 1))).toBe(rejection(field, 'Size'));
    if (tooShort) expect(parseField('x'.repeat(least - 1))).toBe(rejection(field, tooShort));
  });

  it('is a well-formed string', () => {
    for (const value of [7, true, ['xx'], {}])
      expect(parseField(value)).toBe(rejection(field, 'TypeMismatch'));
    expect(parseField('xx\ud800')).toBe(rejection(field, 'Pattern'));
  });
});

it('lengths are counted in code points', () => {
  const { schema, least } = bodyOf('an own account');

  expect(parse(schema, { ...least, firstName: '😀'.repeat(50) })).toEqual({
    firstName: '😀'.repeat(50),
  });
  expect(parse(schema, { ...least, firstName: '😀'.repeat(51) })).toBe(
    rejection('firstName', 'Size'),
  );
});

describe('a single-line field', () => {
  it.each(['firstName', 'lastName', 'imageUrl', 'langKey'])(
    'must not contain control characters: %s',
    (field) => {
      for (const name of PERSONAL) {
        const { schema, least } = bodyOf(name);
        for (const character of [
          '\n',
          '\r',
          '\t',
          '\u0000',
          '\u001f',
          '\u007f',
          '\u0085',
          '\u009f',
        ]) {
          expect(parse(schema, { ...least, [field]: `en${character}` })).toBe(
            rejection(field, 'Pattern'),
          );
          expect(parse(schema, { ...least, [field]: `${character}en` })).toBe(
            rejection(field, 'Pattern'),
          );
        }
        expect(parse(schema, { ...least, [field]: ' é–\u00a0' })).toMatchObject({
          [field]: ' é–\u00a0',
        });
      }
    },
  );

  it.each(['firstName', 'lastName', 'imageUrl'])(
    'is cleared by null or an empty string: %s',
    (field) => {
      for (const name of PERSONAL) {
        const { schema, least, parsed } = bodyOf(name);

        expect(parse(schema, { ...least, [field]: '' })).toStrictEqual({
          ...parsed,
          [field]: undefined,
        });
        expect(parse(schema, { ...least, [field]: null })).toStrictEqual({
          ...parsed,
          [field]: undefined,
        });
      }
    },
  );
});

describe('a name', () => {
  it.each([
    ['a new integration', 'name'],
    ['a changed integration', 'shortName'],
    ['a new parameter', 'confName'],
    ['a changed parameter', 'confName'],
  ])('of %s must not be blank: %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    expect(parse(schema, { ...least, [field]: ' \t\n\u00a0' })).toBe(rejection(field, 'NotBlank'));
    expect(parse(schema, { ...least, [field]: ' x ' })).toMatchObject({ [field]: ' x ' });
  });
});

describe('a description', () => {
  it.each([
    ['a new integration', 'description'],
    ['a changed integration', 'description'],
    ['a new parameter', 'confDescription'],
    ['a changed parameter', 'confDescription'],
  ])('of %s is cleared by null or an empty string and may have several lines', (name, field) => {
    const { schema, least, parsed } = bodyOf(name);

    for (const empty of ['', null]) {
      expect(parse(schema, { ...least, [field]: empty })).toStrictEqual({
        ...parsed,
        [field]: undefined,
      });
    }
    expect(parse(schema, { ...least, [field]: ' \n' })).toMatchObject({ [field]: ' \n' });
  });
});

describe('the value of a parameter', () => {
  it.each(['a new parameter', 'a changed parameter'])('has at most 16,384 bytes: %s', (name) => {
    const { schema, least } = bodyOf(name);
    const fits = 'é'.repeat(8192);

    expect(parse(schema, { ...least, confValue: fits })).toMatchObject({ confValue: fits });
    expect(parse(schema, { ...least, confValue: `${fits}x` })).toBe(rejection('confValue', 'Size'));
    expect(parse(schema, { ...least, confValue: ' ' })).toMatchObject({ confValue: ' ' });
  });
});

describe('an email address', () => {
  const LONGEST = `${'e'.repeat(250)}@b.c`;

  it.each([...PERSONAL, 'a reset request'])('has 3 to 254 characters: %s', (name) => {
    const { schema, least } = bodyOf(name);

    for (const email of ['a@b', LONGEST])
      expect(parse(schema, { ...least, email })).toMatchObject({ email });
    expect(parse(schema, { ...least, email: 'a@' })).toBe(rejection('email', 'Size'));
    expect(parse(schema, { ...least, email: `e${LONGEST}` })).toBe(rejection('email', 'Size'));
  });

  it.each([...'<>()[]\\;:",@ \t\n\u0000\u0085\u00a0\u200b\u2028\u0600\u3164\uff20\uff0c'])(
    'must not contain %j on either side of the @',
    (character) => {
      const { schema } = bodyOf('an own account');

      for (const email of [
        `a${character}a@b.c`,
        `a@b${character}b.c`,
        `${character}a@b.c`,
        `a@b.c${character}`,
      ]) {
        expect(parse(schema, { email })).toBe(rejection('email', 'Email'));
      }
    },
  );

  it.each([..."/?#%!$&*+=^`{|}~'"])(
    'may contain %j before the @, but not after it',
    (character) => {
      const { schema } = bodyOf('an own account');
      const email = `a${character}a@b.c`;

      expect(parse(schema, { email })).toEqual({ email });
      for (const domain of [`b${character}c`, `${character}b`, `b.c${character}`]) {
        expect(parse(schema, { email: `a@${domain}` })).toBe(rejection('email', 'Email'));
      }
    },
  );

  it.each(['.', '.b', 'b..c', 'b.c..', 'b\u3002\u3002c'])(
    'must not have an empty label in its domain: %j',
    (domain) => {
      expect(parse(bodyOf('an own account').schema, { email: `aa@${domain}` })).toBe(
        rejection('email', 'Email'),
      );
    },
  );

  it.each([
    'b',
    'b.c',
    'b.c.',
    'b_1.c-d',
    'b\u3002c',
    'xn--bcher-kva.b',
    'b\u00fccher.c',
    'b\u00fccher.c2',
    '1.b\u00fccher.c',
    '192.0.2.1',
  ])('may have the domain %j', (domain) => {
    const email = `aa@${domain}`;

    expect(parse(bodyOf('an own account').schema, { email })).toEqual({ email });
  });

  it.each(['%62.c', '1.2', '256', '0x7f.1', '192.0.2.01', '\uff11.1.1.1'])(
    'must not have a domain that a URL parser reads as another one: %j',
    (domain) => {
      expect(parse(bodyOf('an own account').schema, { email: `aa@${domain}` })).toBe(
        rejection('email', 'Email'),
      );
    },
  );

  it('has at most 254 characters in Unicode normalization form KC too', () => {
    const { schema } = bodyOf('an own account');
    // Form KC expands each ligature to three letters.
    const fits = `${'\uFB03'.repeat(83)}a@b.c`;

    expect([fits, `${fits}d`].map((email) => email.normalize('NFKC').length)).toEqual([254, 255]);
    expect(parse(schema, { email: fits })).toEqual({ email: fits });
    // The address as sent is longer, because its accent is a combining character.
    expect(parse(schema, { email: `e\u0301${'a'.repeat(249)}@b.c` })).toBe(
      rejection('email', 'Size'),
    );
    expect(parse(schema, { email: `${fits}d` })).toBe(rejection('email', 'Size'));
    const ofSurrogatePairs = `${'\u{1F469}'.repeat(250)}@b.c`;
    expect(parse(schema, { email: ofSurrogatePairs })).toEqual({ email: ofSurrogatePairs });
    expect(parse(schema, { email: `\u{1F469}${ofSurrogatePairs}` })).toBe(
      rejection('email', 'Size'),
    );
  });
});

describe('a login', () => {
  const ALLOWED = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$&*+=^_`{|}~.@-';

  it('consists of the allowed characters only', () => {
    const characters = Array.from({ length: 0x250 }, (_, code) => String.fromCharCode(code));

    expect(characters.filter((character) => isLogin(`a${character}`)).toSorted()).toEqual(
      [...ALLOWED].toSorted(),
    );
    expect(characters.filter((character) => isLogin(`${character}a`)).toSorted()).toEqual(
      [...ALLOWED].toSorted(),
    );
  });

  it('is neither empty nor too long, nor a segment that a route or a URL needs', () => {
    expect(['.', '..', 'authorities', '', 'x'.repeat(51)].filter(isLogin)).toEqual([]);
    expect(
      ['...', 'Authorities', 'authorities2', 'a.', 'x'.repeat(50)].filter(
        (login) => !isLogin(login),
      ),
    ).toEqual([]);
  });

  it.each(['a b', 'authorities', '..', ''])(
    'in a path is rejected when it is malformed: %j',
    (login) => {
      expect(parse(loginInPath, { login })).toMatch(/^rejected: login/);
      expect(parse(loginInPath, { login: 'ada' })).toEqual({ login: 'ada' });
    },
  );

  it.each(['a new user', 'a changed user'])('is rejected when it is malformed: %s', (name) => {
    const { schema, least } = bodyOf(name);

    for (const login of ['.', 'a b', 'authorities']) {
      expect(parse(schema, { ...least, login })).toBe(rejection('login', 'Pattern'));
    }
  });
});

describe('an id', () => {
  const LARGEST = 9_007_199_254_740_991;
  const NO_IDS = [
    '01',
    '0',
    '-1',
    '1.5',
    '1e3',
    '+1',
    ' 1',
    '1 ',
    'x',
    '9007199254740992',
    '12345678901234567',
  ];

  it.each(['a changed user', 'a changed integration', 'a changed parameter'])(
    'of %s is a number or a numeric string',
    (name) => {
      const { schema, least } = bodyOf(name);
      const parseField = (id: unknown) => parse(schema, { ...least, id });

      for (const id of [1, '1', LARGEST, String(LARGEST)])
        expect(parseField(id)).toMatchObject({ id: Number(id) });
      for (const id of [undefined, null, '']) expect(parseField(id)).toBe(rejection('id', 'no-id'));
      for (const id of [...NO_IDS, 0, -1, 1.5, LARGEST + 1, true, {}, [1]]) {
        expect(parseField(id)).toBe(rejection('id', 'TypeMismatch'));
      }
    },
  );

  it.each(['a new user', 'a new integration', 'a new parameter'])('of %s is rejected', (name) => {
    const { schema, least, parsed } = bodyOf(name);

    for (const id of [undefined, null, ''])
      expect(parse(schema, { ...least, id })).toStrictEqual(parsed);
    for (const id of [1, '1'])
      expect(parse(schema, { ...least, id })).toBe(rejection('id', 'id-not-wanted'));
    for (const id of [0, 'x'])
      expect(parse(schema, { ...least, id })).toBe(rejection('id', 'TypeMismatch'));
  });

  it.each(['a new parameter', 'a changed parameter'])(
    'of the integration of %s is required',
    (name) => {
      const { schema, least } = bodyOf(name);
      const parseField = (integration: unknown) => parse(schema, { ...least, integration });

      for (const id of [8, '8'])
        expect(parseField({ id, name: 'x' })).toMatchObject({ integration: { id: 8 } });
      for (const none of [{}, { id: null }, { id: '' }])
        expect(parseField(none)).toBe(rejection('integration.id', 'NotNull'));
      expect(parseField({ id: '08' })).toBe(rejection('integration.id', 'TypeMismatch'));
      for (const value of [8, 'x'])
        expect(parseField(value)).toBe(rejection('integration', 'TypeMismatch'));
    },
  );

  it('in a path is rejected when it is malformed', () => {
    for (const id of NO_IDS) {
      expect(parse(idInPath, { id })).toMatch(/^rejected: id/);
      expect(idFromText(id)).toBeUndefined();
    }
    for (const id of [1, 10, LARGEST]) expect(parse(idInPath, { id: String(id) })).toEqual({ id });
  });
});

describe('a flag', () => {
  it.each([
    ['a new user', 'activated', true],
    ['a changed user', 'activated', undefined],
    ['a new integration', 'active', true],
    ['a changed integration', 'active', undefined],
    ['a login', 'rememberMe', false],
  ])('of %s is a boolean: %s', (name, field, byDefault) => {
    const { schema, least } = bodyOf(name);
    const parseField = (value: unknown) => parse(schema, { ...least, [field]: value });

    for (const value of [true, false]) expect(parseField(value)).toMatchObject({ [field]: value });
    for (const value of ['true', 1, {}])
      expect(parseField(value)).toBe(rejection(field, 'TypeMismatch'));
    if (byDefault === undefined) expect(parseField(null)).toBe(rejection(field, 'NotNull'));
    else expect(parseField(null)).toMatchObject({ [field]: byDefault });
  });
});

describe('a body', () => {
  const ROLES = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'];
  const TYPES = ['COLLECTOR', 'FORWARDER', 'SCANNER', 'CLOUD', 'WEBHOOK', 'API'];

  it.each(['a new user', 'a changed user'])(
    'of %s keeps each role once, in the order sent',
    (name) => {
      const { schema, least } = bodyOf(name);
      const parseField = (authorities: unknown) => parse(schema, { ...least, authorities });

      expect(parseField([...ROLES, ...ROLES])).toMatchObject({ authorities: ROLES });
      expect(parseField(['ROLE_ANALYST', 'ROLE_ADMIN'])).toMatchObject({
        authorities: ['ROLE_ANALYST', 'ROLE_ADMIN'],
      });
      expect(parseField([])).toMatchObject({ authorities: [] });
      expect(parseField(['ROLE_USER', 'ROLE_ROOT'])).toBe(rejection('authorities.1', 'Pattern'));
      expect(parseField('ROLE_USER')).toBe(rejection('authorities', 'TypeMismatch'));
    },
  );

  it('of a new user has defaults for null authorities and langKey', () => {
    const { schema, least } = bodyOf('a new user');

    expect(parse(schema, { ...least, authorities: null, langKey: null })).toMatchObject({
      authorities: [],
      langKey: 'en',
    });
  });

  it.each([
    ['a changed user', 'authorities'],
    ['a changed user', 'langKey'],
    ['an own account', 'langKey'],
    ['an own account', 'email'],
  ])('of %s cannot clear %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    expect(parse(schema, { ...least, [field]: null })).toBe(rejection(field, 'NotNull'));
  });

  it.each(['a new integration', 'a changed integration'])(
    'of %s accepts six integration types',
    (name) => {
      const { schema, least } = bodyOf(name);
      const parseField = (integrationType: unknown) => parse(schema, { ...least, integrationType });

      for (const integrationType of TYPES)
        expect(parseField(integrationType)).toMatchObject({ integrationType });
      for (const other of ['api', 'OTHER', ''])
        expect(parseField(other)).toBe(rejection('integrationType', 'Pattern'));
    },
  );
});

describe('a password', () => {
  const NEW: [string, string][] = [
    ['a new user', 'password'],
    ['a changed password', 'newPassword'],
    ['a reset password', 'newPassword'],
  ];

  it.each(NEW)('of %s has 4 to 100 code points after normalization', (name, field) => {
    const { schema, least } = bodyOf(name);
    const parseField = (value: unknown) => parse(schema, { ...least, [field]: value });

    for (const value of ['abcd', '😀😀😀😀', 'x'.repeat(100), '😀'.repeat(100), ' '.repeat(4)]) {
      expect(parseField(value)).toMatchObject({ [field]: value });
    }
    expect(parseField('e\u0301'.repeat(100))).toMatchObject({ [field]: '\u00e9'.repeat(100) });
    for (const value of ['abc', '😀😀😀', 'x'.repeat(101), '😀'.repeat(101), 'e\u0301'.repeat(3)]) {
      expect(parseField(value)).toBe(rejection(field, 'Size'));
    }
    expect(parseField('abcd\ud83d')).toBe(rejection(field, 'Pattern'));
    expect(parseField(12_345)).toBe(rejection(field, 'TypeMismatch'));
  });

  it('of a new user is absent when it is empty or null', () => {
    const { schema, least, parsed } = bodyOf('a new user');

    for (const password of ['', null, undefined]) {
      expect(parse(schema, { ...least, password })).toEqual({ ...parsed, password: undefined });
    }
  });

  it('of a changed user can only be empty, because the request sets none', () => {
    const { schema, least, parsed } = bodyOf('a changed user');

    for (const password of ['', null])
      expect(parse(schema, { ...least, password })).toMatchObject(parsed);
    expect(parse(schema, { ...least, password: 'x' })).toBe(rejection('password', 'Size'));
    expect(parse(schema, { ...least, password: 7 })).toBe(rejection('password', 'TypeMismatch'));
  });

  it.each([
    ['a login', 'password'],
    ['a changed password', 'currentPassword'],
  ])('that is verified may be any string: %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    for (const text of ['', 'x', 'x'.repeat(200), '\ud800']) {
      expect(parse(schema, { ...least, [field]: text })).toMatchObject({ [field]: text });
    }
    expect(parse(schema, { ...least, [field]: 7 })).toBe(rejection(field, 'TypeMismatch'));
  });

  it.each([
    ['a login', 'username'],
    ['a reset password', 'key'],
  ])('is accompanied by a non-empty string: %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    expect(parse(schema, { ...least, [field]: '' })).toBe(rejection(field, 'NotBlank'));
    expect(parse(schema, { ...least, [field]: 7 })).toBe(rejection(field, 'TypeMismatch'));
  });
});

describe('a restart report', () => {
  const { schema } = bodyOf('a restart report');
  const LARGEST = Number.MAX_SAFE_INTEGER;

  it('has a count of changes and accepts the whole module object', () => {
    expect(parse(schema, { needsRestart: true, changes: LARGEST })).toEqual({ changes: LARGEST });
    expect(parse(schema, { changes: -1 })).toBe(rejection('changes', 'Size'));
    for (const changes of [1.5, LARGEST + 1, '1', true]) {
      expect(parse(schema, { changes })).toBe(rejection('changes', 'TypeMismatch'));
    }
  });
});
