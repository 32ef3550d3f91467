import { expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION, useIntegrations } from '../support/instance/integrations.ts';

/* A module reports its restart with the number of the last parameter change that it has loaded. */

const gatehouse = await useGatehouse();
const { integrations, parameters } = useIntegrations(gatehouse);
const moduleOf = async (id: number) => (await integrations.get(id)).body.module;

/** An integration whose parameter has changed once, and the requests of its client and module. */
async function changedOnce() {
  const integration = await integrations.make(INTEGRATION);
  const { id } = integration;
  const parameter = await parameters.make({ integration, confName: 'a', confValue: 'b' });
  const token = await gatehouse.tokenOf('user');
  const change = () => parameters.put(parameter);
  const report = (body: unknown) =>
    gatehouse.call('POST', `/api/utm-integrations/${id}/module/restarted`, { token, body });
  await change();
  return { id, change, report };
}

it('a report of the module object as it was read clears the flag', async () => {
  const { id, report } = await changedOnce();

  const { status, body, headers } = await report(await moduleOf(id));

  expect(status).toBe(200);
  expect(body.module).toEqual({ needsRestart: false, changes: 1 });
  expect(await moduleOf(id)).toEqual(body.module);
  expect(headers['x-gatehouseapp-alert']).toBe('gatehouseApp.utmIntegration.updated');
});

it('a report does not hide a later change, and is rejected before there is one', async () => {
  const { id, change, report } = await changedOnce();
  const loaded = await moduleOf(id);

  const tooEarly = await report({ changes: 2 });
  await change();
  const tooLate = await report(loaded);

  expect([tooEarly.status, tooEarly.body.fieldErrors?.[0]?.field]).toEqual([400, 'changes']);
  expect(tooLate.status).toBe(200);
  expect(tooLate.body.module).toEqual({ needsRestart: true, changes: 2 });
});
