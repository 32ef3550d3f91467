import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';
import { LONG } from '../support/instance/long.ts';

/*
 * An integration is deleted with all its parameters in one transaction, which must stay within
 * DynamoDB's limits.
 */

const LIMIT_BYTES = 192 * 1024;

let gatehouse: Gatehouse;
let token: string;
beforeAll(async () => {
  gatehouse = await startGatehouse({ meterCapacity: true });
  token = await gatehouse.adminToken();
});
afterAll(() => gatehouse.stop());

const call = (method: string, path: string, body?: unknown) =>
  gatehouse.call(method, path, { token, body });
const statusOf = async (id: number) => (await call('GET', `/api/utm-integrations/${id}`)).status;

async function makeIntegration(): Promise<{ id: number }> {
  const body = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  const created = await call('POST', '/api/utm-integrations', body);
  expect(created.status, created.text).toBe(201);
  return created.body;
}
const create = (integration: object, confName: string, bytes: number, confDescription?: string) =>
  call('POST', '/api/utm-integration-confs', {
    integration,
    confName,
    confValue: 'x'.repeat(bytes),
    confDescription,
  });

/** Adds parameters of this size until one is rejected. */
async function fill(integration: object, bytes: number) {
  for (let count = 0; ; count++) {
    const response = await create(integration, 'name', bytes);
    if (response.status !== 201) return { count, rejection: response };
  }
}

describe('the parameters of an integration', () => {
  type Case = [name: string, bytes: number, count: number, message: string];
  it.each<Case>([
    // parameters.test.ts covers 90 small ones.
    ...(LONG
      ? [
          [
            'the largest number of them',
            LIMIT_BYTES / 90 - 4,
            90,
            'error.toomanyparameters',
          ] as Case,
        ]
      : []),
    ['the largest of them', 16_384, 11, 'error.parameterstoolarge'],
  ])(
    'can be listed, and are deleted with it: %s',
    { timeout: 120_000 },
    async (_, bytes, count, message) => {
      const integration = await makeIntegration();

      const filled = await fill(integration, Math.floor(bytes));
      const list = await call(
        'GET',
        `/api/utm-integration-confs?integrationId.equals=${integration.id}&size=100`,
      );
      const deleted = await call('DELETE', `/api/utm-integrations/${integration.id}`);

      expect([filled.count, filled.rejection.status, filled.rejection.body.message]).toEqual([
        count,
        400,
        message,
      ]);
      expect([list.status, list.body.length]).toEqual([200, count]);
      expect([deleted.status, await statusOf(integration.id)]).toEqual([200, 404]);
    },
  );

  it('are limited by the total bytes of their names, values and descriptions', async () => {
    const integration = await makeIntegration();
    for (let n = 0; n < 11; n++) await create(integration, 'name', 16_384);
    const left = LIMIT_BYTES - 11 * (16_384 + 4);

    const tooLarge = await create(integration, 'é', left - 2 - 1, 'de');
    const fits = await create(integration, 'é', left - 2 - 2, 'de');
    const oneMore = await create(integration, 'n', 1);

    expect([tooLarge.status, fits.status, oneMore.status]).toEqual([400, 201, 400]);
    expect(oneMore.headers['x-gatehouseapp-error']).toBe('error.parameterstoolarge');
  });

  it('free space when one is deleted or shrinks, and use it when one grows', async () => {
    const integration = await makeIntegration();
    const [first, second] = [
      await create(integration, 'name', 16_384),
      await create(integration, 'name', 16_384),
    ];
    await fill(integration, 16_384);
    const change = (parameter: object, confValue: string) =>
      call('PUT', '/api/utm-integration-confs', { ...parameter, confValue });
    const room = LIMIT_BYTES - 11 * (16_384 + 4);

    const removed = await call('DELETE', `/api/utm-integration-confs/${first.body.id}`);
    const smaller = await change(second.body, 'x');
    const filled = await create(integration, 'name', 16_384);
    const larger = await change(second.body, 'x'.repeat(16_384));
    const again = await create(integration, 'last', room - 4);
    const same = await change(larger.body, 'y'.repeat(16_384));
    const tooLarge = await change({ ...larger.body, confName: 'names' }, 'y'.repeat(16_384));

    expect([removed, smaller, filled, larger].map(({ status }) => status)).toEqual([
      200, 200, 201, 200,
    ]);
    expect([again.status, same.status, tooLarge.status]).toEqual([201, 200, 400]);
    expect(tooLarge.body.message).toBe('error.parameterstoolarge');
  });
});
