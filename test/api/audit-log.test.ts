import { afterAll, beforeAll, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { auditEntry, operator } from '../../lib/audit/audit-entry.ts';
import { commit } from '../../lib/table/change.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/* The log of the audit trail, from changes over HTTP to its lines. */

const CHANGES = { auditLogDays: 30 };

const faults = openFaults();
let gatehouse: Gatehouse;
let token: string;
beforeAll(async () => {
  synthesizeInProcess('dev', CHANGES);
  gatehouse = await launch({
    assembly: assemblyOf('dev', CHANGES),
    intercept: faults.intercept,
  });
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
