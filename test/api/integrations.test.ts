import { expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION, useIntegrations } from '../support/instance/integrations.ts';

/* Integrations over HTTP. test/unit/schemas.test.ts has each kind of field. */

const gatehouse = await useGatehouse();
const { integrations, parameters } = useIntegrations(gatehouse);
const { post, put, remove, get, total, make } = integrations;

/** The headers by which clients show that an integration has changed. */
const alert = (verb: string, id: number) => ({
  'x-gatehouseapp-alert': `gatehouseApp.utmIntegration.${verb}`,
  'x-gatehouseapp-params': String(id),
});

it('is created with an id and a Location, active and without a module', async () => {
  const before = await total();

  const { status, body, headers } = await post({ ...INTEGRATION, id: '' });

  expect(status).toBe(201);
  expect(body).toEqual({
    ...INTEGRATION,
    id: body.id,
    description: null,
    active: true,
    module: null,
  });
  expect(headers).toMatchObject({
    location: `/api/utm-integrations/${body.id}`,
    ...alert('created', body.id),
  });
  expect((await get(body.id)).body).toEqual(body);
  expect(await total()).toBe(before + 1);
});

it('is updated, keeps any text unchanged, and loses its description', async () => {
  const { id } = await make(INTEGRATION);
  const wanted = {
    id,
    name: '😀'.repeat(255),
    shortName: ' g ',
    description: 'two\nlines, "quoted" \u0000 <b>',
    integrationType: 'WEBHOOK',
    active: false,
  };

  const { status, body, headers } = await put({ ...wanted, id: String(id) });
  const cleared = await put({ ...wanted, description: null });

  expect(status).toBe(200);
  expect(body).toEqual({ ...wanted, module: null });
  expect(headers).toMatchObject(alert('updated', id));
  expect(cleared.body).toEqual({ ...body, description: null });
  expect((await get(id)).body).toEqual(cleared.body);
});

it.each([
  ['a creation with an id', 'post', { id: 1 }, 400, 'error.idexists'],
  ['an update without an id', 'put', { id: '' }, 400, 'error.idnull'],
  ['an update of an unknown id', 'put', { id: 777_777 }, 404, 'error.idnotfound'],
  ['an unknown type', 'post', { integrationType: 'OTHER' }, 400, 'error.validation'],
] as const)('rejects %s, and changes nothing', async (_, method, fields, expected, message) => {
  const before = await total();

  const { status, body } = await integrations[method]({ ...INTEGRATION, active: true, ...fields });

  expect([status, body.message, await total()]).toEqual([expected, message, before]);
});

it('is deleted with an empty response', async () => {
  const { id } = await make(INTEGRATION);
  const before = await total();

  const { status, text, headers } = await remove(id);

  expect([status, text]).toEqual([200, '']);
  expect(headers).toMatchObject(alert('deleted', id));
  expect([(await get(id)).status, (await remove(id)).status]).toEqual([404, 404]);
  expect(await total()).toBe(before - 1);
});

// `#` is the id; test/unit/schemas.test.ts has more.
it.each(['0#', '#%20', 'abc', '777777'])(
  'is neither read nor deleted by the id %s',
  async (spelling) => {
    const entity = await make(INTEGRATION);
    const id = spelling.replace('#', String(entity.id));

    const responses = [await remove(id), await get(id)];

    for (const response of responses)
      expect(response).toMatchObject({ status: 404, body: { message: 'error.http.404' } });
    expect((await get(entity.id)).body).toEqual(entity);
  },
);

/* A module reports its restart with the number of the last parameter change that it has loaded. */

const moduleOf = async (id: number) => (await integrations.get(id)).body.module;

/** An integration whose parameter has changed once, and the requests of its client and module. */
async function changedOnce() {
  const integration = await integrations.make(INTEGRATION);
  const { id } = integration;
  const parameter = await parameters.make({ integration, confName: 'a', confValue: 'b' });
  const token = await gatehouse.tokenOf('user');
  const change = () => parameters.put(parameter);
  const report = (body: unknown, of = id) =>
    gatehouse.call('POST', `/api/utm-integrations/${of}/module/restarted`, { token, body });
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
  const { id: unchanged } = await integrations.make(INTEGRATION);

  const tooEarly = await report({ changes: 2 });
  const beforeAny = await report({ changes: 1 }, unchanged);
  const negative = await report({ changes: -1 }, unchanged);
  const none = await report({ changes: 0 }, unchanged);
  const unknown = await report({ changes: 0 }, 777_777);
  await change();
  const tooLate = await report(loaded);

  const fieldErrors = (max: number) => ({
    fieldErrors: [{ field: 'changes', message: 'Size', max }],
  });
  expect([tooEarly.body, beforeAny.body]).toMatchObject([fieldErrors(1), fieldErrors(0)]);
  expect(negative.body.fieldErrors).toMatchObject([{ field: 'changes', message: 'Size', min: 0 }]);
  expect([none.status, none.body.module]).toEqual([200, null]);
  expect([unknown.status, unknown.body.message]).toEqual([404, 'error.http.404']);
  expect(tooLate.status).toBe(200);
  expect(tooLate.body.module).toEqual({ needsRestart: true, changes: 2 });
});
