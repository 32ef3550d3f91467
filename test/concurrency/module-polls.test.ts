import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { ADOPTED_ATTRIBUTES, adoptTable } from '../../lib/operations/restore/adopt-table.ts';
import { openTableScanner, scannerClient } from '../../lib/table/table-scanner.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { itemsOf, restoreItems } from '../support/instance/items.ts';
import type { Received } from '../support/instance/launch.ts';
import { openSetup } from '../support/instance/setup.ts';

/* A module polls while people change what it runs, and the table is restored from a backup. */

const POLLS = 80;

const gatehouse = await useGatehouse();
const { cloud, table } = gatehouse;

/** Restores the table from a backup and adopts it. */
async function restore(backup: Awaited<ReturnType<typeof itemsOf>>): Promise<void> {
  await restoreItems(cloud, backup);
  const { endpoint, region, tableName } = cloud;
  const client = scannerClient({ endpoint, region, credentials: OPERATOR });
  await adoptTable(table, openTableScanner(ADOPTED_ATTRIBUTES, tableName, client));
  client.destroy();
  // A token that was issued in the second of the adoption or before is rejected.
  await wait(2000);
}

it(`${POLLS} polls during changes and a restore never get a wrong 304`, async () => {
  let admin = await gatehouse.adminToken();
  const asAdmin = (method: string, path: string, body?: object) =>
    gatehouse.call(method, path, { token: admin, body });
  const { body: integration } = await asAdmin('POST', '/api/utm-integrations', INTEGRATION);
  const path = `/api/utm-integrations/${integration.id}/module`;
  const parameters = '/api/utm-integration-confs';
  const counter = { integration: { id: integration.id }, confName: 'counter', confValue: '0' };
  const { body: parameter } = await asAdmin('POST', parameters, counter);
  const newToken = async () => (await (await openSetup(gatehouse)).module(integration.id)).token;
  let token = await newToken();
  let backup: Awaited<ReturnType<typeof itemsOf>> = new Map();
  /** The value of the parameter by the number of the configuration. */
  const values = new Map<number, string>();
  let [held, committed] = [0, 0];
  const statuses = new Set<number>();
  /** Expects one value for each number, and returns the number. */
  function note({ status, body }: Received): number {
    expect(status).toBe(200);
    const { wanted } = body.module;
    const { confValue } = body.parameters[0];
    expect(values.get(wanted) ?? confValue, `the value of number ${wanted}`).toBe(confValue);
    values.set(wanted, confValue);
    return wanted;
  }
  async function change(n: number): Promise<void> {
    await asAdmin('PUT', parameters, { ...counter, id: parameter.id, confValue: `${n}` });
    committed = note(await asAdmin('GET', path));
  }

  for (let n = 0; n < POLLS; n++) {
    if (n === POLLS / 4) backup = await itemsOf(cloud);
    if (n === POLLS / 2) {
      await restore(backup);
      [admin, token] = [await gatehouse.adminToken(), await newToken()];
      committed = note(await asAdmin('GET', path));
    }
    const before = committed;
    const headers = { 'If-None-Match': `"${held}"` };
    const [polled] = await Promise.all([
      gatehouse.call('GET', path, { token, headers }),
      n % 2 === 0 && change(n),
    ]);
    statuses.add(polled.status);
    if (polled.status === 304) {
      expect(held).toBeGreaterThanOrEqual(before);
      expect(held).toBeLessThanOrEqual(committed);
    } else held = note(polled);
  }

  expect([...statuses].sort()).toEqual([200, 304]);
});
