import { describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, update, get } = useUsers(gatehouse);

let count = 0;
const nextUser = () => ({ login: `limit${++count}`, email: `limit${count}@example.com` });

const PUNCTUATION = '!$&*+=^_{|}~.@-`';

const accepted: [string, string, unknown][] = [
  ['login', 'all permitted punctuation', PUNCTUATION],
  ['email', '3 characters', 'a@b'],
  ['email', '254 characters', `${'e'.repeat(250)}@b.c`],
  ['email', '250 surrogate pairs before "@b.c"', `${'👩'.repeat(250)}@b.c`],
  ['email', 'letters of any script', 'почта@例え.jp'],
  ['firstName', '25 surrogate pairs', '👩'.repeat(25)],
  ['langKey', '10 characters', 'zh-Hant-TW'],
  ['imageUrl', '256 characters', `https://${'i'.repeat(248)}`],
  ['activated', 'false', false],
  ['authorities', 'every role', ['ROLE_ADMIN', 'ROLE_USER', 'ROLE_ANALYST']],
];

const rejected: [string, string, unknown, string][] = [
  ['login', 'an empty string', '', 'NotBlank'],
  ['login', 'a space', 'a b', 'Pattern'],
  ['login', 'a line break', 'login\n', 'Pattern'],
  ['login', 'two dots', '..', 'Pattern'],
  ['login', 'a segment of a route', 'authorities', 'Pattern'],
  ['email', '2 characters', 'a@', 'Size'],
  ['email', '255 characters', `${'e'.repeat(251)}@b.c`, 'Size'],
  ['email', '255 characters after NFKC', `${'ﬃ'.repeat(83)}e@b.cd`, 'Size'],
  ['email', 'no @', 'nobody.example.com', 'Email'],
  ['email', 'nothing after the @', 'nobody@', 'Email'],
  ['email', 'a second @ after NFKC', 'a＠b@example.com', 'Email'],
  ['email', 'a space after NFKC', 'a¨b@example.com', 'Email'],
  ['email', 'a comma after NFKC', 'a，b@example.com', 'Email'],
  ['email', 'a line break', 'a@example.com\nBcc: b', 'Email'],
  ['firstName', '51 surrogate pairs', '👩'.repeat(51), 'Size'],
  ['langKey', '1 character', 'd', 'Size'],
  ['activated', 'a word', 'yes', 'TypeMismatch'],
  ['authorities', 'a string', 'ROLE_USER', 'TypeMismatch'],
];

describe('a new user', () => {
  it.each(accepted)('may have %s: %s', async (field, _, value) => {
    const { status, body } = await create({ ...nextUser(), [field]: value });

    expect(status).toBe(201);
    expect(body[field]).toEqual(value);
  });

  it.each(rejected)('is rejected with 400 for %s: %s', async (field, _, value, message) => {
    const { status, body } = await create({ ...nextUser(), [field]: value });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: 'https://www.jhipster.tech/problem/constraint-violation',
      message: 'error.validation',
    });
    expect(body.fieldErrors).toMatchObject([{ objectName: 'user', field, message }]);
  });

  it.each([
    ['3 letters', 'abc'],
    ['3 surrogate pairs', '🔑🔑🔑'],
    ['101 letters', 'a'.repeat(101)],
  ])('is rejected with 400 for a password of %s', async (_, password) => {
    const { status, body } = await create({ ...nextUser(), password });

    expect(status).toBe(400);
    expect(body.fieldErrors).toMatchObject([
      { objectName: 'user', field: 'password', message: 'Size' },
    ]);
  });

  it.each(['ROLE_ROOT', 'role_admin', 'ADMIN', ''])(
    'is rejected with 400 for the role %j',
    async (role) => {
      const { status, body } = await create({ ...nextUser(), authorities: ['ROLE_USER', role] });

      expect(status).toBe(400);
      expect(body.fieldErrors).toMatchObject([
        { objectName: 'user', field: expect.stringMatching(/^authorities/), message: 'Pattern' },
      ]);
    },
  );

  it('is rejected with at most a hundred field errors', async () => {
    const { status, body } = await create({ ...nextUser(), authorities: Array(101).fill('x') });

    expect([status, body.fieldErrors.length]).toEqual([400, 100]);
  });

  it('is rejected with all field errors at once', async () => {
    const { body } = await create({ login: 'a b', email: 'nobody', firstName: 'f'.repeat(51) });

    expect(body.fieldErrors.map(({ field }: { field: string }) => field).sort()).toEqual([
      'email',
      'firstName',
      'login',
    ]);
  });
});

describe('an updated user', () => {
  it.each(rejected)('is rejected with 400 for %s: %s', async (field, _, value, message) => {
    const { body: before } = await get('user');

    const { status, body } = await update({ ...before, [field]: value });

    expect(status).toBe(400);
    expect(body.fieldErrors).toMatchObject([{ objectName: 'user', field, message }]);
  });
});
