import { beforeAll, expect, it } from 'vitest';
import { sequenceKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/* A rejected caller consumes nothing: no id, no KMS call, no hash. */

let kmsCalls = 0;
const gatehouse = await useGatehouse({
  intercept({ service, functionName }, forward) {
    if (service === 'KMS' && functionName) kmsCalls++;
    return forward();
  },
});
let integration: { id: number };
let parameter: object;
const analyst: { token: string } = { token: '' };
beforeAll(async () => {
  const token = await gatehouse.adminToken();
  const fields = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  integration = (await gatehouse.call('POST', '/api/utm-integrations', { token, body: fields }))
    .body;
  const body = { integration, confName: 'name', confValue: 'value' };
  parameter = (await gatehouse.call('POST', '/api/utm-integration-confs', { token, body })).body;
  analyst.token = (await gatehouse.makeCaller('analyst', { authorities: ['ROLE_ANALYST'] })).token;
});
const sequences = async () =>
  Promise.all(
    (['USER', 'INTEGRATION'] as const).map(
      async (kind) => (await gatehouse.table.get(sequenceKey(kind)))?.n,
    ),
  );

it.each<['GET' | 'POST' | 'PUT', string, () => object | undefined]>([
  ['POST', '/api/utm-integrations', () => ({ name: 'x', shortName: 'x', integrationType: 'API' })],
  ['POST', '/api/utm-integration-confs', () => ({ integration, confName: 'x', confValue: 'x' })],
  ['PUT', '/api/utm-integration-confs', () => parameter],
  ['GET', '/api/utm-integration-confs?size=1', () => undefined],
  ['GET', '/api/utm-integration-confs?size=100', () => undefined],
  ['POST', '/api/users', () => ({ login: 'x', email: 'x@example.com', password: 'pass' })],
])(
  '%s %s rejects a caller without the role before it consumes an id or calls KMS',
  async (method, path, bodyOf) => {
    const before = await sequences();
    kmsCalls = 0;

    const responses = [];
    for (let n = 0; n < 3; n++)
      responses.push(await gatehouse.call(method, path, { ...analyst, body: bodyOf() }));

    expect(responses.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect([kmsCalls, await sequences()]).toEqual([0, before]);
  },
);

it('POST and PUT of a parameter of a missing integration return 404 without KMS', async () => {
  const token = await gatehouse.adminToken();
  kmsCalls = 0;
  const body = { integration: { id: 999_999 }, confName: 'x', confValue: 'x' };

  const responses = [
    await gatehouse.call('POST', '/api/utm-integration-confs', { token, body }),
    await gatehouse.call('PUT', '/api/utm-integration-confs', { token, body: { ...body, id: 7 } }),
  ];

  expect([responses.map(({ status }) => status), kmsCalls]).toEqual([[404, 404], 0]);
});
