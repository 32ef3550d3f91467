import { afterAll, beforeAll, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { auditEntry, operator } from '../../lib/audit/audit-entry.ts';
import { commit } from '../../lib/table/change.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/* The log of the audit trail, from changes over HTTP to its lines. */

const CHANGES = { auditLogDays: 30 };

const faults = openFaults();
let gatehouse: Gatehouse;
let setup: Setup;
let token: string;
beforeAll(async () => {
  gatehouse = await launch({
    assembly: assemblyWith('dev', CHANGES),
    intercept: faults.intercept,
  });
  setup = await openSetup(gatehouse);
  token = await gatehouse.adminToken();
});
afterAll(() => gatehouse.stop());

/** The logged entries so far, without duplicates, in their order. */
async function logged() {
  await gatehouse.cloud.mailsHandedOver();
  const entries = gatehouse.lines
    .filter((line) => line.includes('"targetName"'))
    .map((line) => JSON.parse(line.slice(line.indexOf('{'))));
  return [...new Map(entries.map(({ version: _, ...entry }) => [entry.id, entry])).values()];
}
const change = (lastName: string) =>
  gatehouse.call('POST', '/api/account', { token, body: { lastName } });
async function listed() {
  const { body } = await gatehouse.call('GET', '/api/audits?sort=time&size=100', { token });
  return body;
}

it('has every entry as the list has it, also entries of the operator', async () => {
  await gatehouse.call('POST', '/api/utm-integrations', { token, body: INTEGRATION });
  await gatehouse.makeUser('watched');
  await gatehouse.logIn('watched');
  const changes = [{ field: 'authorities', added: ['ROLE_USER'] }];
  const about = { action: 'user.updated', target: 'user/1', targetName: 'admin' } as const;
  const event = { ...about, changes };
  await commit(gatehouse.table, [auditEntry(operator('import'), event, Date.now())]);

  const entries = await listed();

  expect(await logged()).toEqual(entries);
  expect(entries.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(['user.created', 'session.started', 'integration.created']),
  );
});

it('has one entry for the first uses of an API token from each network', async () => {
  const { user } = await setup.account();
  const { token: sent, series } = await setup.apiToken(user, ['users:read']);
  const use = (from: string) => gatehouse.call('GET', '/api/users', { token: sent, from });
  const usesLogged = async () =>
    (await logged()).filter(({ action, session }) => action === 'token.used' && session === series);
  const statuses: number[] = [];
  for (const from of ['127.0.0.1', '127.0.0.2', '127.0.1.1', '127.0.0.1'])
    statuses.push((await use(from)).status);
  // Another function records the use again.
  statuses.push((await gatehouse.call('GET', '/api/users/admin', { token: sent })).status);
  const { status } = await gatehouse.call('GET', '/api/audits', { token: sent, from: '127.0.2.1' });

  await expect.poll(async () => (await usesLogged()).length).toBeGreaterThan(1);

  expect([statuses, status]).toEqual([[200, 200, 200, 200, 200], 403]);
  const common = { actor: user.login, target: `user/${user.id}`, changes: [] };
  expect(await usesLogged()).toMatchObject(
    ['127.0.0.1', '127.0.1.1'].map((source) => ({ ...common, source })),
  );
  expect(await listed()).toEqual(await logged());
});

it('is written later if the entries cannot be read, and says why', async () => {
  faults.inject([{ operation: 'BatchGetItem', item: 'AUDIT#*', fault: 'throttle' }]);
  await change('late');
  await change('later');
  const before = (await logged()).length;
  faults.inject([]);

  await expect.poll(async () => (await logged()).length).toBe(before + 2);

  expect(await logged()).toEqual(await listed());
  expect(gatehouse.lines.join('\n')).toContain('"auditDelayed":"Provisioned');
});
