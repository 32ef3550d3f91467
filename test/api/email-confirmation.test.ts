import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { confirmationRequested } from '../../lib/mail/outbox.ts';
import { commit } from '../../lib/table/change.ts';
import { pendingEmailKey } from '../../lib/users/user-items.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { startGatehouse, useGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact, itemsOf } from '../support/instance/items.ts';
import type { Gatehouse, Received } from '../support/instance/launch.ts';
import { assemblyWith } from '../support/stack/stack.ts';
import { recordUnused } from '../support/stack/unused-permissions.ts';

/* Changes of one's own e-mail address where the settings require that it is confirmed. */

const CHANGES = { confirmEmailChanges: true };

let gatehouse: Gatehouse;
let admin: string;
beforeAll(async () => {
  gatehouse = await startGatehouse({
    assembly: assemblyWith('dev', CHANGES),
    onUnusedPermissions: (permissions) => recordUnused(inject('assembly'), permissions),
  });
  admin = await gatehouse.adminToken();
});
afterAll(async () => {
  await expectIntact(gatehouse);
  await gatehouse.stop();
});

const ACCOUNT = '/api/account';
const addressOf = (login: string) => `${login}@example.com`;
const request = (token: string, email: string, others: object = {}) =>
  gatehouse.call('POST', ACCOUNT, { token, body: { email, ...others } });
const confirm = (key: string, on = gatehouse) =>
  on.call('POST', `${ACCOUNT}/confirm-email`, { body: { key } });
const put = (body: object, token = admin) => gatehouse.call('PUT', '/api/users', { token, body });
const remove = (login: string) => gatehouse.call('DELETE', `/api/users/${login}`, { token: admin });
const accountOf = async (login: string) =>
  gatehouse.call('GET', `/api/users/${login}`, { token: admin });
const storedAddress = async (login: string) => (await accountOf(login)).body.email;
const outcomeOf = ({ status, body }: Received) =>
  status === 200 ? 'confirmed' : `${status} ${body.title}`;
const UNKNOWN = '400 Unknown key';
const TAKEN = '400 Email is already in use!';

/** A user, whose password is the login, with a token. */
async function makeCaller(login: string, fields: object = {}) {
  const user = await gatehouse.makeUser(login, { ...fields });
  return { user, token: await gatehouse.logIn(login, login.padEnd(4, '.')) };
}
/** A user who has requested `new-<login>@example.com`, and the key that was mailed. */
async function makeRequest(login: string) {
  const caller = await makeCaller(login);
  await request(caller.token, addressOf(`new-${login}`));
  return { ...caller, key: await gatehouse.keyMailedTo(addressOf(login)) };
}

describe('a new address of the own account', () => {
  it('takes effect only when a key confirms it that was mailed to the present one', async () => {
    const { user, token } = await makeCaller('mover');
    const next = addressOf('moved');

    const requested = await request(token, next, { firstName: 'Ada' });
    const [mail, ...others] = await gatehouse.mailsTo(addressOf('mover'));
    const before = await accountOf('mover');
    await gatehouse.call('POST', `${ACCOUNT}/reset-password/init`, { body: { email: next } });
    const mailsToNext = await gatehouse.mailsTo(next);
    const key = await gatehouse.keyMailedTo(addressOf('mover'));
    const items = await itemsOf(gatehouse.cloud);
    const confirmed = await confirm(key);
    const after = await accountOf('mover');
    const again = await confirm(key);

    expect([requested.status, requested.text]).toEqual([200, '']);
    expect(requested.headers).toMatchObject({
      'x-gatehouseapp-alert': 'userManagement.confirmationRequested',
      'x-gatehouseapp-params': 'mover',
    });
    expect([mail?.subject, others]).toEqual(['Confirm your new e-mail address', []]);
    expect(mail?.text).toMatch(/^Dear mover,\n(.*\n)*\nmoved@example\.com\n/);
    expect(mail?.text).toContain(`${gatehouse.cloud.url}/console/confirm-email#key=`);
    expect(before.body).toMatchObject({ firstName: 'Ada', email: user.email });
    expect(mailsToNext).toEqual([]);
    expect(JSON.stringify([...items])).not.toContain(key);
    expect([confirmed.status, confirmed.text]).toEqual([200, '']);
    expect(after.body).toMatchObject({ email: next, lastModifiedBy: 'mover' });
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect(outcomeOf(again)).toBe(UNKNOWN);
    expect(await gatehouse.table.get(pendingEmailKey(user.id))).toBeUndefined();
    const subjects = (await gatehouse.mailsTo(addressOf('mover'))).map(({ subject }) => subject);
    expect(subjects.slice(1)).toEqual(['Your e-mail address was changed']);
    const query = `actorId.equals=${user.id}&action.in=account.updated,email.requested`;
    const { body: entries } = await gatehouse.call('GET', `/api/audits?${query}`, { token: admin });
    const lines = entries.map(({ action, fields, source }: Record<string, string>) =>
      [action, fields, source].join(' '),
    );
    expect(lines.sort()).toEqual([
      'account.updated email 127.0.0.1',
      'account.updated firstName 127.0.0.1',
      'email.requested email 127.0.0.1',
    ]);
  });

  it('creates no version before it is confirmed, and is written in the language', async () => {
    const { token } = await makeCaller('still', { langKey: 'de' });
    const before = await accountOf('still');

    await request(token, addressOf('stiller'));

    const after = await accountOf('still');
    const [mail] = await gatehouse.mailsTo(addressOf('still'));
    expect([after.headers.etag, after.body.email]).toEqual([
      before.headers.etag,
      before.body.email,
    ]);
    expect(mail?.subject).toBe('Bestätigen Sie Ihre neue E-Mail-Adresse');
  });

  it('takes effect at once if it is another spelling of the present one', async () => {
    const { token } = await makeCaller('speller');

    const { headers } = await request(token, 'Speller@EXAMPLE.com');

    expect(await storedAddress('speller')).toBe('Speller@EXAMPLE.com');
    expect(headers).not.toHaveProperty('x-gatehouseapp-alert');
    expect(await gatehouse.mailsTo('Speller@EXAMPLE.com')).toEqual([]);
  });

  it('must be confirmed if it is another mailbox that no other account can have', async () => {
    const { token } = await makeCaller('kim');

    const { status } = await request(token, '\u212Aim@example.com');

    expect([status, await storedAddress('kim')]).toEqual([200, addressOf('kim')]);
    const [mail] = await gatehouse.mailsTo(addressOf('kim'));
    expect(mail?.subject).toBe('Confirm your new e-mail address');
  });

  it('is rejected at once if another account has it, and claims nothing', async () => {
    const { token, key } = await makeRequest('first');
    const heir = await gatehouse.makeUser('heir', { email: addressOf('new-first') });

    const taken = await request(token, 'NEW-first@example.com', { firstName: 'Ada' });
    const late = await confirm(key);
    await put({ ...heir, email: addressOf('heir') });
    const free = await confirm(key);

    expect([taken, late, free].map(outcomeOf)).toEqual([TAKEN, TAKEN, 'confirmed']);
    expect((await accountOf('first')).body).toMatchObject({
      firstName: null,
      email: addressOf('new-first'),
    });
  });
});

describe('the key of a new address', () => {
  it.each<[string, (login: string, user: { id: number }, token: string) => Promise<unknown>]>([
    [
      'a new password',
      (login, _, token) =>
        gatehouse.call('POST', `${ACCOUNT}/change-password`, {
          token,
          body: { currentPassword: login, newPassword: 'another' },
        }),
    ],
    [
      'the deletion of the account, even if another one has the login and the address',
      async (login) => {
        await remove(login);
        await gatehouse.makeUser(login);
      },
    ],
    [
      'the mail about a later request',
      async (login, _, token) => {
        await request(token, addressOf(`latest-${login}`));
        await gatehouse.mailsTo(addressOf(login));
      },
    ],
  ])('is void after %s', async (name, act) => {
    const login = name.replace(/\W/g, '').slice(0, 30);
    const { user, token, key } = await makeRequest(login);

    await act(login, user, token);

    expect(outcomeOf(await confirm(key))).toBe(UNKNOWN);
    expect(await storedAddress(login)).toBe(addressOf(login));
  });

  it('is not mailed if the password was changed between the request and the mail', async () => {
    const { user, token } = await makeCaller('quick');
    const stored = await findUserByLogin(gatehouse.table, 'quick');
    if (!stored) throw new Error('There is no such user');
    const body = { currentPassword: 'quick', newPassword: 'another' };
    await gatehouse.call('POST', `${ACCOUNT}/change-password`, { token, body });

    const requested = confirmationRequested(stored, addressOf('quicker'), Date.now());
    await commit(gatehouse.table, [requested]);

    const subjects = (await gatehouse.mailsTo(user.email)).map(({ subject }) => subject);
    expect(subjects).toEqual(['Your password was changed']);
  });

  it.each(['', 'x', 'x'.repeat(5000), `1-${'x'.repeat(43)}`, `0-${'x'.repeat(43)}`])(
    'must have been mailed: %s',
    async (key) => {
      expect((await confirm(key)).status).toBe(400);
    },
  );
});

describe('an administrator', () => {
  it('cannot change the own address where it would need no confirmation', async () => {
    const roles = { authorities: ['ROLE_ADMIN'] };
    const { user, token } = await makeCaller('chief', roles);

    const rejected = await put({ ...user, email: addressOf('thief'), firstName: 'Ada' }, token);
    const spelled = await put({ ...user, email: 'Chief@example.com', firstName: 'Eve' }, token);

    expect([rejected.status, rejected.body.message]).toEqual([400, 'error.confirmationrequired']);
    expect([spelled.status, spelled.body.firstName]).toEqual([200, 'Eve']);
    expect(await storedAddress('chief')).toBe('Chief@example.com');
  });

  it('cannot change the own address with a plan', async () => {
    const { token } = await makeCaller('planner', { authorities: ['ROLE_ADMIN'] });
    await gatehouse.makeUser('planned');
    const refusedFor = async (login: string, email: string) => {
      const body = { set: 'files', users: [{ login, email }] };
      const planned = await gatehouse.call('POST', '/api/plan', { token, body });
      return planned.body.changes[0].refused?.message;
    };

    expect(await refusedFor('planner', addressOf('thief'))).toBe('error.confirmationrequired');
    expect(await refusedFor('planner', 'Planner@example.com')).toBeUndefined();
    expect(await refusedFor('planned', addressOf('planned-on'))).toBeUndefined();
  });

  it('changes the address of another user at once', async () => {
    const user = await gatehouse.makeUser('helped');

    const { body } = await put({ ...user, email: addressOf('helped-on') });

    expect(body.email).toBe(addressOf('helped-on'));
  });
});

describe('without the setting', async () => {
  const shared = await useGatehouse();

  it('a key that was mailed before still confirms an international address', async () => {
    const { user } = await shared.makeCaller('earlier');
    const stored = await findUserByLogin(shared.table, 'earlier');
    if (!stored) throw new Error('There is no such user');
    const email = 'earlier@bücher.example';
    await commit(shared.table, [confirmationRequested(stored, email, Date.now())]);

    const confirmed = await confirm(await shared.keyMailedTo(user.email), shared);

    expect(confirmed.status).toBe(200);
    expect((await findUserByLogin(shared.table, 'earlier'))?.email).toBe(email);
  });
});
