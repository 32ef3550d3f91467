import { crc32 } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { Scope } from '../../lib/contract/contract.ts';
import { commit } from '../../lib/table/change.ts';
import { idText } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { claim, remove } from '../../lib/table/write.ts';
import { apiTokenKey } from '../../lib/users/session-item.ts';
import type { User } from '../../lib/users/user.ts';
import { isOfRequest, measureUnits } from '../support/costs/consumed-units.ts';
import { useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { openBarrier } from '../support/instance/hold-transactions.ts';
import { readsOf } from '../support/instance/items.ts';
import { repeatWhileBusy, type Sent } from '../support/instance/launch.ts';
import { makeTokens } from '../support/instance/mint.ts';
import { RELEASE } from '../support/instance/run-variables.ts';
import { turnOnFactor, useUsers } from '../support/instance/users.ts';

/*
 * API tokens: their lives, their ends, and what they must not do. unauthorized.test.ts has the
 * scopes of every route, audit-log.test.ts the entries of their uses, test/interleavings and
 * test/concurrency/token-ends.test.ts the races.
 */

/** The read units and partitions of the requests since they were cleared. */
const read = { units: 0, partitions: [] as string[] };
const barrier = openBarrier();
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    const held = () => barrier.intercept(call, forward);
    const { response, readUnits } = await measureUnits(call, held);
    if (call.functionName?.startsWith('GET ') && isOfRequest(call)) {
      read.units += readUnits;
      read.partitions.push(...actionsOf(call).map(({ pk }) => pk.replace(/#.*/, '')));
    }
    return response;
  },
});
const { table } = gatehouse;
const users = useUsers(gatehouse);
let admin: string;
const setup = useSetup(gatehouse);
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});
beforeEach(() => {
  Object.assign(read, { units: 0, partitions: [] });
});

const TOKENS = '/api/account/tokens';
const call = (method: string, path: string, token: string, body?: object, sent: Sent = {}) =>
  gatehouse.call(method, path, { token, body, ...sent });
const HOUR_MS = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();
const create = (token: string, fields: object = {}) =>
  repeatWhileBusy(() =>
    call('POST', TOKENS, token, { name: 'Backup', scopes: ['users:read'], ...fields }),
  );
/** The statuses of a list for every role, and of one for administrators. */
const statusesOf = async (token: string) => [
  (await call('GET', '/api/users', token)).status,
  (await call('GET', '/api/audits?size=1', token)).status,
];

describe('an API token', () => {
  it('is shown once, stored as a hash, and listed with its last use', async () => {
    const { user, token: session } = await gatehouse.makeCaller('maker');
    const scopes = ['users:read', 'account:read', 'users:read'];
    const created = await create(session, { scopes });
    const { token, ...shown } = created.body;
    const before = await call('GET', TOKENS, session);
    await call('GET', '/api/users', token);

    const after = await call('GET', TOKENS, session);

    expect(created.status).toBe(201);
    expect(shown).toMatchObject({ name: 'Backup', scopes: ['account:read', 'users:read'] });
    expect(Math.abs(Date.parse(shown.expires) - Date.parse(inHours(24 * 365)))).toBeLessThan(
      60_000,
    );
    expect(token).toBe(tokenOf(user.id, shown.series, token.slice(-49, -6)));
    expect(before.body).toEqual([{ ...shown, lastUsed: null, lastAddress: null }]);
    const lastUsed = `${new Date().toISOString().slice(0, 13)}:00:00Z`;
    expect(after.body).toEqual([{ ...shown, lastUsed, lastAddress: '127.0.0.1' }]);
    expect(JSON.stringify(await table.get(apiTokenKey(shown.series)))).not.toContain(token);
    expect((await call('GET', '/api/users/maker/tokens', admin)).body).toEqual(after.body);
  });

  it('is listed with the latest of its uses, and not at all once its item is gone', async () => {
    const { user, token: session } = await setup.account();
    const { series, token } = await setup.apiToken(user);
    await call('GET', '/api/users', token);
    const [use] = await table.query(`TOKEN-USE#${idText(user.id)}`);
    const { pk, sk, ...attributes } = use as Item;
    const earlier = { ...attributes, source: '203.0.113.7', lastUsed: '2026-01-01T00:00:00Z' };
    await commit(table, [claim({ pk, sk: `${sk}~` }, earlier, 'retry')]);

    const used = await call('GET', TOKENS, session);
    await commit(table, [remove(apiTokenKey(series))]);
    const gone = await call('GET', TOKENS, session);

    expect(used.body).toMatchObject([{ series, lastAddress: '127.0.0.1' }]);
    expect(gone.body).toEqual([]);
    expect((await call('POST', `${TOKENS}/${series}/delete`, session)).status).toBe(200);
  });

  it('is refused with the name of the field outside its limits', async () => {
    const { token } = await gatehouse.makeCaller('careless');
    const wrong: [string, object][] = [
      ['name', { name: ' ' }],
      ['name', { name: 'n'.repeat(51) }],
      ['scopes', { scopes: [] }],
      ['scopes', { scopes: 'users:read' }],
      ['scopes.1', { scopes: ['users:read', 'account:write'] }],
      // modules.test.ts in test/unit has the limits of a time, and schemas.test.ts its form.
      ['expires', { expires: inHours(24 * 365 + 1) }],
    ];
    const fields: string[] = [];
    for (const [, body] of wrong)
      fields.push((await create(token, body)).body.fieldErrors[0].field);

    const right = await create(token, { name: 'n'.repeat(50), expires: inHours(24 * 365 - 1) });

    expect(fields).toEqual(wrong.map(([field]) => field));
    expect(right.status).toBe(201);
  });

  it('is one of ten at most, also after creations at the same time', async () => {
    const { user, token } = await setup.account();
    for (let n = 0; n < 7; n++) await setup.apiToken(user);

    barrier.raise(6, true);
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => create(token).finally(barrier.lift)),
    );

    const messages = responses.map(({ status, body }) => (status === 201 ? 'made' : body.message));
    const { body: listed } = await call('GET', TOKENS, token);
    expect(messages.sort()).toEqual([
      ...Array.from({ length: 3 }, () => 'error.toomanytokens'),
      ...Array.from({ length: 3 }, () => 'made'),
    ]);
    expect(listed).toHaveLength(10);
    expect(await readsOf(table, user.id)).toBeGreaterThan(0);
    const administrator = await setup.account();
    const path = `/api/users/${user.login}/tokens`;
    expect((await call('GET', path, administrator.token)).body).toHaveLength(10);
    expect(await readsOf(table, administrator.user.id)).toBeGreaterThan(0);
    await call('POST', `${TOKENS}/${listed[0].series}/delete`, token);
    expect((await create(token)).status).toBe(201);
    expect((await call('GET', TOKENS, token)).body).toHaveLength(10);
  });

  it('is notified by mail, and audited as its owner with its series as the session', async () => {
    const { user, token } = await gatehouse.makeCaller('noted', { authorities: ['ROLE_ADMIN'] });
    const scopes = ['users:write', 'integrations:write'];
    const { body } = await create(token, { scopes });
    await call('POST', '/api/utm-integrations', body.token, {
      name: 'Noted',
      shortName: 'noted',
      integrationType: 'API',
    });
    await call('POST', `/api/users/noted/tokens/${body.series}/delete`, admin);

    const { body: entries } = await call('GET', `/api/audits?action.in=${ACTIONS}&size=3`, admin);

    const about = { target: `user/${user.id}`, targetName: 'noted' };
    expect(entries).toMatchObject([
      { ...about, actor: 'admin', changes: [{ field: 'tokens', removed: [body.series] }] },
      { action: 'integration.created', actor: 'noted', session: body.series },
      {
        ...about,
        actor: 'noted',
        changes: [
          { field: 'tokens', added: [body.series] },
          { field: 'name', to: 'Backup' },
          { field: 'scopes', added: [...scopes].sort() },
        ],
      },
    ]);
    const subjects = (await gatehouse.mailsTo(user.email)).map(({ subject }) => subject);
    expect(subjects).toContain('An API token was created');
  });

  it('tells administrators in the list of users when the first one expires', async () => {
    const { token } = await gatehouse.makeCaller('expiring');
    const filter = `?login.equals=expiring&tokensExpire.lessThan=${inHours(3)}`;
    const { body: later } = await create(token, { expires: inHours(4) });
    const none = await users.list(filter);
    const { body: first } = await create(token, { expires: inHours(2) });

    const found = await users.list(filter);

    expect([none.body.length, first.expires < later.expires]).toEqual([0, true]);
    expect(found.body).toMatchObject([{ login: 'expiring', tokensExpire: first.expires }]);
    expect((await users.list(filter, token)).status).toBe(403);
    expect((await users.get('expiring', token)).body).not.toHaveProperty('tokensExpire');
    const renamed = await users.update({ ...found.body[0], firstName: 'Ex' });
    const deactivated = await users.update({ ...found.body[0], activated: false });
    const shown = [renamed, deactivated].map(({ body }) => body.tokensExpire);
    expect(shown).toEqual([first.expires, null]);
  });
});

const ACTIONS = 'token.created,token.deleted,integration.created';

/** A token of the present form, by a description of the form that is not the one of lib. */
function tokenOf(userId: number, series: string, secret: string): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const text = `${userId}_${series}_${secret}`;
  let rest = crc32(text);
  let checksum = '';
  for (; checksum.length < 6; rest = Math.floor(rest / 62)) checksum = digits[rest % 62] + checksum;
  return `gha_${text}${checksum}`;
}

describe('a wrong API token', () => {
  it('is refused with 401 for at most one read unit, without a read of its user', async () => {
    const { user, token: session } = await setup.account();
    const [{ token, series }, other] = [await setup.apiToken(user), await setup.apiToken(user)];
    const { user: stranger } = await setup.account();
    const deleted = await setup.account();
    const ofDeleted = await setup.apiToken(deleted.user);
    await users.remove(deleted.user.login);
    const ended = await setup.apiToken(user);
    await call('POST', `${TOKENS}/${ended.series}/delete`, session);
    const expired = await create(session, { expires: inHours(5 / 3600) });
    const secret = token.slice(-49, -6);
    const jwt = makeTokens(admin).of(user).token.split('.');
    const wrong: [string, string, number][] = [
      ["another user's id", tokenOf(stranger.id, series, secret), 1],
      ['another series', tokenOf(user.id, other.series, secret), 1],
      ['an unknown series', tokenOf(user.id, '0'.repeat(22), secret), 1],
      ['no id of a user', tokenOf(0, series, secret), 0],
      ['another secret', tokenOf(user.id, series, 'x'.repeat(43)), 1],
      ['a wrong checksum', `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`, 0],
      ['an upper-case prefix', token.replace('gha_', 'GHA_'), 0],
      ['a long end', `${token}${'0'.repeat(5000)}`, 0],
      ['two tokens', `${token} ${token}`, 0],
      ['a module prefix', token.replace('gha_', 'ghm_'), 0],
      ['no signature', `${jwt[0]}.${jwt[1]}.${token}`, 0],
      ['deleted', ended.token, 1],
      ['of a deleted user', ofDeleted.token, 1],
      ['expired', expired.body.token, 1],
    ];
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(expired.body.expires));
    const { body: listed } = await call('GET', TOKENS, session);
    const warm = [await statusesOf(token), await statusesOf(wrong[0]?.[1] ?? '')];

    const refusals: [string, number, number, string[]][] = [];
    for (const [name, sent] of wrong) {
      Object.assign(read, { units: 0, partitions: [] });
      const { status, headers } = await call('GET', '/api/users', sent);
      refusals.push([name, status, read.units, read.partitions]);
      expect(headers['www-authenticate']).toBe('Bearer error="invalid_token"');
    }

    expect(listed.map((each: { series: string }) => each.series)).toEqual([series, other.series]);
    expect(warm).toEqual([
      [200, 200],
      [401, 401],
    ]);
    expect(refusals).toEqual(
      wrong.map(([name, , units]) => [name, 401, units, units > 0 ? ['TOKEN'] : []]),
    );
    const lowerCase = { headers: { Authorization: `bearer ${token}` } };
    expect((await gatehouse.call('GET', '/api/users', lowerCase)).status).toBe(200);
    // Stored once an hour by each process, of which two releases have two.
    expect(RELEASE ? [] : read.partitions).not.toContain('TOKEN-USE');
  });

  it('is not replaced by a signed token with its series as jti', async () => {
    const { user } = await setup.account();
    const { series } = await setup.apiToken(user);
    const { token } = makeTokens(admin).of(user, series);

    expect(await statusesOf(token)).toEqual([401, 401]);
  });
});

interface Owner {
  readonly user: User;
  readonly session: string;
  readonly series: string;
}
const put = async ({ user: { login } }: Owner, changes: object) =>
  users.update({ ...(await users.get(login)).body, ...changes });
const ENDS: [string, (owner: Owner) => Promise<{ status: number }>, number[]?][] = [
  ['is deleted', ({ session, series }) => call('POST', `${TOKENS}/${series}/delete`, session)],
  [
    'is deleted by an administrator',
    ({ user, series }) => call('POST', `/api/users/${user.login}/tokens/${series}/delete`, admin),
  ],
  ['loses its user', ({ user }) => users.remove(user.login)],
  [
    'loses its user, who deletes the account',
    ({ user, session }) => users.remove(user.login, session),
  ],
  ['has a deactivated user', (owner) => put(owner, { activated: false })],
  [
    'had a deactivated user',
    async (owner) => (await put(owner, { activated: false })) && put(owner, { activated: true }),
  ],
  ['has a demoted user', (owner) => put(owner, { authorities: ['ROLE_USER'] }), [200, 403]],
  [
    'ends with all sessions',
    ({ user }) => call('POST', `/api/users/${user.login}/end-sessions`, admin),
  ],
  [
    'ends with the other sessions',
    ({ session }) => call('POST', '/api/account/end-other-sessions', session),
  ],
  [
    'has a user without the second factor',
    async ({ user }) => {
      await setup.secondFactor(user);
      return call('POST', `/api/users/${user.login}/second-factor/remove`, admin);
    },
  ],
];

it.each(ENDS)('a token is refused with the next request after it %s', async (_, end, after) => {
  const { user, token: session } = await setup.account();
  const { series, token } = await setup.apiToken(user);
  const before = await statusesOf(token);

  const { status } = await end({ user, session, series });

  expect([before, status]).toEqual([[200, 200], 200]);
  expect(await statusesOf(token)).toEqual(after ?? [401, 401]);
  const { headers } = await call('GET', '/api/audits', token);
  expect(headers['www-authenticate'] ?? '').not.toContain('scope');
});

it('a deletion names a token of its own user only, and 404 says that there is none', async () => {
  const { user: other, token: session } = await setup.account();
  await setup.apiToken(other);
  const { user } = await setup.account();
  const { token, series } = await setup.apiToken(user);
  const paths = [
    [`${TOKENS}/${series}/delete`, session],
    [`${TOKENS}/unknown/delete`, session],
    [`/api/users/admin/tokens/${series}/delete`, admin],
    [`/api/users/nobody/tokens/${series}/delete`, admin],
  ] as const;

  for (const [path, as] of paths) expect((await call('POST', path, as)).status).toBe(404);

  expect((await call('GET', '/api/users/nobody/tokens', admin)).status).toBe(404);
  expect(await statusesOf(token)).toEqual([200, 200]);
});

it('a token outlives a new password, a second factor and the log-out of its owner', async () => {
  const { user } = await gatehouse.makeCaller('keeper', {
    password: 'keeper',
    authorities: ['ROLE_ADMIN'],
  });
  const { token } = await setup.apiToken(user);

  const { token: session } = await turnOnFactor(gatehouse, 'keeper');
  const withFactor = await statusesOf(token);
  const body = { currentPassword: 'keeper', newPassword: 'another one' };
  const { status } = await call('POST', '/api/account/change-password', session, body);
  await call('POST', '/api/logout', session);

  expect([withFactor, status, await statusesOf(token)]).toEqual([[200, 200], 200, [200, 200]]);
});

it('a log-out or a report with a token is refused with 403, and the token stays', async () => {
  const { token } = await setup.apiToken((await setup.account()).user);
  const report = { running: 1 };

  const responses = [
    await call('POST', '/api/logout', token),
    await call('POST', '/api/utm-integrations/1/module/report', token, report),
  ];

  for (const { status, headers } of responses)
    expect([status, headers['www-authenticate']]).toEqual([
      403,
      'Bearer error="insufficient_scope"',
    ]);
  expect(await statusesOf(token)).toEqual([200, 200]);
});

describe('with a token, an administrator', () => {
  const writes: readonly Scope[] = ['users:write'];
  let token: string;
  beforeAll(async () => {
    ({ token } = await setup.apiToken((await setup.account()).user, writes));
  });
  const administrator = async (fields: Partial<User> = {}) => {
    const { login } = (await setup.account(fields)).user;
    return (await users.get(login)).body;
  };
  const person = (login: string) => ({ login, email: `${login}@example.com` });
  const refused = [403, 'Bearer error="insufficient_scope"'];

  it('creates users, but no administrators and no passwords', async () => {
    const statuses: unknown[] = [];
    for (const fields of [{ authorities: ['ROLE_ADMIN'] }, { password: 'a password' }, {}]) {
      const { status, headers } = await users.create({ ...person('created'), ...fields }, token);
      statuses.push([status, headers['www-authenticate']]);
    }

    expect(statuses).toEqual([refused, refused, [201, undefined]]);
  });

  it.each<[string, Partial<User>, object, boolean]>([
    ['makes no administrator', { authorities: [] }, { authorities: ['ROLE_ADMIN'] }, false],
    ['activates no administrator', { activated: false }, { activated: true }, false],
    ['changes no address of an administrator', {}, { email: 'thief@example.com' }, false],
    ['changes the names of an administrator', {}, { firstName: 'Ada' }, true],
    ['changes no address by its spelling', {}, { login: 'renamed' }, true],
    ['deactivates an administrator', {}, { activated: false }, true],
    ['takes the role of an administrator', {}, { authorities: [] }, true],
    ['changes the address of others', { authorities: [] }, { email: 'other@example.com' }, true],
    ['activates others', { authorities: [], activated: false }, { activated: true }, true],
  ])('%s', async (_, fields, changes, isAllowed) => {
    const before = await administrator(fields);

    const { status, headers } = await users.update({ ...before, ...changes }, token);

    expect([status, headers['www-authenticate']]).toEqual(isAllowed ? [200, undefined] : refused);
    const stored = (await users.stored(before.id)) as Record<string, unknown>;
    expect(stored).toMatchObject(isAllowed ? changes : fields);
  });
});
