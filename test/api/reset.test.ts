import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { newResetKey } from '../../lib/users/mailed-keys.ts';
import type { User } from '../../lib/users/user.ts';
import { resetItemKey } from '../../lib/users/user-items.ts';
import { findUser } from '../../lib/users/user-table.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';

const gatehouse = await useGatehouse();

const INIT = '/api/account/reset-password/init';
const FINISH = '/api/account/reset-password/finish';
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
const TEXT = { 'Content-Type': 'text/plain' };

const { mailsTo } = gatehouse;
const requestReset = (address: string) =>
  gatehouse.call('POST', INIT, { body: address, headers: TEXT });
const finish = (key: string, newPassword: string) =>
  gatehouse.call('POST', FINISH, { body: { key, newPassword } });
/** Writes a reset key for this user without a mail. */
async function keyFor({ id }: { id: number }): Promise<string> {
  const { key, write } = newResetKey((await findUser(gatehouse.table, id)) as User, Date.now());
  await commit(gatehouse.table, [write]);
  return key;
}

describe('a forgotten password', () => {
  it('can be reset once, with a mailed key of which only a hash is stored', async () => {
    const { token } = await gatehouse.makeCaller('forgetful', { password: 'forgetful' });

    const requested = await requestReset('Forgetful@Example.com');
    const [mail] = await mailsTo('forgetful@example.com');
    const key = await gatehouse.keyMailedTo('forgetful@example.com');
    const items = await itemsOf(gatehouse.cloud);
    const finished = await finish(key, 'remembered');
    const again = await finish(key, 'once more');

    const stored = items.get(Object.values(resetItemKey(hashOf(key))).join(' '));
    const day = 24 * 60 * 60;
    expect(Number(stored?.expires) - Date.now() / 1000).toBeGreaterThan(day - 60);
    expect(Number(stored?.expires) - Date.now() / 1000).toBeLessThanOrEqual(day);
    expect(JSON.stringify([...items])).not.toContain(key);
    expect([requested.status, requested.text, finished.status]).toEqual([200, '', 200]);
    expect(mail).toMatchObject({ from: 'gatehouse@example.com', subject: 'Reset your password' });
    const page = `${gatehouse.cloud.url}/console/set-password`;
    expect(mail?.text).toContain(`${page}#login=forgetful&key=`);
    expect([again.status, again.body.title]).toEqual([400, 'Unknown key']);
    expect(await gatehouse.table.get(resetItemKey(hashOf(key)))).toBeUndefined();
    expect(await gatehouse.logIn('forgetful', 'remembered')).toBeTruthy();
    const old = await gatehouse.call('POST', '/api/authenticate', {
      body: { username: 'forgetful', password: 'forgetful' },
    });
    const thief = await gatehouse.call('POST', '/api/account', { token, body: {} });
    expect([old.status, thief.status]).toEqual([401, 401]);
  });

  it('gets the same response for unknown and deactivated accounts, but no mail', async () => {
    await gatehouse.makeUser('dormant', { activated: false });
    await gatehouse.makeUser('awake');

    const addresses = ['awake@example.com', 'nobody@example.com', 'dormant@example.com'];
    const responses = await Promise.all(addresses.map(requestReset));

    expect(responses.map(({ status, text }) => `${status} ${text}`)).toEqual(Array(3).fill('200 '));
    const mails = await Promise.all(addresses.map(mailsTo));
    expect(mails.map(({ length }) => length)).toEqual([1, 0, 0]);
  });

  it('can be requested with the address as a field, which is checked', async () => {
    await gatehouse.makeUser('fielded');

    const asField = await gatehouse.call('POST', INIT, { body: { email: 'fielded@example.com' } });
    const malformed = await requestReset('fielded');

    expect(asField.status).toBe(200);
    expect(await mailsTo('fielded@example.com')).toHaveLength(1);
    expect([malformed.status, malformed.body.fieldErrors]).toEqual([
      400,
      [{ objectName: 'user', field: 'email', message: 'Email' }],
    ]);
  });

  it.each([
    ['accepted after the user has changed the address', 'user', 'POST', '/api/account', 200],
    ['accepted after an administrator has changed the own one', 'chief', 'PUT', '/api/users', 200],
    ['rejected with 400 after an administrator has done so', 'admin', 'PUT', '/api/users', 400],
  ])('has a mailed key that is %s', async (_, by, method, path, expected) => {
    const login = `keeper-${by}`;
    const authorities = by === 'chief' ? ['ROLE_ADMIN'] : [];
    const { user, token: own } = await gatehouse.makeCaller(login, { authorities });
    const key = await keyFor(user);
    const token = by === 'admin' ? await gatehouse.adminToken() : own;

    const body = { ...user, email: `${login}@moved.example` };
    const moved = await gatehouse.call(method, path, { token, body });

    expect([moved.status, (await finish(key, 'my own')).status]).toEqual([200, expected]);
    // A key to the former address proves nothing about the new one.
    const isOwn = by !== 'admin' || undefined;
    expect((await findUser(gatehouse.table, user.id))?.emailUnproven).toBe(isOwn);
  });

  it('cannot be reset with a key of any length that was never issued', async () => {
    expect((await finish('x'.repeat(5000), 'whatever')).status).toBe(400);
  });

  it('is reset by exactly one of two concurrent requests with the same key', async () => {
    const key = await keyFor(await gatehouse.makeUser('contended', { password: undefined }));

    const responses = await Promise.all(
      ['first', 'second'].map((password) => finish(key, password)),
    );

    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
  });
});

it('invites a user without a password, and again after a new address or activation', async () => {
  const token = await gatehouse.adminToken();
  const body = { login: 'corrected', email: 'typo@example.com', password: '' };
  const { body: user } = await gatehouse.call('POST', '/api/users', { token, body });
  const former = await gatehouse.keyMailedTo('typo@example.com');
  const put = (fields: object) =>
    gatehouse.call('PUT', '/api/users', {
      token,
      body: { ...user, email: 'right@example.com', ...fields },
    });

  await put({});
  await gatehouse.cloud.mailsHandedOver();
  await put({ activated: false });
  await put({ activated: true });

  const mails = await mailsTo('right@example.com');
  expect(mails.map(({ subject }) => subject)).toEqual(Array(2).fill('Your account at Gatehouse'));
  expect((await finish(former, 'my first')).status).toBe(400);
  const key = await gatehouse.keyMailedTo('right@example.com');
  expect((await finish(key, 'my first')).status).toBe(200);
  expect(await gatehouse.logIn('corrected', 'my first')).toBeTruthy();
});
