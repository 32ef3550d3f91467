import { beforeAll, describe, expect, it } from 'vitest';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const gatehouse = await useGatehouse();

let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

/** The account as administrators see it, but for the time of the last login. */
const accountOf = async (login: string) => ({
  ...(await gatehouse.call('GET', `/api/users/${login}`, { token: admin })).body,
  lastLogin: null,
});
const change = (token: string, body: unknown) =>
  gatehouse.call('POST', '/api/account', { token, body });

describe("the caller's own account", () => {
  it('accepts the fields that users may change themselves, and ignores all others', async () => {
    const { user, token } = await gatehouse.makeCaller('modest', {
      password: 'modest',
      authorities: ['ROLE_USER'],
      lastName: 'M',
    });
    const admin = await accountOf('admin');
    const allowed = {
      firstName: 'Ada',
      lastName: null,
      email: 'ada@example.com',
      langKey: 'de',
      imageUrl: 'https://x/y',
    };
    const ignored = {
      id: admin.id,
      login: 'admin',
      authorities: ['ROLE_ADMIN'],
      activated: false,
      createdBy: 'modest',
      password: '',
      passwordHash: 'another',
      version: 99,
    };

    const { status } = await change(token, { ...allowed, ...ignored });

    expect(status).toBe(200);
    const after = await accountOf('modest');
    expect(after).toEqual({
      ...user,
      ...allowed,
      lastModifiedBy: 'modest',
      lastModifiedDate: expect.any(String),
    });
    const { body: own } = await gatehouse.call('GET', '/api/account', { token });
    // The release states no identities.
    const { recoveryCodesLeft, secondFactorRequiredFrom, identities = [], ...shown } = own;
    const seenByAdministrators = {
      lastLogin: null,
      state: 'neverLoggedIn',
      invitedUntil: null,
      tokensExpire: null,
    };
    expect({ ...shown, ...seenByAdministrators }).toEqual(after);
    expect([recoveryCodesLeft, secondFactorRequiredFrom, identities]).toEqual([0, null, []]);
    expect(await accountOf('admin')).toEqual(admin);
    await gatehouse.logIn('modest');
  });

  it('cannot receive a new address that mail programs show as a link, and keeps one', async () => {
    const localParts = [
      'www.evil.example/confirm?a=1',
      'evil.example!closed',
      'a#b',
      'a%2fb',
      'a／b',
    ];
    for (const [index, localPart] of localParts.entries()) {
      const email = `${localPart}@a.example`;
      await gatehouse.makeUser(`linked${index}`, { email });
      const token = await gatehouse.logIn(`linked${index}`);

      const same = await change(token, { email, firstName: 'Same' });
      const other = await change(token, { email: `x${email}` });

      expect([same.status, other.status]).toEqual([200, 400]);
      const reason = expect.stringContaining('before the @');
      expect(other.body.fieldErrors).toMatchObject([
        { objectName: 'user', field: 'email', message: 'Email', reason },
      ]);
    }
  });

  it('has no new version after an update that changes nothing', async () => {
    const { token } = await gatehouse.makeCaller('unmoved', { firstName: 'Same' });
    const read = () => gatehouse.call('GET', '/api/users/unmoved', { token });
    const before = await read();

    const { status } = await change(token, { firstName: 'Same', email: 'unmoved@example.com' });

    const after = await read();
    expect(status).toBe(200);
    expect([after.headers.etag, after.body]).toEqual([before.headers.etag, before.body]);
  });
});

const changePassword = (token: string, currentPassword: unknown, newPassword: unknown) =>
  gatehouse.call('POST', '/api/account/change-password', {
    token,
    body: { currentPassword, newPassword },
  });
const changeName = (token: string, firstName: string) =>
  gatehouse.call('POST', '/api/account', { token, body: { firstName } });
const logIn = async (username: string, password: string) =>
  (await gatehouse.call('POST', '/api/authenticate', { body: { username, password } })).status;

describe('a password', () => {
  it('is unchanged after a wrong current one, which is rejected with 400', async () => {
    const token = await gatehouse.tokenOf('user');
    const before = await findUserByLogin(gatehouse.table, 'user');

    const { status, body } = await changePassword(token, 'wrong', 'fresh');

    expect(status).toBe(400);
    expect(body.type).toBe('https://www.jhipster.tech/problem/invalid-password');
    expect(await findUserByLogin(gatehouse.table, 'user')).toEqual(before);
  });

  it('of 100 letters with combining accents can be used as it was typed', async () => {
    const { token } = await gatehouse.makeCaller('accents', { password: 'accents' });
    const accents = 'e\u0301'.repeat(100);

    const { status } = await changePassword(token, 'accents', accents);

    expect([status, await logIn('accents', accents)]).toEqual([200, 200]);
  });
});

it('after a password change, only the token that made it stays valid', async () => {
  await gatehouse.makeUser('switcher', { authorities: ['ROLE_USER'] });
  const [own, other] = [await gatehouse.tokenOf('switcher'), await gatehouse.tokenOf('switcher')];

  const changed = await changePassword(own, 'switcher', 'fresh');
  // Within the second of the change, perhaps.
  const later = await gatehouse.logIn('switcher', 'fresh');
  const statuses = [
    await changeName(own, 'Ada'),
    await changeName(later, 'Grace'),
    await changePassword(own, 'fresh', 'fresher'),
    await changeName(other, 'Eve'),
    await changePassword(other, 'fresher', 'stolen'),
    await gatehouse.call('GET', '/api/account', { token: other }),
  ].map(({ status }) => status);

  expect(changed.status).toBe(200);
  expect(statuses).toEqual([200, 200, 200, 401, 401, 401]);
  expect(await logIn('switcher', 'switcher')).toBe(401);
  expect(await logIn('switcher', 'fresher')).toBe(200);
});
