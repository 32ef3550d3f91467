import { expect, it, vi } from 'vitest';
import type { Access } from '../../lib/contract/contract.ts';
import { authorize, openAccessSettings } from '../../lib/sessions/authorize.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put, remove, set, versionIs } from '../../lib/table/write.ts';
import { endedSessions } from '../../lib/users/account-limits.ts';
import type { CallerFrom } from '../../lib/users/caller.ts';
import { sessionKey } from '../../lib/users/session-item.ts';
import { memoryTable, recordsIn } from '../support/doubles/memory-table.ts';
import { storedSession, storedUser } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';

/* Every kind of refused caller is in test/api/unauthorized.test.ts. */

const CALLER: CallerFrom = { id: 7, jti: 'token', expires: 1_900_000_000, source: '192.0.2.1' };
const INTEGRATORS: Access = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'] };
const USER = { ...entityKey('USER', 7), ...storedUser(7, 'ada') };
const SESSION = { ...sessionKey(CALLER), ...storedSession(storedUser(7, 'ada'), CALLER) };

const CHANGE = {
  decide: () => ({
    writes: [put({ pk: 'A', sk: 'B' }, {})],
    result: undefined,
    event: {
      action: 'integration.deleted',
      target: 'integration/5',
      targetName: 'Gate',
      changes: [],
    } as const,
  }),
};
/** The start of a window in which changes are counted. */
const NOW = Date.UTC(2030, 0, 1);

const TOKEN: CallerFrom = { ...CALLER, scopes: ['users:read'] };
const withTokens = (...listed: string[]) => ({
  ...USER,
  tokens: listed.map((series) => ({ series, expires: '2031-01-01T00:00:00Z' })),
});
const OF_DELETED = {
  ...SESSION,
  deletedUser: { authorities: ['ROLE_USER'], secondFactor: false },
};
const BY_PROVIDER = { ...SESSION, issuer: 'https://idp.example', secondFactor: true };
const ENDING = { DELETION_ENDS_SESSIONS: 'true' };
const FACTOR = { FACTOR_REQUIRED_FOR: 'ROLE_USER', FACTOR_REQUIRED_FROM: '2026-01-01' };
const ANY: Access = 'authenticated';

it.each<[string, string | undefined, object[], Access, Record<string, string>?, CallerFrom?]>([
  ['a session', undefined, [USER, SESSION], INTEGRATORS],
  ['an ended session', 'invalid-token', [USER], ANY],
  ['a deactivated user', 'invalid-token', [{ ...USER, activated: false }, SESSION], ANY],
  ['a deleted user', undefined, [OF_DELETED], ANY],
  ['a deleted user for what requires a role', 'invalid-token', [OF_DELETED], INTEGRATORS],
  ['a deleted user whose sessions end', 'invalid-token', [OF_DELETED], ANY, ENDING],
  ['no second factor', 'second-factor-required', [USER, SESSION], ANY, FACTOR],
  ['the factor of a user', undefined, [{ ...USER, secondFactor: {} }, SESSION], ANY, FACTOR],
  ['the factor of a provider', undefined, [USER, BY_PROVIDER], ANY, FACTOR],
  ['an API token', undefined, [withTokens('other', 'token')], ANY, {}, TOKEN],
  ['an ended API token', 'invalid-token', [withTokens('other')], ANY, {}, TOKEN],
  ['the last API token, which has ended', 'invalid-token', [USER], ANY, {}, TOKEN],
  ['no scope', 'insufficient-scope', [withTokens('token')], ANY, {}, { ...TOKEN, scopes: [] }],
])('the access with %s: %s', async (_, code, items, access, environment = {}, caller = CALLER) => {
  freezeClock(NOW);
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const ended = endedSessions();
  const settings = { ...openAccessSettings(), scope: 'users:read' as const, ended };

  const required = authorize(memoryTable(items as never), caller, access, settings);

  if (code) await expect(required.requireAuthorized()).rejects.toMatchObject({ code });
  else await required.requireAuthorized();
  const remembered = [caller, { ...caller, jti: 'other' }].map(ended.has);
  expect(remembered).toEqual([code === 'invalid-token', false]);
});

it.each([
  ['was kept', set(sessionKey(CALLER), { passwordChanges: 1 }), undefined],
  ['has ended', remove(sessionKey(CALLER)), 'invalid-token'],
])(
  'a session that %s between the reads of it and its user is read again',
  async (_, write, code) => {
    freezeClock(NOW);
    const table = memoryTable([{ ...USER, passwordChanges: 1 }, SESSION] as never);
    const { getAll } = table;
    table.getAll = async (keys) => {
      const read = await getAll(keys);
      await table.transact([write], '');
      return read;
    };

    const authorized = authorize(table, CALLER, INTEGRATORS).requireAuthorized();

    if (code) await expect(authorized).rejects.toMatchObject({ code });
    else await authorized;
    expect(table.calls).toEqual(['getAll 2', 'getAll 1']);
  },
);

it('a change beyond the budget of its account is rejected until the window ends', async () => {
  freezeClock(NOW + 3000);
  const table = memoryTable([USER, SESSION] as never);
  table.update = async () => undefined;

  const changed = authorize(table, CALLER, INTEGRATORS).change(CHANGE);

  await expect(changed).rejects.toMatchObject({ code: 'change-budget-spent', retryAfter: 7 });
});

it.each([
  ['2026-01-01', 'second-factor-required'],
  ['2031-01-01', undefined],
])('a change beside which its caller turns off the factor required from %s', async (from, code) => {
  freezeClock(NOW);
  const secondFactor = { roles: ['ROLE_USER' as const], from };
  const table = memoryTable([{ ...USER, secondFactor: {}, factorChanges: 1 }, SESSION] as never);
  table.concurrent.push([set(entityKey('USER', 7), { secondFactor: undefined, factorChanges: 2 })]);

  const changed = authorize(table, CALLER, INTEGRATORS, { secondFactor }).change(CHANGE);

  if (code) await expect(changed).rejects.toMatchObject({ code });
  else await changed;
  expect(table.calls).toHaveLength(code ? 2 : 1);
});

it('a change that meets a conflict loads again, and prepares and counts once', async () => {
  freezeClock(NOW);
  const table = memoryTable([USER, SESSION] as never);
  const steps: string[] = [];

  const caller = authorize(table, CALLER, INTEGRATORS);
  await caller.requireAuthorized();
  const result = await caller.change({
    loadEarly: async () => steps.push('load early'),
    load: async (early) => `${early}.${steps.push('load')}`,
    prepare: async (loaded) => `${loaded}.${steps.push('prepare')}`,
    decide: ({ loaded, prepared }) => {
      // The change is about its caller, whom two reads find in two versions at first.
      const read = versionIs({ version: loaded === '1.2' ? '2-abc' : USER.version });
      const writes = [set(entityKey('USER', 7), { version: '4-def' }, read)];
      return { ...CHANGE.decide(), writes, result: [loaded, prepared] };
    },
  });

  expect(steps).toEqual(['load early', 'load', 'prepare', 'load early', 'load']);
  expect(table.calls).toEqual(['getAll 2', 'getAll 2']);
  expect(table.updates).toHaveLength(1);
  expect(recordsIn(table)).toEqual(['ada token integration.deleted integration/5 Gate']);
  expect(result).toEqual(['4.5', '1.2.3']);
});
