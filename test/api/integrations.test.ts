import { describe, expect, it } from 'vitest';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { UNKNOWN_IDS, useIntegrations } from '../support/instance/integrations.ts';

const calls: AwsCall[] = [];
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    calls.push(call);
    return forward();
  },
});

const FIELDS = { name: 'Office 365 logs', shortName: 'office logs', integrationType: 'CLOUD' };

const { integrations, parameters } = useIntegrations(gatehouse);
const { post, put, remove, get, total } = integrations;
const make = (fields: object = {}) => integrations.make({ ...FIELDS, ...fields });
const makeParameter = (id: number) =>
  parameters.make({ integration: { id }, confName: 'key', confValue: 'value' });

describe('creating an integration', () => {
  it('returns it with an id and a Location, active and without a module', async () => {
    const before = await total();

    const { status, body, headers } = await post(FIELDS);

    expect(status).toBe(201);
    expect(body).toEqual({ ...FIELDS, id: body.id, description: null, active: true, module: null });
    expect(headers).toMatchObject({
      location: `/api/utm-integrations/${body.id}`,
      'x-gatehouseapp-alert': 'gatehouseApp.utmIntegration.created',
      'x-gatehouseapp-params': String(body.id),
    });
    expect((await get(body.id)).body).toEqual(body);
    expect(await total()).toBe(before + 1);
  });

  it.each(['COLLECTOR', 'FORWARDER', 'SCANNER', 'CLOUD', 'WEBHOOK', 'API'])(
    'accepts the type %s',
    async (type) => {
      const { status, body } = await post({ ...FIELDS, integrationType: type, active: false });

      expect(status).toBe(201);
      expect(body).toMatchObject({ integrationType: type, active: false });
    },
  );

  it.each([[{ id: 1 }], [{ id: '1' }]])('rejects an id in the body with 400: %j', async (id) => {
    const { status, body, headers } = await post({ ...FIELDS, ...id });

    expect(status).toBe(400);
    expect(body.message).toBe('error.idexists');
    expect(headers).toMatchObject({
      'x-gatehouseapp-error': 'error.idexists',
      'x-gatehouseapp-params': 'utmIntegration',
    });
  });

  it.each([[{ id: null }], [{ id: '' }]])('treats %j as no id', async (id) => {
    const { status } = await post({ ...FIELDS, ...id });

    expect(status).toBe(201);
  });
});

describe('the validation of an integration', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['a missing name', { name: undefined }, 'NotNull'],
    ['an empty name', { name: '' }, 'NotBlank'],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, 'Size'],
    ['a description of 1001 characters', { description: 'x'.repeat(1001) }, 'Size'],
    ['an unknown type', { integrationType: 'OTHER' }, 'Pattern'],
    ['a string as active', { active: 'true' }, 'TypeMismatch'],
  ])('rejects %s with 400 on create and on update', async (_, wrong, message) => {
    const before = await make();
    const fieldErrors = [{ objectName: 'utmIntegration', field: Object.keys(wrong)[0], message }];

    const created = await post({ ...FIELDS, ...wrong });
    const updated = await put({ ...before, ...wrong });

    expect(created).toMatchObject({
      status: 400,
      body: { message: 'error.validation', fieldErrors },
    });
    expect(updated).toMatchObject({
      status: 400,
      body: { message: 'error.validation', fieldErrors },
    });
    expect((await get(before.id)).body).toEqual(before);
  });

  it('reports all errors in one response', async () => {
    const { body } = await post({ name: '', description: 'x'.repeat(1001) });

    const wrong = Object.fromEntries(
      body.fieldErrors.map(({ field, message }: { field: string; message: string }) => [
        field,
        message,
      ]),
    );
    expect(wrong).toEqual({
      name: 'NotBlank',
      shortName: 'NotNull',
      description: 'Size',
      integrationType: 'NotNull',
    });
  });

  it.each<[string, Record<string, unknown>]>([
    ['a name of 255 characters', { name: 'x'.repeat(255) }],
    ['spaces in the name', { name: 'management frankly' }],
    ['a description of 1000 characters', { description: 'x'.repeat(1000) }],
    [
      'line breaks, quotes and markup in the description',
      { description: 'two\nlines, "quoted" \u0000 <b>' },
    ],
  ])('accepts %s and returns it unchanged', async (_, fields) => {
    const { id } = await make();

    const created = await make(fields);
    const updated = await put({ ...FIELDS, id, active: true, ...fields });

    expect(created).toMatchObject(fields);
    expect(updated).toMatchObject({ status: 200, body: fields });
    expect((await get(id)).body).toMatchObject(fields);
  });
});

describe('updating an integration', () => {
  it('returns the updated integration', async () => {
    const before = await make();
    const wanted = {
      name: 'Gate logs',
      shortName: 'gate',
      integrationType: 'API',
      active: false,
      description: 'Doors',
    };

    const { status, body, headers } = await put({ ...wanted, id: before.id });

    expect(status).toBe(200);
    expect(body).toEqual({ ...wanted, id: before.id, module: null });
    expect(headers).toMatchObject({
      'x-gatehouseapp-alert': 'gatehouseApp.utmIntegration.updated',
      'x-gatehouseapp-params': String(before.id),
    });
    expect((await get(before.id)).body).toEqual(body);
  });

  it('deactivates and reactivates it', async () => {
    const integration = await make();

    const off = await put({ ...integration, active: false });
    const on = await put({ ...off.body, active: true });

    expect([off.body, on.body]).toEqual([{ ...integration, active: false }, integration]);
  });

  it('requires the field active', async () => {
    const integration = await make({ active: false });

    const { status, body } = await put({ ...integration, active: undefined });

    expect(status).toBe(400);
    expect(body.fieldErrors).toEqual([
      { objectName: 'utmIntegration', field: 'active', message: 'NotNull' },
    ]);
  });

  it.each([
    [{}, 'All mailboxes'],
    [{ description: null }, null],
    [{ description: '' }, null],
  ])('with %j results in the description %j', async (change, expected) => {
    const { id } = await make({ description: 'All mailboxes' });

    const { body } = await put({ ...FIELDS, id, active: true, ...change });

    expect(body.description).toBe(expected);
    expect((await get(id)).body.description).toBe(expected);
  });

  it.each([{}, { id: null }, { id: '' }])('requires an id and rejects %j with 400', async (id) => {
    const { status, body, headers } = await put({ ...FIELDS, active: true, ...id });

    expect(status).toBe(400);
    expect(body.message).toBe('error.idnull');
    expect(headers['x-gatehouseapp-error']).toBe('error.idnull');
  });

  it.each(['01', '1e3', '+1', ' 1', 'abc', 0, -1, 1.5, true, {}, 2 ** 53])(
    'rejects %j as an id with 400',
    async (id) => {
      const { status, body } = await put({ ...FIELDS, active: true, id });

      const limits = ['number', 'string'].includes(typeof id) && { min: 1, max: 2 ** 53 - 1 };
      const error = {
        objectName: 'utmIntegration',
        field: 'id',
        message: 'TypeMismatch',
        ...limits,
      };
      expect([status, body.fieldErrors]).toEqual([400, [error]]);
    },
  );

  it('accepts an id as a decimal string', async () => {
    const { id } = await make();

    const { status, body } = await put({
      ...FIELDS,
      name: 'By text',
      active: true,
      id: String(id),
    });

    expect(status).toBe(200);
    expect(body).toMatchObject({ id, name: 'By text' });
  });

  it('rejects an unknown id with 404 and creates nothing', async () => {
    const before = await total();

    const { status, body } = await put({ ...FIELDS, active: true, id: 777_777 });

    expect(status).toBe(404);
    expect(body.message).toBe('error.idnotfound');
    expect((await get(777_777)).status).toBe(404);
    expect(await total()).toBe(before);
  });
});

it.each([{ needsRestart: true, changes: 7 }, { needsRestart: false }, 'text'])(
  'ignores a module in the body of an integration: %j',
  async (module) => {
    const created = await make({ module });
    const updated = await put({ ...created, module });

    expect(created.module).toBeNull();
    expect(updated).toMatchObject({ status: 200, body: { module: null } });
  },
);

describe('deleting an integration', () => {
  it('returns an empty body and removes it', async () => {
    const { id } = await make();
    const before = await total();

    const { status, text, headers } = await remove(id);

    expect(status).toBe(200);
    expect(text).toBe('');
    expect(headers).toMatchObject({
      'x-gatehouseapp-alert': 'gatehouseApp.utmIntegration.deleted',
      'x-gatehouseapp-params': String(id),
    });
    expect((await get(id)).status).toBe(404);
    expect(await total()).toBe(before - 1);
    expect((await remove(id)).status).toBe(404);
  });

  it('removes its parameters, and no others, in the same transaction', async () => {
    const [doomed, next] = [await make(), await make()];
    const removed = [await makeParameter(doomed.id), await makeParameter(doomed.id)];
    const other = await makeParameter(next.id);
    const [integrationsBefore, parametersBefore] = [await total(), await parameters.total()];
    calls.length = 0;

    await remove(doomed.id);

    const stored = await Promise.all(
      removed.map(({ id }) => gatehouse.table.get(entityKey('CONF', id))),
    );
    expect(stored).toEqual([undefined, undefined]);
    expect(await gatehouse.table.get(entityKey('CONF', other.id))).toBeDefined();
    expect(await total()).toBe(integrationsBefore - 1);
    expect(await parameters.total()).toBe(parametersBefore - 2);
    expect(calls.filter(({ operation }) => operation === 'TransactWriteItems')).toHaveLength(1);
  });

  it.each([...UNKNOWN_IDS, '777777', '9007199254740990'])(
    'rejects the id %s with 404, as reading does',
    async (spelling) => {
      await integrations.expectUnknownId(spelling, await make());
    },
  );
});
