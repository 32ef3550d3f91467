import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { setUser } from '../support/instance/items.ts';
import { useUsers } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();
const { create, update, get, list } = useUsers(gatehouse);

let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

const addressOf = (login: string) => `${login}@example.com`;
const invitee = async (login: string, fields = {}) =>
  (await create({ login, email: addressOf(login), ...fields })).body;
const invite = (login: string) => gatehouse.call('POST', `/api/users/${login}/invite`, { token });
const finish = async (login: string) => {
  const body = { key: await gatehouse.keyMailedTo(addressOf(login)), newPassword: 'my first' };
  return gatehouse.call('POST', '/api/account/reset-password/finish', { body });
};
const stateOf = async (login: string) => (await get(login)).body.state;
const DAY_MS = 86_400_000;
const invitedDaysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

describe('the state of a user', () => {
  it('goes from invited over a password to a log-in, also in lists', async () => {
    await invitee('newcomer');
    const states = [await stateOf('newcomer')];

    await finish('newcomer');
    states.push(await stateOf('newcomer'));
    const found = await list('?state.equals=neverLoggedIn&login.contains=newcomer');
    await gatehouse.logIn('newcomer', 'my first');
    states.push(await stateOf('newcomer'));

    expect(states).toEqual(['invited', 'neverLoggedIn', 'active']);
    expect(found.body).toMatchObject([{ login: 'newcomer', state: 'neverLoggedIn' }]);
  });

  it('is an invitation again after a new address, unless no mail reaches it', async () => {
    const user = await invitee('mover');
    await setUser(gatehouse.table, user.id, { invitedAt: invitedDaysAgo(2) });
    const states = [await stateOf('mover')];

    for (const fields of [
      { email: 'moved@example.com' },
      { activated: false },
      { email: 'mover@localhost' },
    ])
      states.push((await update({ ...user, activated: true, ...fields })).body.state);

    expect(states).toEqual(['invitationExpired', 'invited', 'deactivated', 'neverLoggedIn']);
    expect(await stateOf('mover')).toBe('neverLoggedIn');
  });
});

describe('inviting again', () => {
  it('mails another key, and says who invites whom to what', async () => {
    const { id } = await invitee('late', { firstName: 'Lena' });
    await setUser(gatehouse.table, id, { invitedAt: invitedDaysAgo(2) });

    const { status, text } = await invite('late');

    expect([status, text]).toEqual([200, '']);
    expect(await stateOf('late')).toBe('invited');
    const mails = await gatehouse.mailsTo(addressOf('late'));
    expect(mails).toHaveLength(2);
    expect(mails[1]?.subject).toBe('Your account at Gatehouse');
    expect(mails[1]?.text).toMatch(
      /^Dear Lena,\n\nAdministrator Administrator invites you to Gatehouse. Your login is late. /,
    );
    expect((await finish('late')).status).toBe(200);
    const trail = await gatehouse.call(
      'GET',
      `/api/audits?target.equals=user/${id}&action.equals=user.invited`,
      { token },
    );
    expect(trail.body).toMatchObject([{ actor: 'admin', targetName: 'late', fields: [] }]);
  });

  it.each([
    ['has a password', { password: 'mine' }],
    ['is deactivated', { activated: false }],
    ['has an address that no mail reaches', { email: 'unreachable@localhost' }],
  ])('is rejected with 400 for a user who %s', async (reason, fields) => {
    const login = reason.replaceAll(' ', '-');
    await invitee(login, fields);

    const { status, body } = await invite(login);

    expect([status, body.message]).toEqual([400, 'error.notinvitable']);
  });

  it('is limited to five mails an hour, and 404 for an unknown user', async () => {
    await invitee('popular');

    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push((await invite('popular')).status);
    const { status, headers } = await invite('popular');

    expect([...statuses, status]).toEqual([200, 200, 200, 200, 200, 429]);
    expect(Number(headers['retry-after'])).toBeGreaterThan(3500);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(3601);
    expect(await gatehouse.mailsTo(addressOf('popular'))).toHaveLength(6);
    expect((await invite('nobody')).status).toBe(404);
  });
});
