import { describe, expect, it } from 'vitest';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const gatehouse = await useGatehouse();

/** Creates a user whose password is the login, and returns a token. */
async function signedIn(login: string, fields = {}): Promise<string> {
  return (await gatehouse.makeCaller(login, { password: login, ...fields })).token;
}

const changePassword = (token: string, currentPassword: unknown, newPassword: unknown) =>
  gatehouse.call('POST', '/api/account/change-password', {
    token,
    body: { currentPassword, newPassword },
  });
const changeName = (token: string, firstName: string) =>
  gatehouse.call('POST', '/api/account', { token, body: { firstName } });
const canLogIn = async (username: string, password: string) =>
  (await gatehouse.call('POST', '/api/authenticate', { body: { username, password } })).status ===
  200;
/** The account `user` as it is stored, with the hash of its password. */
const storedUser = () => findUserByLogin(gatehouse.table, 'user');

describe('a password', () => {
  it('is changed by a caller who knows the current one', async () => {
    const token = await signedIn('careful');

    const { status, text, headers } = await changePassword(token, 'careful', 'fresh');

    expect({ status, text }).toEqual({ status: 200, text: '' });
    expect(headers).not.toHaveProperty('x-gatehouseapp-alert');
    expect([await canLogIn('careful', 'careful'), await canLogIn('careful', 'fresh')]).toEqual([
      false,
      true,
    ]);
  });

  it.each(['wrong', '', 'USER'])(
    'is unchanged when the current one is given as %j',
    async (current) => {
      const token = await gatehouse.tokenOf('user');

      const { status, body } = await changePassword(token, current, 'fresh');

      expect(status).toBe(400);
      expect(body).toMatchObject({
        type: 'https://www.jhipster.tech/problem/invalid-password',
        message: 'error.http.400',
        path: '/api/account/change-password',
      });
      expect(body).not.toHaveProperty('fieldErrors');
      expect([await canLogIn('user', 'user'), await canLogIn('user', 'fresh')]).toEqual([
        true,
        false,
      ]);
    },
  );

  it('can be set to its current value', async () => {
    const token = await signedIn('steady');

    const { status } = await changePassword(token, 'steady', 'steady');

    expect(status).toBe(200);
    expect(await canLogIn('steady', 'steady')).toBe(true);
  });

  it.each([
    ['4 letters', 'letters4', 'abcd'],
    ['100 letters', 'letters100', 'a'.repeat(100)],
    ['4 emoji', 'emoji4', '😀'.repeat(4)],
    ['100 emoji', 'emoji100', '😀'.repeat(100)],
    ['100 letters with combining accents', 'accents100', 'e\u0301'.repeat(100)],
    ['4 spaces', 'blanks4', '    '],
  ])('can be %s', async (_, login, wanted) => {
    const token = await signedIn(login);

    const { status } = await changePassword(token, login, wanted);

    expect(status).toBe(200);
    expect(await canLogIn(login, wanted)).toBe(true);
  });

  it.each([
    ['3 letters', 'abc', 'Size'],
    ['101 letters', 'a'.repeat(101), 'Size'],
    ['3 emoji', '😀'.repeat(3), 'Size'],
    ['101 emoji', '😀'.repeat(101), 'Size'],
    ['3 letters with combining accents', 'e\u0301'.repeat(3), 'Size'],
    ['empty', '', 'Size'],
    ['text with a lone surrogate', 'abcd\uD83D', 'Pattern'],
    ['missing', undefined, 'NotNull'],
    ['null', null, 'NotNull'],
    ['a number', 12345, 'TypeMismatch'],
  ])('cannot be %s', async (_, wanted, message) => {
    const token = await gatehouse.tokenOf('user');
    const before = await storedUser();

    const { status, body } = await changePassword(token, 'user', wanted);

    expect(status).toBe(400);
    expect(body.message).toBe('error.validation');
    expect(body.fieldErrors).toMatchObject([{ objectName: 'user', field: 'newPassword', message }]);
    expect(await storedUser()).toEqual(before);
  });

  it('cannot be changed without the current one', async () => {
    const token = await gatehouse.tokenOf('user');

    const { status, body } = await changePassword(token, undefined, 'fresh');

    expect(status).toBe(400);
    expect(body.fieldErrors).toMatchObject([
      { objectName: 'user', field: 'currentPassword', message: 'NotNull' },
    ]);
  });
});

describe('after a password change', () => {
  it('the token that made it keeps its rights, and all other tokens can only read', async () => {
    const token = await signedIn('switcher', { authorities: ['ROLE_USER'] });
    const other = await gatehouse.tokenOf('switcher');
    await changePassword(token, 'switcher', 'fresh');

    const accepted = [
      await changeName(token, 'Ada'),
      await changePassword(token, 'fresh', 'fresher'),
    ];
    const rejected = [
      await changeName(other, 'Eve'),
      await changePassword(other, 'fresher', 'stolen'),
      await changePassword(other, 'wrong', 'stolen'),
      await gatehouse.call('POST', '/api/utm-integrations', {
        token: other,
        body: { name: 'n', shortName: 's', integrationType: 'API' },
      }),
    ];
    const read = await gatehouse.call('GET', '/api/account', { token: other });

    expect(accepted.map(({ status }) => status)).toEqual([200, 200]);
    expect(rejected.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(read.status).toBe(200);
    expect(read.body.firstName).toBe('Ada');
    expect(await canLogIn('switcher', 'fresher')).toBe(true);
  });

  it('a login within the same second returns a token that can make changes', async () => {
    await gatehouse.makeUser('hasty');

    for (const [current, next] of [
      ['hasty', 'hastier'],
      ['hastier', 'hastiest'],
      ['hastiest', 'hasty'],
    ] as const) {
      const own = await gatehouse.tokenOf('hasty');
      const earlier = await gatehouse.tokenOf('hasty');
      await changePassword(own, current, next);
      const fresh = await gatehouse.logIn('hasty', next);

      const responses = [
        await changeName(own, 'A'),
        await changeName(earlier, 'B'),
        await changeName(fresh, 'C'),
      ];

      expect(responses.map(({ status }) => status)).toEqual([200, 403, 200]);
    }
  });
});
