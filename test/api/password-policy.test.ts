import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/* New passwords where the settings require more of them than the API contract does. */

const CHANGES = { passwords: { minimum: 8, rejectCommon: true } };
const GOOD = 'ripe walnuts fall';

let gatehouse: Gatehouse;
beforeAll(async () => {
  gatehouse = await startGatehouse({ assembly: assemblyWith('dev', CHANGES) });
  // The log-in changes the account that a test compares.
  await gatehouse.adminToken();
});
afterAll(() => gatehouse.stop());

const EMAIL = 'walnut.tree@orchard.example';
const INVITED = { password: undefined, email: EMAIL };
const changePassword = async (newPassword: string, currentPassword: string) =>
  gatehouse.call('POST', '/api/account/change-password', {
    token: await gatehouse.adminToken(),
    body: { currentPassword, newPassword },
  });
const finishReset = (key: string, newPassword: string) =>
  gatehouse.call('POST', '/api/account/reset-password/finish', { body: { key, newPassword } });
const createUser = async (login: string, password: string, email = `${login}@example.com`) =>
  gatehouse.call('POST', '/api/users', {
    token: await gatehouse.adminToken(),
    body: { login, email, password },
  });

const TOO_SHORT = {
  status: 400,
  message: 'error.validation',
  fieldErrors: [{ objectName: 'user', message: 'Size', min: 8, max: 100 }],
};
const COMMON = {
  type: 'https://www.jhipster.tech/problem/problem-with-message',
  status: 400,
  message: 'error.commonpassword',
  params: 'userManagement',
};

describe('a new password', () => {
  it('of a new user is checked against the login and the address of the user', async () => {
    const responses = [
      await createUser('squirrel', '\u{1f40e}'.repeat(7)),
      await createUser('squirrel', 'Password1!'),
      await createUser('squirrel', 'Squirre1!'),
      await createUser('squirrel', 'hazel.nut99', 'hazel.nut@orchard.example'),
    ];
    const created = await createUser('squirrel', GOOD);

    expect(responses.map(({ body }) => body)).toMatchObject([TOO_SHORT, COMMON, COMMON, COMMON]);
    expect(responses[0]?.body.fieldErrors[0].field).toBe('password');
    expect(responses[1]?.headers['x-gatehouseapp-error']).toBe('error.commonpassword');
    expect(responses[1]?.body).not.toHaveProperty('fieldErrors');
    // The rejected requests have taken no id.
    expect([created.status, created.body.id]).toEqual([201, 3]);
    expect(await gatehouse.logIn('squirrel', GOOD)).toBeTruthy();
  });

  it('of a caller is checked; the current one need not satisfy the policy', async () => {
    const before = await findUserByLogin(gatehouse.table, 'admin');

    const short = await changePassword('admin', 'admin');
    const common = await changePassword('Administrator1', 'wrong');
    const varied = await changePassword('Adm1n2030!', 'wrong');
    const after = await findUserByLogin(gatehouse.table, 'admin');
    const changed = await changePassword(GOOD, 'admin');

    expect(short.body).toMatchObject(TOO_SHORT);
    expect(short.body.fieldErrors[0].field).toBe('newPassword');
    // Before the current password is verified.
    expect([common.status, varied.body]).toMatchObject([400, COMMON]);
    expect(after).toEqual(before);
    expect([changed.status, changed.text]).toEqual([200, '']);
  });

  it('with a mailed key is checked without using up the key', async () => {
    await gatehouse.makeUser('tree', INVITED);
    const key = await gatehouse.keyMailedTo(EMAIL);

    const short = await finishReset(key, 'x9k2v7q');
    const common = await finishReset(key, 'Drag0n2026');
    const varied = await finishReset(key, '1walnut.tree');
    const finished = await finishReset(key, GOOD);

    expect([short.body, common.body, varied.body]).toMatchObject([TOO_SHORT, COMMON, COMMON]);
    expect(finished.status).toBe(200);
    expect(await gatehouse.logIn('tree', GOOD)).toBeTruthy();
  });
});
