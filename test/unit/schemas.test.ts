import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import * as Accounts from '../../lib/accounts/account-contracts.ts';
import { idFromText, idInPath } from '../../lib/contract/fields.ts';
import * as Integrations from '../../lib/integrations/integration-contracts.ts';
import * as Parameters from '../../lib/integrations/parameter-contracts.ts';
import * as Users from '../../lib/users/user-contracts.ts';
import { isLogin, loginInPath } from '../../lib/users/user-schema.ts';

/** What a schema makes of a value; where it refuses it, the first message for each field. */
function parse(schema: v.GenericSchema, value: unknown): unknown {
  const { success, output, issues } = v.safeParse(schema, value, { abortPipeEarly: true });
  if (success) return output;
  return `refused: ${issues.map((issue) => `${v.getDotPath(issue)} ${codeOf(issue)}`).join(', ')}`;
}
/** As lib/http/request.ts tells it: what is missing or null is NotNull, unless it is the id of an update. */
const codeOf = ({ input, message }: v.BaseIssue<unknown>): string =>
  message !== 'no-id' && (input === undefined || input === null) ? 'NotNull' : message;

type Fields = Record<string, unknown>;
interface Body {
  readonly schema: v.GenericSchema;
  /** The least that is accepted, and what becomes of it. */
  readonly least: Fields;
  readonly becomes: Fields;
}

const USER = { login: 'ada', email: 'ada@b.c' };
const INTEGRATION = { name: 'n', shortName: 's', integrationType: 'API' };
const PARAMETER = { integration: { id: 7 }, confName: 'n', confValue: 'v' };

const BODIES: Record<string, Body> = {
  'a new user': {
    schema: Users.CreateUser.body,
    least: USER,
    becomes: { ...USER, id: undefined, activated: true, langKey: 'en', authorities: [] },
  },
  'a changed user': { schema: Users.UpdateUser.body, least: { id: 7, ...USER }, becomes: { id: 7, ...USER } },
  'an own account': { schema: Accounts.UpdateAccount.body, least: {}, becomes: {} },
  'a new integration': {
    schema: Integrations.CreateIntegration.body,
    least: INTEGRATION,
    becomes: { ...INTEGRATION, id: undefined, active: true },
  },
  'a changed integration': {
    schema: Integrations.UpdateIntegration.body,
    least: { id: 7, ...INTEGRATION, active: false },
    becomes: { id: 7, ...INTEGRATION, active: false },
  },
  'a new parameter': {
    schema: Parameters.CreateParameter.body,
    least: PARAMETER,
    becomes: { ...PARAMETER, id: undefined },
  },
  'a changed parameter': {
    schema: Parameters.UpdateParameter.body,
    least: { id: 7, ...PARAMETER },
    becomes: { id: 7, ...PARAMETER },
  },
  'a login': {
    schema: Accounts.Authenticate.body,
    least: { username: 'x', password: '' },
    becomes: { username: 'x', password: '', rememberMe: false },
  },
  'a changed password': {
    schema: Accounts.ChangePassword.body,
    least: { currentPassword: '', newPassword: 'abcd' },
    becomes: { currentPassword: '', newPassword: 'abcd' },
  },
  'a request for a key': { schema: Accounts.RequestReset.body, least: { email: 'a@b' }, becomes: { email: 'a@b' } },
  'a reset password': {
    schema: Accounts.FinishReset.body,
    least: { key: 'k', newPassword: 'abcd' },
    becomes: { key: 'k', newPassword: 'abcd' },
  },
  'a report of a restart': { schema: Integrations.ReportRestart.body, least: { changes: 0 }, becomes: { changes: 0 } },
};
const bodyOf = (name: string): Body => BODIES[name] as Body;
const refusal = (field: string, message: string) => `refused: ${field} ${message}`;

describe.each(Object.entries(BODIES))('%s', (_, { schema, least, becomes }) => {
  it('needs its required fields alone, and has its defaults', () => {
    expect(parse(schema, least)).toStrictEqual(becomes);
  });

  it.each(Object.keys(least))('needs %s, which null is not', (field) => {
    const { [field]: _left, ...others } = least;
    const message = field === 'id' ? 'no-id' : 'NotNull';

    expect(parse(schema, others)).toBe(refusal(field, message));
    expect(parse(schema, { ...least, [field]: null })).toBe(refusal(field, message));
  });

  it('takes nothing that it does not name', () => {
    const unknown = {
      version: 9,
      passwordHash: 'x',
      parameterCount: 1,
      pk: 'x',
      createdBy: 'x',
      module: {},
      revision: 2,
    };

    expect(parse(schema, { ...least, ...unknown })).toStrictEqual(becomes);
  });
});

/** Text fields: the bodies that have them, the least and the most characters, and what one fewer is. */
const PERSONAL = ['a new user', 'a changed user', 'an own account'];
const TEXTS: [field: string, bodies: string[], least: number, most: number, tooShort: string][] = [
  ['login', ['a new user', 'a changed user'], 1, 50, 'NotBlank'],
  ['firstName', PERSONAL, 0, 50, ''],
  ['lastName', PERSONAL, 0, 50, ''],
  ['imageUrl', PERSONAL, 0, 256, ''],
  ['langKey', PERSONAL, 2, 10, 'Size'],
  ['name', ['a new integration', 'a changed integration'], 1, 255, 'NotBlank'],
  ['shortName', ['a new integration', 'a changed integration'], 1, 255, 'NotBlank'],
  ['description', ['a new integration', 'a changed integration'], 1, 1000, ''],
  ['confName', ['a new parameter', 'a changed parameter'], 1, 255, 'NotBlank'],
  ['confValue', ['a new parameter', 'a changed parameter'], 1, 16_384, 'NotBlank'],
  ['confDescription', ['a new parameter', 'a changed parameter'], 1, 1000, ''],
];

describe.each(TEXTS.flatMap(([field, bodies, ...limits]) => bodies.map((body) => [field, body, ...limits] as const)))(
  '%s of %s',
  (field, name, least, most, tooShort) => {
    const { schema, least: fields } = bodyOf(name);
    const taken = (value: unknown) => parse(schema, { ...fields, [field]: value });

    it(`has ${least} to ${most} characters`, () => {
      for (const length of [least, most]) {
        expect(taken('x'.repeat(length))).toMatchObject({ [field]: 'x'.repeat(length) });
      }
      expect(taken('x'.repeat(most + 1))).toBe(refusal(field, 'Size'));
      if (tooShort) expect(taken('x'.repeat(least - 1))).toBe(refusal(field, tooShort));
    });

    it('is text, and well-formed', () => {
      for (const value of [7, true, ['xx'], {}]) expect(taken(value)).toBe(refusal(field, 'TypeMismatch'));
      expect(taken('xx\ud800')).toBe(refusal(field, 'Pattern'));
    });
  },
);

describe('a line of text', () => {
  it.each(['firstName', 'lastName', 'imageUrl', 'langKey'])('has no control character: %s', (field) => {
    for (const name of PERSONAL) {
      const { schema, least } = bodyOf(name);
      for (const character of ['\n', '\r', '\t', '\u0000', '\u001f', '\u007f', '\u0085', '\u009f']) {
        expect(parse(schema, { ...least, [field]: `en${character}` })).toBe(refusal(field, 'Pattern'));
        expect(parse(schema, { ...least, [field]: `${character}en` })).toBe(refusal(field, 'Pattern'));
      }
      expect(parse(schema, { ...least, [field]: ' é–\u00a0' })).toMatchObject({ [field]: ' é–\u00a0' });
    }
  });

  it.each(['firstName', 'lastName', 'imageUrl'])('may be empty, and null clears it: %s', (field) => {
    for (const name of PERSONAL) {
      const { schema, least, becomes } = bodyOf(name);

      expect(parse(schema, { ...least, [field]: '' })).toStrictEqual({ ...becomes, [field]: '' });
      expect(parse(schema, { ...least, [field]: null })).toStrictEqual({ ...becomes, [field]: undefined });
    }
  });
});

describe('a name', () => {
  it.each([
    ['a new integration', 'name'],
    ['a changed integration', 'shortName'],
    ['a new parameter', 'confName'],
    ['a changed parameter', 'confName'],
  ])('of %s says something: %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    expect(parse(schema, { ...least, [field]: ' \t\n\u00a0' })).toBe(refusal(field, 'NotBlank'));
    expect(parse(schema, { ...least, [field]: ' x ' })).toMatchObject({ [field]: ' x ' });
  });
});

describe('a description', () => {
  it.each([
    ['a new integration', 'description'],
    ['a changed integration', 'description'],
    ['a new parameter', 'confDescription'],
    ['a changed parameter', 'confDescription'],
  ])('of %s is cleared by null or nothing, and may have lines', (name, field) => {
    const { schema, least, becomes } = bodyOf(name);

    for (const nothing of ['', null]) {
      expect(parse(schema, { ...least, [field]: nothing })).toStrictEqual({ ...becomes, [field]: null });
    }
    expect(parse(schema, { ...least, [field]: ' \n' })).toMatchObject({ [field]: ' \n' });
  });
});

describe('the value of a parameter', () => {
  it.each(['a new parameter', 'a changed parameter'])('has 16,384 bytes at most: %s', (name) => {
    const { schema, least } = bodyOf(name);
    const fits = 'é'.repeat(8192);

    expect(parse(schema, { ...least, confValue: fits })).toMatchObject({ confValue: fits });
    expect(parse(schema, { ...least, confValue: `${fits}x` })).toBe(refusal('confValue', 'Size'));
    expect(parse(schema, { ...least, confValue: ' ' })).toMatchObject({ confValue: ' ' });
  });
});

describe('an e-mail address', () => {
  const LONGEST = `${'e'.repeat(250)}@b.c`;

  it.each([...PERSONAL, 'a request for a key'])('has 3 to 254 characters: %s', (name) => {
    const { schema, least } = bodyOf(name);

    for (const email of ['a@b', LONGEST]) expect(parse(schema, { ...least, email })).toMatchObject({ email });
    expect(parse(schema, { ...least, email: 'a@' })).toBe(refusal('email', 'Size'));
    expect(parse(schema, { ...least, email: `e${LONGEST}` })).toBe(refusal('email', 'Size'));
  });

  it.each([...'<>()[]\\;:",@ \t\n\u0000\u0085\u00a0\u200b\u2028\u0600\u3164\uff20\uff0c'])(
    'has no %j, before the @ or behind it',
    (character) => {
      const { schema } = bodyOf('an own account');

      for (const email of [`a${character}a@b.c`, `a@b${character}b.c`, `${character}a@b.c`, `a@b.c${character}`]) {
        expect(parse(schema, { email })).toBe(refusal('email', 'Email'));
      }
    },
  );

  it.each([..."/?#%!$&*+=^`{|}~'"])('may have %j before the @, and not behind it', (character) => {
    const { schema } = bodyOf('an own account');
    const email = `a${character}a@b.c`;

    expect(parse(schema, { email })).toEqual({ email });
    for (const domain of [`b${character}c`, `${character}b`, `b.c${character}`]) {
      expect(parse(schema, { email: `a@${domain}` })).toBe(refusal('email', 'Email'));
    }
  });

  it.each(['.', '.b', 'b..c', 'b.c..', 'b\u3002\u3002c'])('has no empty label in its domain: %j', (domain) => {
    expect(parse(bodyOf('an own account').schema, { email: `aa@${domain}` })).toBe(refusal('email', 'Email'));
  });

  it.each(['b', 'b.c', 'b.c.', 'b_1.c-d', 'b\u3002c', 'xn--bcher-kva.b', 'b\u00fccher.c', '1.2'])(
    'may have the domain %j',
    (domain) => {
      const email = `aa@${domain}`;

      expect(parse(bodyOf('an own account').schema, { email })).toEqual({ email });
    },
  );

  it('may have 254 characters in its compatibility form too, and not one more', () => {
    const { schema } = bodyOf('an own account');
    // Each ligature is three letters when it is spelled out.
    const fits = `${'\uFB03'.repeat(83)}a@b.c`;

    expect([fits, `${fits}d`].map((email) => email.normalize('NFKC').length)).toEqual([254, 255]);
    expect(parse(schema, { email: fits })).toEqual({ email: fits });
    // As it was sent it is longer: the accent stands apart.
    expect(parse(schema, { email: `e\u0301${'a'.repeat(249)}@b.c` })).toBe(refusal('email', 'Size'));
    expect(parse(schema, { email: `${fits}d` })).toBe(refusal('email', 'Size'));
  });
});

describe('a login', () => {
  const ALLOWED = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$&*+=^_`{|}~.@-';

  it('has these characters and no others', () => {
    const characters = Array.from({ length: 0x250 }, (_, code) => String.fromCharCode(code));

    expect(characters.filter((character) => isLogin(`a${character}`)).toSorted()).toEqual([...ALLOWED].toSorted());
    expect(characters.filter((character) => isLogin(`${character}a`)).toSorted()).toEqual([...ALLOWED].toSorted());
  });

  it('is nothing that a path would resolve away or mean something else by', () => {
    expect(['.', '..', 'authorities', '', 'x'.repeat(51)].filter(isLogin)).toEqual([]);
    expect(['...', 'Authorities', 'authorities2', 'a.', 'x'.repeat(50)].filter((login) => !isLogin(login))).toEqual([]);
  });

  it.each([
    ['ada', 'ada'],
    ['a b', '.'],
    ['authorities', '.'],
    ['..', '.'],
    ['', '.'],
  ])('%j in a path stands for %j', (login, meant) => {
    expect(parse(loginInPath, { login })).toEqual({ login: meant });
  });

  it.each(['a new user', 'a changed user'])('that nobody could have is refused: %s', (name) => {
    const { schema, least } = bodyOf(name);

    for (const login of ['.', 'a b', 'authorities']) {
      expect(parse(schema, { ...least, login })).toBe(refusal('login', 'Pattern'));
    }
  });
});

describe('an id', () => {
  const LARGEST = 9_007_199_254_740_991;
  const NO_IDS = ['01', '0', '-1', '1.5', '1e3', '+1', ' 1', '1 ', 'x', '9007199254740992', '12345678901234567'];

  it.each(['a changed user', 'a changed integration', 'a changed parameter'])(
    'of %s is a number or its text',
    (name) => {
      const { schema, least } = bodyOf(name);
      const taken = (id: unknown) => parse(schema, { ...least, id });

      for (const id of [1, '1', LARGEST, String(LARGEST)]) expect(taken(id)).toMatchObject({ id: Number(id) });
      for (const id of [undefined, null, '']) expect(taken(id)).toBe(refusal('id', 'no-id'));
      for (const id of [...NO_IDS, 0, -1, 1.5, LARGEST + 1, true, {}, [1]]) {
        expect(taken(id)).toBe(refusal('id', 'TypeMismatch'));
      }
    },
  );

  it.each(['a new user', 'a new integration', 'a new parameter'])('of %s is not wanted', (name) => {
    const { schema, least, becomes } = bodyOf(name);

    for (const id of [undefined, null, '']) expect(parse(schema, { ...least, id })).toStrictEqual(becomes);
    for (const id of [1, '1']) expect(parse(schema, { ...least, id })).toBe(refusal('id', 'id-not-wanted'));
    for (const id of [0, 'x']) expect(parse(schema, { ...least, id })).toBe(refusal('id', 'TypeMismatch'));
  });

  it.each(['a new parameter', 'a changed parameter'])('of the integration of %s is needed', (name) => {
    const { schema, least } = bodyOf(name);
    const taken = (integration: unknown) => parse(schema, { ...least, integration });

    for (const id of [8, '8']) expect(taken({ id, name: 'x' })).toMatchObject({ integration: { id: 8 } });
    for (const none of [{}, { id: null }, { id: '' }]) expect(taken(none)).toBe(refusal('integration.id', 'NotNull'));
    expect(taken({ id: '08' })).toBe(refusal('integration.id', 'TypeMismatch'));
    for (const value of [8, 'x']) expect(taken(value)).toBe(refusal('integration', 'TypeMismatch'));
  });

  it('in a path that can be none is 0, which nothing has', () => {
    for (const id of NO_IDS) {
      expect(parse(idInPath, { id })).toEqual({ id: 0 });
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
    const taken = (value: unknown) => parse(schema, { ...least, [field]: value });

    for (const value of [true, false]) expect(taken(value)).toMatchObject({ [field]: value });
    for (const value of ['true', 1, {}]) expect(taken(value)).toBe(refusal(field, 'TypeMismatch'));
    if (byDefault === undefined) expect(taken(null)).toBe(refusal(field, 'NotNull'));
    else expect(taken(null)).toMatchObject({ [field]: byDefault });
  });
});

describe('roles and types', () => {
  const ROLES = ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST'];
  const TYPES = ['COLLECTOR', 'FORWARDER', 'SCANNER', 'CLOUD', 'WEBHOOK', 'API'];

  it.each(['a new user', 'a changed user'])('of %s: each role once, in the order that was sent', (name) => {
    const { schema, least } = bodyOf(name);
    const taken = (authorities: unknown) => parse(schema, { ...least, authorities });

    expect(taken([...ROLES, ...ROLES])).toMatchObject({ authorities: ROLES });
    expect(taken(['ROLE_ANALYST', 'ROLE_ADMIN'])).toMatchObject({ authorities: ['ROLE_ANALYST', 'ROLE_ADMIN'] });
    expect(taken([])).toMatchObject({ authorities: [] });
    expect(taken(['ROLE_USER', 'ROLE_ROOT'])).toBe(refusal('authorities.1', 'Pattern'));
    expect(taken('ROLE_USER')).toBe(refusal('authorities', 'TypeMismatch'));
  });

  it('of a new user that are null are none, and so is the language the usual one', () => {
    const { schema, least } = bodyOf('a new user');

    expect(parse(schema, { ...least, authorities: null, langKey: null })).toMatchObject({
      ...{ authorities: [], langKey: 'en' },
    });
  });

  it.each([
    ['a changed user', 'authorities'],
    ['a changed user', 'langKey'],
    ['an own account', 'langKey'],
    ['an own account', 'email'],
  ])('of %s can be left out, and not cleared: %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    expect(parse(schema, { ...least, [field]: null })).toBe(refusal(field, 'NotNull'));
  });

  it.each(['a new integration', 'a changed integration'])('of %s: six types', (name) => {
    const { schema, least } = bodyOf(name);
    const taken = (integrationType: unknown) => parse(schema, { ...least, integrationType });

    for (const integrationType of TYPES) expect(taken(integrationType)).toMatchObject({ integrationType });
    for (const other of ['api', 'OTHER', '']) expect(taken(other)).toBe(refusal('integrationType', 'Pattern'));
  });
});

describe('a password', () => {
  const NEW: [string, string][] = [
    ['a new user', 'password'],
    ['a changed password', 'newPassword'],
    ['a reset password', 'newPassword'],
  ];

  it.each(NEW)('of %s has 4 to 100 code points in one spelling', (name, field) => {
    const { schema, least } = bodyOf(name);
    const taken = (value: unknown) => parse(schema, { ...least, [field]: value });

    for (const value of ['abcd', '😀😀😀😀', 'x'.repeat(100), '😀'.repeat(100), ' '.repeat(4)]) {
      expect(taken(value)).toMatchObject({ [field]: value });
    }
    expect(taken('e\u0301'.repeat(100))).toMatchObject({ [field]: '\u00e9'.repeat(100) });
    for (const value of ['abc', '😀😀😀', 'x'.repeat(101), '😀'.repeat(101), 'e\u0301'.repeat(3)]) {
      expect(taken(value)).toBe(refusal(field, 'Size'));
    }
    expect(taken('abcd\ud83d')).toBe(refusal(field, 'Pattern'));
    expect(taken(12_345)).toBe(refusal(field, 'TypeMismatch'));
  });

  it('of a new user is none when it is empty or null', () => {
    const { schema, least, becomes } = bodyOf('a new user');

    for (const password of ['', null, undefined]) {
      expect(parse(schema, { ...least, password })).toEqual({ ...becomes, password: undefined });
    }
  });

  it.each([
    ['a login', 'password'],
    ['a changed password', 'currentPassword'],
  ])('that is tried may be any text: %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    for (const text of ['', 'x', 'x'.repeat(200), '\ud800']) {
      expect(parse(schema, { ...least, [field]: text })).toMatchObject({ [field]: text });
    }
    expect(parse(schema, { ...least, [field]: 7 })).toBe(refusal(field, 'TypeMismatch'));
  });

  it.each([
    ['a login', 'username'],
    ['a reset password', 'key'],
  ])('goes with text that is not empty: %s', (name, field) => {
    const { schema, least } = bodyOf(name);

    expect(parse(schema, { ...least, [field]: '' })).toBe(refusal(field, 'NotBlank'));
    expect(parse(schema, { ...least, [field]: 7 })).toBe(refusal(field, 'TypeMismatch'));
  });
});

describe('a report of a restart', () => {
  const { schema } = bodyOf('a report of a restart');
  const LARGEST = Number.MAX_SAFE_INTEGER;

  it('names a count of changes, as the module object has it', () => {
    expect(parse(schema, { needsRestart: true, changes: LARGEST })).toEqual({ changes: LARGEST });
    expect(parse(schema, { changes: -1 })).toBe(refusal('changes', 'Size'));
    for (const changes of [1.5, LARGEST + 1, '1', true]) {
      expect(parse(schema, { changes })).toBe(refusal('changes', 'TypeMismatch'));
    }
  });
});
