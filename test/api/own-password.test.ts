import { describe, expect, it } from 'vitest';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const gatehouse = await useGatehouse();

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
  it.each([
    ['a wrong current one', 'wrong', 'fresh', 'invalid-password', undefined],
    ['no current one', undefined, 'fresh', 'constraint-violation', ['currentPassword', 'NotNull']],
    ['a new one of 3 letters', 'user', 'abc', 'constraint-violation', ['newPassword', 'Size']],
  ])('is unchanged after %s, which is rejected with 400', async (_, now, next, type, error) => {
    const token = await gatehouse.tokenOf('user');
    const before = await findUserByLogin(gatehouse.table, 'user');

    const { status, body } = await changePassword(token, now, next);

    expect(status).toBe(400);
    expect(body.type).toBe(`https://www.jhipster.tech/problem/${type}`);
    const [field, message] = error ?? [];
    const fieldErrors = error && [expect.objectContaining({ objectName: 'user', field, message })];
    expect(body.fieldErrors).toEqual(fieldErrors);
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

  expect([changed.status, changed.text]).toEqual([200, '']);
  expect(changed.headers).not.toHaveProperty('x-gatehouseapp-alert');
  expect(statuses).toEqual([200, 200, 200, 401, 401, 401]);
  expect(await logIn('switcher', 'switcher')).toBe(401);
  expect(await logIn('switcher', 'fresher')).toBe(200);
});
