import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { resetItemKey } from '../../lib/table/keys.ts';
import { newResetKey } from '../../lib/users/reset-key.ts';
import type { User } from '../../lib/users/user.ts';
import { findUser } from '../../lib/users/user-table.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';

const gatehouse = await useGatehouse();

const INIT = '/api/account/reset-password/init';
const FINISH = '/api/account/reset-password/finish';
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
const TEXT = { 'Content-Type': 'text/plain' };

const mailsTo = (address: string) => gatehouse.mailsTo(address);
const requestReset = (address: string) =>
  gatehouse.call('POST', INIT, { body: address, headers: TEXT });
/** The trials so far, each with an account of its own. */
const TRIALS: string[] = [];
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
    await gatehouse.makeUser('forgetful');

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
    expect([requested.status, finished.status]).toEqual([200, 200]);
    expect(mail).toMatchObject({ from: 'gatehouse@example.com', subject: 'Reset your password' });
    expect(mail?.text).toContain('http://127.0.0.1:9000/account/reset/finish?key=');
    expect(await gatehouse.logIn('forgetful', 'remembered')).toBeTruthy();
    expect([again.status, again.body.title]).toEqual([400, 'Unknown key']);
    const old = await gatehouse.call('POST', '/api/authenticate', {
      body: { username: 'forgetful', password: 'forgetful' },
    });
    expect(old.status).toBe(401);
  });

  it('gets the same response for unknown and deactivated accounts, but no mail', async () => {
    await gatehouse.makeUser('dormant', { activated: false });
    await gatehouse.makeUser('awake');

    const addresses = ['awake@example.com', 'nobody@example.com', 'dormant@example.com'];
    const responses = await Promise.all(addresses.map(requestReset));

    expect(responses.map(({ status, text }) => `${status} ${text}`)).toEqual(Array(3).fill('200 '));
    expect(await mailsTo('awake@example.com')).toHaveLength(1);
    expect([await mailsTo('nobody@example.com'), await mailsTo('dormant@example.com')]).toEqual([
      [],
      [],
    ]);
  });

  it('can be requested with the address as a field, which is checked', async () => {
    await gatehouse.makeUser('fielded');

    const asField = await gatehouse.call('POST', INIT, { body: { email: 'fielded@example.com' } });
    const malformed = await requestReset('fielded');
    const empty = await requestReset('');

    expect(asField.status).toBe(200);
    expect(await mailsTo('fielded@example.com')).toHaveLength(1);
    expect([malformed.status, malformed.body.fieldErrors]).toEqual([
      400,
      [{ objectName: 'user', field: 'email', message: 'Email' }],
    ]);
    expect(empty.status).toBe(400);
  });

  it('is rejected with 415 for another charset, with both media types in the detail', async () => {
    const headers = { 'Content-Type': 'text/plain; charset=latin1' };

    const { status, body } = await gatehouse.call('POST', INIT, { body: 'a@example.com', headers });

    expect([status, body.detail]).toEqual([
      415,
      expect.stringMatching(/application\/json.* text\/plain.* UTF-8/),
    ]);
  });

  it('is mailed in the language of the user, or in English when there is no template', async () => {
    const languages = { deutsch: 'de', oesi: 'de-AT', klingon: 'tlh', odd: 'toString' };
    for (const [login, langKey] of Object.entries(languages))
      await gatehouse.makeUser(login, { password: undefined, langKey });

    await Promise.all(Object.keys(languages).map((login) => requestReset(`${login}@example.com`)));

    const subjectOf = async (login: string) =>
      (await mailsTo(`${login}@example.com`)).at(-1)?.subject;
    expect(await Promise.all(Object.keys(languages).map(subjectOf))).toEqual([
      'Neues Passwort',
      'Neues Passwort',
      'Reset your password',
      'Reset your password',
    ]);
  });

  it('cannot be reset with an expired key that DynamoDB has not deleted yet', async () => {
    const key = await keyFor(await gatehouse.makeUser('late', { password: undefined }));
    const at = resetItemKey(hashOf(key));
    const expired = {
      ...(await gatehouse.table.get(at)),
      expires: Math.floor(Date.now() / 1000) - 1,
    };
    await gatehouse.table.transact([{ act: 'Put', key: at, attributes: expired }], randomUUID());

    expect((await finish(key, 'too late')).status).toBe(400);
  });

  it('leaves no key in the table once it is reset', async () => {
    const key = await keyFor(await gatehouse.makeUser('tidy', { password: undefined }));
    await finish(key, 'tidied up');

    expect(await gatehouse.table.get(resetItemKey(hashOf(key)))).toBeUndefined();
  });

  const own = (body: object) => async (login: string) =>
    (await gatehouse.call('POST', '/api/account', { token: await gatehouse.tokenOf(login), body }))
      .status;
  const byAdmin = (fields: object) => async (login: string) => {
    const token = await gatehouse.adminToken();
    const { body } = await gatehouse.call('GET', `/api/users/${login}`, { token });
    return (await gatehouse.call('PUT', '/api/users', { token, body: { ...body, ...fields } }))
      .status;
  };
  const ownByPut = async (login: string) => {
    await byAdmin({ authorities: ['ROLE_ADMIN'] })(login);
    const token = await gatehouse.tokenOf(login);
    const { body } = await gatehouse.call('GET', `/api/users/${login}`, { token });
    const email = body.email.toUpperCase();
    return (await gatehouse.call('PUT', '/api/users', { token, body: { ...body, email } })).status;
  };
  it.each<[string, ((login: string) => Promise<number>)[], number]>([
    ['users respell their address', [own({ email: 'KEEPER-0@example.com' })], 200],
    ['users change their address', [own({ email: 'gone@example.com' })], 200],
    ['an administrator respells the own address', [ownByPut], 200],
    [
      'another administrator respells the address',
      [byAdmin({ email: 'KEEPER-3@example.com' })],
      400,
    ],
    ['an administrator changes the address', [byAdmin({ email: 'there@example.com' })], 400],
    ['the account is deactivated', [byAdmin({ activated: false })], 400],
    [
      'the account is deactivated and reactivated',
      [byAdmin({ activated: false }), byAdmin({ activated: true })],
      400,
    ],
  ])('after %s, a key that was just mailed is accepted or not', async (name, changes, expected) => {
    const login = `keeper-${TRIALS.push(name) - 1}`;
    const key = await keyFor(await gatehouse.makeUser(login, { password: undefined }));

    for (const change of changes) expect(await change(login)).toBe(200);
    const { status } = await finish(key, 'my own');

    expect(status).toBe(expected);
  });

  it.each([
    ['another address', 'mover', 'mover@example.com', 'moved@example.com'],
    // One mailbox as far as uniqueness goes, but a domain of its own.
    ['a domain with a dotless i', 'dotless', 'mail@f\u0131rma.example', 'mail@firma.example'],
  ])('is void an hour after it was mailed to %s', async (_, login, former, email) => {
    const key = await keyFor(
      await gatehouse.makeUser(login, { password: undefined, email: former }),
    );
    const at = resetItemKey(hashOf(key));
    const early = { ...(await gatehouse.table.get(at)), issuedAt: Date.now() - 3_600_000 };
    await gatehouse.table.transact([{ act: 'Put', key: at, attributes: early }], randomUUID());

    expect(await own({ email })(login)).toBe(200);

    expect((await finish(key, 'too late')).status).toBe(400);
  });

  it('is void when the password changes', async () => {
    const user = await gatehouse.makeUser('overtaken');
    const overtaken = await keyFor(user);
    const token = await gatehouse.tokenOf('overtaken');
    await gatehouse.call('POST', '/api/account/change-password', {
      token,
      body: { currentPassword: 'overtaken', newPassword: 'another' },
    });

    expect((await finish(overtaken, 'too late')).status).toBe(400);
  });

  it.each(['no such key', '', 'x'.repeat(5000)])(
    'cannot be reset with a wrong key (%#)',
    async (key) => {
      const { status } = await finish(key, 'whatever');

      expect(status).toBe(400);
    },
  );

  it('is reset by exactly one of two concurrent requests with the same key', async () => {
    const key = await keyFor(await gatehouse.makeUser('contended', { password: undefined }));

    const responses = await Promise.all(
      ['first', 'second'].map((password) => finish(key, password)),
    );

    expect(responses.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  it('leaves older tokens without the right to change anything once it is reset', async () => {
    const { user, token } = await gatehouse.makeCaller('stolen', { authorities: ['ROLE_USER'] });
    await finish(await keyFor(user), 'mine again');

    const change = await gatehouse.call('POST', '/api/account', {
      token,
      body: { firstName: 'Thief' },
    });
    const fresh = await gatehouse.logIn('stolen', 'mine again');
    const own = await gatehouse.call('POST', '/api/account', {
      token: fresh,
      body: { firstName: 'Owner' },
    });

    expect([change.status, own.status]).toEqual([403, 200]);
  });
});

describe('an invitation', () => {
  it('is mailed to a user created without a password, and sets the first one', async () => {
    const token = await gatehouse.adminToken();
    const body = { login: 'invited', email: 'invited@example.com', password: '' };
    await gatehouse.call('POST', '/api/users', { token, body });

    const [mail] = await mailsTo('invited@example.com');
    const finished = await finish(await gatehouse.keyMailedTo('invited@example.com'), 'my first');

    expect(mail?.subject).toBe('Your account');
    expect(mail?.text).toContain('Dear invited,');
    expect(finished.status).toBe(200);
    expect(await gatehouse.logIn('invited', 'my first')).toBeTruthy();
  });

  it('contains one link even when the login looks like a template', async () => {
    const token = await gatehouse.adminToken();
    await gatehouse.call('POST', '/api/users', {
      token,
      body: { login: '{link}$&', email: 'odd-name@example.com' },
    });

    const [mail] = await mailsTo('odd-name@example.com');

    expect(mail?.text).toContain('Dear {link}$&,');
    expect(mail?.text.match(/key=/g)).toHaveLength(1);
  });

  it('is not mailed to a user who has a password or is not activated', async () => {
    await gatehouse.makeUser('equipped');
    const token = await gatehouse.adminToken();
    const body = { login: 'asleep', email: 'asleep@example.com', activated: false };
    await gatehouse.call('POST', '/api/users', { token, body });

    expect([await mailsTo('equipped@example.com'), await mailsTo('asleep@example.com')]).toEqual([
      [],
      [],
    ]);
  });

  it('is mailed again after a corrected address and after an activation', async () => {
    const token = await gatehouse.adminToken();
    const body = { login: 'corrected', email: 'typo@example.com' };
    const { body: user } = await gatehouse.call('POST', '/api/users', { token, body });
    const former = await gatehouse.keyMailedTo('typo@example.com');
    const put = (fields: object) =>
      gatehouse.call('PUT', '/api/users', { token, body: { ...user, ...fields } });

    await put({ email: 'right@example.com' });
    await gatehouse.cloud.mailsHandedOver();
    await put({ email: 'right@example.com', activated: false });
    await put({ email: 'right@example.com', activated: true });

    const subjects = (await mailsTo('right@example.com')).map(({ subject }) => subject);
    expect(subjects).toEqual(['Your account', 'Your account']);
    expect((await finish(former, 'my first')).status).toBe(400);
    expect(
      (await finish(await gatehouse.keyMailedTo('right@example.com'), 'my first')).status,
    ).toBe(200);
  });
});

it('the mailbox page shows sent mail and contains no scripts', async () => {
  await gatehouse.makeUser('shown', { password: undefined });
  await gatehouse.cloud.mailsHandedOver();

  const page = await (await fetch(`${gatehouse.cloud.endpoint}/mailbox`)).text();

  expect(page).toContain('shown@example.com');
  expect(page).toMatch(
    /<a href="http:\/\/127\.0\.0\.1:9000\/account\/reset\/finish\?key=[\w-]{43}">/,
  );
  expect(page).not.toContain('<script');
});
