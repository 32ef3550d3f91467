import { afterAll, beforeAll, expect, it } from 'vitest';
import { measureUnits } from '../support/costs/consumed-units.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import type { Gatehouse } from '../support/instance/launch.ts';

/*
 * An integration is deleted with all its parameters in one transaction, which must stay within
 * DynamoDB's limits: also within the write units that a partition key has in a second, or it could
 * never be made.
 */

const LIMIT_BYTES = 192 * 1024;
const WRITE_UNITS_MAX = 1000;
const PARAMETERS = '/api/utm-integration-confs';

let gatehouse: Gatehouse;
let token: string;
let unitsOfDeletion = 0;
beforeAll(async () => {
  gatehouse = await startGatehouse({
    async intercept(call, forward) {
      const { response, writeUnits } = await measureUnits(call, forward);
      if (call.functionName === 'DELETE /api/utm-integrations/{id}') unitsOfDeletion += writeUnits;
      return response;
    },
  });
  token = await gatehouse.adminToken();
});
afterAll(() => gatehouse.stop());

const call = (method: string, path: string, body?: unknown) =>
  gatehouse.call(method, path, { token, body });

it.each([
  [90, Math.floor(LIMIT_BYTES / 90) - 4, 'error.toomanyparameters'],
  [11, 16_384, 'error.parameterstoolarge'],
])(
  'an integration can have %i parameters of %i bytes, which are listed and deleted with it',
  async (count, bytes, message) => {
    const { body: integration } = await call('POST', '/api/utm-integrations', INTEGRATION);
    const { id } = integration;
    const parameter = { integration, confName: 'name', confValue: 'x'.repeat(bytes) };
    const create = () => call('POST', PARAMETERS, parameter);

    const created = [];
    for (let n = 0; n < count; n++) created.push(await create());
    const rejected = await create();
    await call('DELETE', `${PARAMETERS}/${created[0]?.body.id}`);
    const replaced = await create();
    const list = await call('GET', `${PARAMETERS}?integrationId.equals=${id}&size=100`);
    unitsOfDeletion = 0;
    const deleted = await call('DELETE', `/api/utm-integrations/${id}`);

    expect(created.map(({ status }) => status)).toEqual(Array(count).fill(201));
    expect([rejected.status, rejected.body.message, replaced.status]).toEqual([400, message, 201]);
    expect([list.status, list.body.length, deleted.status]).toEqual([200, count, 200]);
    expect(unitsOfDeletion).toBeGreaterThan(LIMIT_BYTES / 1024);
    expect(unitsOfDeletion).toBeLessThanOrEqual(WRITE_UNITS_MAX);
    expect((await call('GET', `/api/utm-integrations/${id}`)).status).toBe(404);
  },
);
