import { beforeAll, describe, expect, it } from 'vitest';
import { errorResponse } from '../../infra/local/calls/aws-call.ts';
import { commit } from '../../lib/table/change.ts';
import { OUTLIVING_SESSIONS_MAX, sessionStarted } from '../../lib/users/session-item.ts';
import type { User } from '../../lib/users/user.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { storedSession } from '../support/doubles/stored-items.ts';
import { untilEarlyInWindow } from '../support/doubles/time.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { readsOf } from '../support/instance/items.ts';
import { decode } from '../support/instance/mint.ts';
import { RELEASE } from '../support/instance/run-variables.ts';

/** Fails the calls of functions whose input contains it. */
let fails: string | undefined;
const gatehouse = await useGatehouse({
  intercept: async ({ functionName, input }, forward) =>
    functionName && fails !== undefined && JSON.stringify(input).includes(fails)
      ? errorResponse('InternalServerError', 'No.', 500)
      : forward(),
});
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

const call = (method: string, path: string, token: string | undefined) =>
  gatehouse.call(method, path, { token });
const statusOf = async (token?: string, path = '/api/account') =>
  (await call('GET', path, token)).status;
const statusesOf = (...tokens: (string | undefined)[]) =>
  Promise.all(tokens.map((token) => statusOf(token)));
const seriesOf = (token = '') => String(decode(token.split('.')[1]).jti);
const sessionsOf = async (token?: string) =>
  (await call('GET', '/api/account/sessions', token)).body as Record<string, unknown>[];
const entriesOf = async (query: string) =>
  (await call('GET', `/api/audits?${query}`, admin)).body as Record<string, unknown>[];

/** Makes an account and logs it in this many times. */
async function loggedIn(
  login: string,
  times: number,
  authorities = ['ROLE_USER'],
): Promise<[User, ...string[]]> {
  await gatehouse.makeUser(login, { authorities });
  const tokens: string[] = [];
  for (let n = 0; n < times; n++) tokens.push(await gatehouse.logIn(login));
  return [(await findUserByLogin(gatehouse.table, login)) as User, ...tokens];
}

describe('the sessions of an account', () => {
  it('are listed with their origin and times, the latest first', async () => {
    await gatehouse.makeUser('lister');
    const logIn = async (rememberMe: boolean, userAgent: string) => {
      const body = { username: 'lister', password: 'lister', rememberMe };
      const headers = { 'User-Agent': userAgent };
      return (await gatehouse.call('POST', '/api/authenticate', { body, headers })).body.id_token;
    };
    const first = await logIn(true, `curl/8.5 <script>${'x'.repeat(300)}`);
    const second = await logIn(false, 'Mozilla/5.0 (X11; Linux x86_64)');

    const sessions = await sessionsOf(first);

    const common = {
      ipAddress: '127.0.0.1',
      tokenDate: expect.stringMatching(/^20.*Z$/),
      issuer: null,
    };
    // The release states no issuer.
    expect(sessions.map((session) => ({ issuer: null, ...session }))).toEqual([
      {
        ...common,
        series: seriesOf(second),
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
        remembered: false,
        secondFactor: false,
        current: false,
        expires: expect.any(String),
      },
      {
        ...common,
        series: seriesOf(first),
        userAgent: `curl/8.5 script${'x'.repeat(240)}`,
        remembered: true,
        secondFactor: false,
        current: true,
        expires: new Date(Number(decode(first.split('.')[1]).exp) * 1000).toISOString(),
      },
    ]);
  });

  it('end one by one, with the next request', async () => {
    const [, kept, ended] = await loggedIn('ender', 2);
    const path = `/api/account/sessions/${seriesOf(ended)}/end`;

    const { status, text } = await call('POST', path, kept);

    expect([status, text]).toEqual([200, '']);
    expect(await statusesOf(kept, ended)).toEqual([200, 401]);
    expect((await sessionsOf(kept)).map(({ series }) => series)).toEqual([seriesOf(kept)]);
    expect((await call('DELETE', path, kept)).status).toBe(404);
  });

  it('end by logging out, as often as that is repeated', async () => {
    const [user, token, other] = await loggedIn('leaver', 2);

    const { status, text } = await call('POST', '/api/logout', token);
    const again = await call('POST', '/api/logout', token);

    expect([status, text, again.status]).toEqual([200, '', 200]);
    expect(await statusesOf(token, other)).toEqual([401, 200]);
    const entries = await entriesOf(`actorId.equals=${user.id}&action.equals=session.ended`);
    expect(entries).toMatchObject([{ session: seriesOf(token), source: '127.0.0.1' }]);
  });

  it('do not end by logging out without an entry in the audit trail', async () => {
    const [, token] = await loggedIn('stayer', 1);

    fails = 'session.ended';
    const { status } = await call('POST', '/api/logout', token);
    fails = undefined;

    expect([status, await statusOf(token)]).toEqual([503, 200]);
  });

  it('end all but the current one, which can then end itself', async () => {
    const [user, own, ...others] = await loggedIn('sweeper', 3);

    const { status } = await call('POST', '/api/account/end-other-sessions', own);
    const later = await gatehouse.logIn('sweeper');

    expect(status).toBe(200);
    expect(await statusesOf(own, ...others, later)).toEqual([200, 401, 401, 200]);
    const entries = await entriesOf(`actorId.equals=${user.id}&action.equals=sessions.ended`);
    expect(entries).toMatchObject([{ target: `user/${user.id}`, changes: [] }]);
    await call('POST', '/api/logout', own);
    expect(await statusesOf(own, later)).toEqual([401, 200]);
  });

  it('stay ended when the account is deleted, and the others can still read', async () => {
    const [, live, ended, last] = await loggedIn('deleted', 3);
    await call('POST', '/api/logout', ended);
    await call('DELETE', '/api/users/deleted', admin);
    const read = () =>
      Promise.all([live, ended, last].map((token) => statusOf(token, '/api/users')));

    const after = await read();
    const { status } = await call('POST', '/api/logout', last);

    expect([after, status, await read()]).toEqual([[200, 401, 200], 200, [200, 401, 401]]);
  });

  it('are ended by their own account only, whatever series is given', async () => {
    const [, own] = await loggedIn('nosy', 1);
    const [, foreign] = await loggedIn('target', 1);
    const series = seriesOf(foreign);

    const { status } = await call('POST', `/api/account/sessions/${series}/end`, own);

    expect([status, await statusOf(foreign)]).toEqual([404, 200]);
  });

  it('end with the deletion of the account if they are the oldest of many', async () => {
    const [user, old] = await loggedIn('script', 1);
    const expires = Math.floor(Date.now() / 1000) + 600;
    const later = Array.from({ length: OUTLIVING_SESSIONS_MAX - 1 }, (_, n) => `zzzzz-${n}`);
    await commit(
      gatehouse.table,
      later.map((jti) => sessionStarted(user, storedSession(user, { jti, expires }))),
    );
    const latest = await gatehouse.logIn('script');

    await call('DELETE', '/api/users/script', admin);

    expect(await statusOf(latest, '/api/users')).toBe(200);
    expect(await statusOf(old, '/api/users')).toBe(401);
  });

  it.skipIf(RELEASE)('outlive the account although many later ones have expired', async () => {
    const [user, old] = await loggedIn('returning', 1);
    const expired = Array.from({ length: OUTLIVING_SESSIONS_MAX }, (_, n) =>
      sessionStarted(user, storedSession(user, { jti: `zzzzz-${n}`, expires: 1 })),
    );
    await commit(gatehouse.table, expired);

    await call('DELETE', '/api/users/returning', admin);

    expect(await statusOf(old, '/api/users')).toBe(200);
  });
});

it('a long list of sessions is charged to the read budget of the caller', async () => {
  const [user, token] = await loggedIn('busy', 1);
  const [manager, managersToken] = await loggedIn('manager', 1, ['ROLE_ADMIN']);
  const expires = Math.floor(Date.now() / 1000) + 600;
  for (const hour of [1, 2])
    await commit(
      gatehouse.table,
      Array.from({ length: 90 }, (_, n) =>
        sessionStarted(user, storedSession(user, { jti: `${hour}-${n}`, expires })),
      ),
    );

  const own = await call('GET', '/api/account/sessions', token);
  const foreign = await call('GET', '/api/users/busy/sessions', managersToken);

  expect([own.body.length, foreign.body.length]).toEqual([181, 181]);
  for (const caller of [user, manager])
    expect(await readsOf(gatehouse.table, caller.id)).toBeGreaterThan(0);
});

describe('an administrator', () => {
  it('lists the sessions of a user and ends one or all of them', async () => {
    const [user, one, other] = await loggedIn('managed', 2);
    const path = '/api/users/managed/sessions';

    const listed = await call('GET', path, admin);
    const ended = await call('POST', `${path}/${seriesOf(one)}/end`, admin);
    const statuses = await statusesOf(one, other);
    const all = await call('POST', '/api/users/managed/end-sessions', admin);

    expect(listed.body.map(({ series }: { series: string }) => series)).toEqual(
      [other, one].map(seriesOf),
    );
    expect([ended.status, statuses, all.status]).toEqual([200, [401, 200], 200]);
    expect(await statusOf(other)).toBe(401);
    expect((await call('GET', path, admin)).body).toEqual([]);
    const entries = await entriesOf(
      `target.equals=user/${user.id}&action.in=session.ended,sessions.ended`,
    );
    expect(entries).toMatchObject([
      { actor: 'admin', action: 'sessions.ended', changes: [], source: '127.0.0.1' },
      {
        actor: 'admin',
        action: 'session.ended',
        changes: [{ field: 'sessions', removed: [seriesOf(one)] }],
      },
    ]);
  });

  it.each([
    ['GET', '/api/users/nobody/sessions'],
    ['POST', '/api/users/nobody/end-sessions'],
    ['POST', '/api/users/nobody/sessions/series/end'],
    ['POST', '/api/users/user/sessions/series/end'],
  ])('gets 404 for an unknown user or session: %s %s', async (method, path) => {
    expect((await call(method, path, admin)).status).toBe(404);
  });
});

it('only administrators see when a user last logged in; it leaves the ETag alone', async () => {
  const [user, token] = await loggedIn('regular', 1);
  const read = (path: string, as?: string) => call('GET', path, as);
  const path = '/api/users/regular';
  const list = '/api/users?login.equals=regular';

  const before = await read(path, admin);
  await gatehouse.logIn('regular');
  const after = await read(path, admin);

  expect(before.body.lastLogin).toBe(user.lastLogin);
  expect(after.body.lastLogin > before.body.lastLogin).toBe(true);
  expect(after.headers.etag).toBe(before.headers.etag);
  expect((await read(list, admin)).body[0].lastLogin).toBe(after.body.lastLogin);
  for (const { body } of [await read(path, token), await read(list, token)])
    expect(JSON.stringify(body)).not.toContain('lastLogin');
});

it('a rejected login and a mailed reset are audited with their source', async () => {
  const [user] = await loggedIn('attacked', 1);
  await gatehouse.call('POST', '/api/account/reset-password/init', { body: { email: user.email } });
  await gatehouse.keyMailedTo(user.email);
  const body = { username: 'attacked', password: 'wrong' };
  // The waits double, so one is longer than an attempt on any machine.
  const attempt = async () => (await gatehouse.call('POST', '/api/authenticate', { body })).status;
  await untilEarlyInWindow();
  while ((await attempt()) !== 429);

  const entries = await entriesOf(`target.equals=user/${user.id}&actorId.equals=0&sort=time,asc`);

  const common = { actor: 'anonymous', targetName: 'attacked', source: '127.0.0.1' };
  expect(entries).toMatchObject([
    { action: 'reset.requested', ...common },
    { action: 'login.failed', ...common, count: 1 },
    { action: 'login.throttled', ...common },
  ]);
  expect(entries).toHaveLength(3);
});
