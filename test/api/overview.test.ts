import { beforeAll, describe, expect, it } from 'vitest';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { auditKey } from '../../lib/audit/audit-entry.ts';
import { VERIFIED_ATTRIBUTES } from '../../lib/operations/integrity/find-defect.ts';
import { verifyTable } from '../../lib/operations/integrity/verify-table.ts';
import { overviewKey } from '../../lib/operations/overview/count-overview.ts';
import { commit } from '../../lib/table/change.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { LIST_UNITS_MAX } from '../../lib/table/table.ts';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import { EXISTS, put, remove, set } from '../../lib/table/write.ts';
import { rosterIdsOf, rosterKey } from '../../lib/users/user-items.ts';
import { measureUnits } from '../support/costs/consumed-units.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { forgetReads, readsOf, setReads } from '../support/instance/items.ts';
import { useUsers } from '../support/instance/users.ts';

const MEASURED: unknown[] = ['GET /api/overview', 'POST /api/overview/count'];
let units = 0;
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    if (!MEASURED.includes(call.functionName)) return forward();
    const { response, readUnits } = await measureUnits(call, forward);
    units += readUnits;
    return response;
  },
});
const { create } = useUsers(gatehouse);

let token: string;
const read = (path: string) => gatehouse.call('GET', path, { token });
const count = () => gatehouse.call('POST', '/api/overview/count', { token });
/** The read units of a request, and how many of them its caller is charged for. */
async function unitsOf<R>(request: () => Promise<R>) {
  await forgetReads(gatehouse.table, 1);
  units = 0;
  const response = await request();
  return { response, units, charged: await readsOf(gatehouse.table, 1) };
}
const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();
const setItem = (kind: 'USER' | 'INTEGRATION', id: number, attributes: object) =>
  commit(gatehouse.table, [set(entityKey(kind, id), { ...attributes }, EXISTS)]);

const PEOPLE: [string, object, object][] = [
  ['boss', { authorities: ['ROLE_ADMIN'], password: 'boss' }, { lastLogin: daysAgo(91) }],
  ['left', { authorities: ['ROLE_USER'], activated: false }, {}],
  ['missed', {}, { invitedAt: daysAgo(2) }],
  ['asked', {}, {}],
  ['timid', { password: 'timid' }, {}],
];
const MODULES: [string, object][] = [
  ['failed', { report: { running: 0, failed: 1 }, seen: daysAgo(0) }],
  ['behind', { report: { running: 0 }, seen: daysAgo(2) }],
  ['current', { report: { running: 1 }, seen: daysAgo(0) }],
];

const entry = (action: string, time: string, actorId = 0, others = {}) => {
  const id = crypto.randomUUID();
  const who = { actor: 'x', actorId, target: 'user/1', targetName: 'admin', fields: [] };
  return put(auditKey(time, id), { id, time, action, ...who, ...others });
};

beforeAll(async () => {
  token = await gatehouse.adminToken();
  for (const [login, fields, attributes] of PEOPLE) {
    const { body } = await create({ login, email: `${login}@example.com`, ...fields });
    await setItem('USER', body.id, attributes);
  }
  for (const [name, attributes] of MODULES) {
    const body = { name, shortName: name, integrationType: 'API', active: true };
    const made = await gatehouse.call('POST', '/api/utm-integrations', { token, body });
    const path = `/api/utm-integrations/${made.body.id}/credentials`;
    const expires = new Date(Date.now() + (name === 'failed' ? 29 : 31) * DAY_MS).toISOString();
    await gatehouse.call('POST', path, { token, body: { expires } });
    await setItem('INTEGRATION', made.body.id, { moduleRevision: 1, ...attributes });
  }
  await commit(gatehouse.table, [
    entry('login.failed', daysAgo(0.5)),
    entry('login.failed', daysAgo(0.5), 1),
    entry('login.throttled', daysAgo(1.5)),
    entry('login.failed', daysAgo(0.5), 0, { expires: Math.floor(Date.now() / 1000) - 60 }),
    entry('session.started', daysAgo(13), 1),
    entry('user.updated', daysAgo(13), 1),
    entry('module.reported', daysAgo(13), 1),
    entry('user.updated', daysAgo(14), 1),
  ]);
});

describe('the overview', () => {
  it('has no counts before the first count', async () => {
    const { status, body } = await read('/api/overview');

    expect(status).toBe(200);
    expect(body).toMatchObject({ countedAt: null, counts: null, days: null });
  });

  it('has counts that are the lengths of the lists with these filters', async () => {
    expect(await count()).toMatchObject({ status: 200, text: '' });
    const { body } = await read('/api/overview');

    const at = (days: number) => new Date(Date.parse(body.countedAt) + days * DAY_MS).toISOString();
    const lists: Record<string, string> = {
      users: '/api/users?sort=login',
      administratorsWithoutSecondFactor:
        '/api/users?activated=true&authorities=ROLE_ADMIN&secondFactor=false',
      usersNeverLoggedIn: '/api/users?state=neverLoggedIn',
      usersInactive: `/api/users?activated=true&lastLogin.lessThan=${at(-90)}`,
      deactivatedUsersWithRoles: '/api/users?activated=false&authorities.specified=true',
      expiredInvitations: '/api/users?state=invitationExpired',
      modulesFailed: '/api/modules?active=true&progress=failed',
      modulesBehind: '/api/modules?active=true&progress=behind',
      modulesSilent: `/api/modules?active=true&lastSeen.lessThan=${at(-25 / 24)}`,
      modulesWithExpiringCredentials: `/api/modules?active=true&credentialsExpire.lessThan=${at(30)}`,
      refusedLogins:
        '/api/audits?action.in=login.failed,login.throttled,login.codeRejected&actorId=0' +
        `&time.greaterThan=${at(-1)}`,
    };
    const lengths: Record<string, number> = {};
    for (const [name, path] of Object.entries(lists))
      lengths[name] = (await read(path)).body.length;
    expect(body.counts).toEqual(lengths);
    // Of each condition, something satisfies it and something does not.
    expect(Object.values(lengths)).toEqual([7, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it('has the same counts from the daily verification, which reads fewer attributes', async () => {
    const { endpoint, region, tableName } = gatehouse.cloud;
    const client = scannerClient({ endpoint, region, credentials: OPERATOR });
    const scanner = openTableScanner(VERIFIED_ATTRIBUTES, tableName, client);

    const { overview } = await verifyTable(scanner);

    const { counts, days } = (await read('/api/overview')).body;
    expect(overview).toMatchObject({ counts, days });
    client.destroy();
  });

  it('has the log-ins and changes of 14 days, without log-ins refused or reports', async () => {
    const { days } = (await read('/api/overview')).body;

    expect(days).toHaveLength(14);
    expect(days[0]).toEqual({ day: daysAgo(13).slice(0, 10), logins: 1, changes: 1 });
    expect(days[13].day).toBe(daysAgo(0).slice(0, 10));
    // The creations of users, integrations and credentials above.
    expect(days[13].changes).toBeGreaterThanOrEqual(PEOPLE.length + 2 * MODULES.length);
  });

  it('shows administrators and the newest changes, for at most 30 read units', async () => {
    for (let n = 0; n < 10; n++)
      await create({ login: `a${n}`, email: `a${n}@example.com`, authorities: ['ROLE_ADMIN'] });
    await gatehouse.logIn('boss');
    const { id, login, lastLogin } = (await read('/api/users/boss')).body;
    const factor = { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'r', recoveryCodes: 1 };
    await setItem('USER', id, { secondFactor: factor });

    const { units, charged } = await unitsOf(() => read('/api/overview'));
    const { body } = await read('/api/overview');
    const ids = [...rosterIdsOf(await gatehouse.table.get(rosterKey))];
    // As if the first one was deleted meanwhile.
    const roster = { ids: new Set([...ids.toReversed(), 0]) };
    await commit(gatehouse.table, [set(rosterKey, roster, EXISTS)]);
    const { body: other } = await read('/api/overview');
    await commit(gatehouse.table, [set(rosterKey, { ids: new Set(ids) }, EXISTS)]);

    expect(units).toBeGreaterThan(10);
    expect(units).toBeLessThanOrEqual(30);
    // A unit for each administrator.
    expect(charged).toBeGreaterThanOrEqual(10);
    expect(body.administrators).toHaveLength(10);
    expect(other.administrators).toEqual(body.administrators.slice(0, 9));
    expect(body.administrators.slice(0, 2)).toMatchObject([
      { login: 'admin', secondFactor: false },
      { login, lastLogin, secondFactor: true },
    ]);
    const [newest, ...changes] = (await read('/api/audits?size=11')).body;
    expect(newest.action).toBe('session.started');
    expect(body.latest).toEqual(changes);
  });
});

describe('a count on request', () => {
  it.each([
    ['is rejected for more entities than a list may have', 10_001, 400, 0],
    ['is charged for a list of as many before it reads', 10_000, 200, 2000],
    ['is made without a total of integrations', undefined, 200, 5],
  ])('%s', async (_, n, status, expected) => {
    const key = totalKey('INTEGRATION');
    const total = await gatehouse.table.get(key);
    await commit(gatehouse.table, [n === undefined ? remove(key) : set(key, { n }, EXISTS)]);
    const { response, charged } = await unitsOf(() => count());
    await commit(gatehouse.table, [put(key, { ...total })]);

    expect(response.status).toBe(status);
    if (status === 400) expect(response.body.title).toBe('The list is too long for this');
    expect(Math.abs(charged - expected)).toBeLessThan(10);
  });

  it('is charged for what it reads, not for what it expects to read', async () => {
    const { units, charged } = await unitsOf(() => count());

    // The session, the caller, the counter and two totals are free.
    expect(units - charged).toBeCloseTo(5);
  });

  it('is rejected once the read budget of the caller is spent', async () => {
    await setReads(gatehouse.table, 1, LIST_UNITS_MAX);

    const { status, headers } = await count();
    await forgetReads(gatehouse.table, 1);

    expect([status, Number(headers['retry-after']) > 0]).toEqual([429, true]);
  });

  it('replaces the last one', async () => {
    await commit(gatehouse.table, [remove(overviewKey)]);
    await count();
    const first = (await read('/api/overview')).body.countedAt;

    await count();

    expect((await read('/api/overview')).body.countedAt > first).toBe(true);
  });
});
