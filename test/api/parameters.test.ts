import { describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { set } from '../../lib/table/write.ts';
import { importHere, integrationRecord } from '../support/commands/transfer.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION, UNKNOWN_IDS, useIntegrations } from '../support/instance/integrations.ts';

const gatehouse = await useGatehouse();

const FIELDS = { confName: 'api key', confValue: 'T0p-s3cret' };

const { integrations, parameters } = useIntegrations(gatehouse);
const { post, put, remove, get, list, total } = parameters;
const makeIntegration = () => integrations.make(INTEGRATION);
const moduleOf = async (integrationId: number) =>
  (await integrations.get(integrationId)).body.module;

async function make(fields: Record<string, unknown> = {}) {
  const integration = fields.integration ?? { id: (await makeIntegration()).id };
  return parameters.make({ ...FIELDS, ...fields, integration });
}

describe('creating a parameter', () => {
  it('accepts the id of the integration as text, and returns its name', async () => {
    const { id } = await makeIntegration();

    const { status, body, headers } = await post({ ...FIELDS, integration: { id: String(id) } });

    expect(status).toBe(201);
    expect(body).toEqual({
      ...FIELDS,
      id: id * 1_000_000 + 1,
      integration: { id, name: 'Gate logs', module: null },
      confDescription: null,
    });
    expect(headers).toMatchObject({
      location: `/api/utm-integration-confs/${body.id}`,
      'x-gatehouseapp-alert': 'gatehouseApp.utmIntegrationConf.created',
      'x-gatehouseapp-params': String(body.id),
    });
    expect((await get(body.id)).body).toEqual(body);
  });

  it('may reuse a name', async () => {
    const first = await make();

    const second = await make({ integration: first.integration });

    expect(second.confName).toBe(first.confName);
    expect(second.id).not.toBe(first.id);
  });

  it('never reuses an id', async () => {
    const first = await make();
    const second = await make({ integration: first.integration });
    await remove(second.id);

    const third = await make({ integration: first.integration });

    expect([second.id - first.id, third.id - first.id]).toEqual([1, 2]);
  });

  it('rejects an id from the client with 400 and an unknown integration with 404', async () => {
    const { integration } = await make();
    const before = await total();

    const withId = await post({ ...FIELDS, integration, id: 1 });
    const withUnknownIntegration = await post({ ...FIELDS, integration: { id: 777_777 } });

    expect(withId).toMatchObject({ status: 400, body: { message: 'error.idexists' } });
    expect(withUnknownIntegration).toMatchObject({
      status: 404,
      body: { message: 'error.idnotfound' },
    });
    expect(await total()).toBe(before);
  });
});

describe('the fields of a parameter', () => {
  it.each<[string, string, unknown, string]>([
    ['no integration', 'integration', undefined, 'NotNull'],
    ['an integration without an id', 'integration.id', {}, 'NotNull'],
    ['no name', 'confName', undefined, 'NotNull'],
    ['an empty value', 'confValue', '', 'NotBlank'],
    ['a value of 16,385 bytes in 8193 letters', 'confValue', `${'é'.repeat(8192)}x`, 'Size'],
  ])('reject %s with 400 on create and on update', async (_, field, value, message) => {
    const { id, integration } = await make();
    const invalid = { ...FIELDS, integration, [field.split('.')[0] as string]: value };
    const body = {
      message: 'error.validation',
      fieldErrors: [{ objectName: 'utmIntegrationConf', field, message }],
    };

    const created = await post(invalid);
    const updated = await put({ ...invalid, id });

    expect(created).toMatchObject({ status: 400, body });
    expect(updated).toMatchObject({ status: 400, body });
    expect((await get(id)).body).toMatchObject(FIELDS);
  });

  it.each([
    ['spaces in a name', 'confName', 'bleach now for'],
    ['a description of 1000 letters', 'confDescription', 'x'.repeat(1000)],
    ['a space as a value', 'confValue', ' '],
    ['a value of 16,384 bytes in 4096 letters', 'confValue', '😀'.repeat(4096)],
    [
      'any text as a value',
      'confValue',
      '-----KEY-----\r\n\tpä55\u0000 \u2028 e\u0301 "\\ 😀\n-----END-----\n',
    ],
  ])('accept %s and return it unchanged', async (_, field, value) => {
    const { id, integration } = await make();

    const created = await make({ integration, [field]: value });
    const updated = await put({ ...FIELDS, id, integration, [field]: value });

    expect(created[field]).toBe(value);
    expect(updated.body[field]).toBe(value);
    expect((await get(created.id)).body[field]).toBe(value);
    expect((await get(id)).body[field]).toBe(value);
    expect((await list('?sort=id,desc&size=1')).body[0][field]).toBe(value);
  });
});

describe('updating a parameter', () => {
  it('flags the integration module as needing a restart, and counts the changes', async () => {
    const { id, integration } = await make();
    const wanted = { id, confName: 'token', confValue: 'another', confDescription: 'Of the gate' };

    const { status, body, headers } = await put({ ...wanted, id: String(id), integration });
    const again = await put({ ...wanted, integration: body.integration });

    const flagged = (changes: number) => ({
      ...integration,
      module: { needsRestart: true, changes },
    });
    expect(status).toBe(200);
    expect(body).toEqual({ ...wanted, integration: flagged(1) });
    expect(headers).toMatchObject({
      'x-gatehouseapp-alert': 'gatehouseApp.utmIntegrationConf.updated',
      'x-gatehouseapp-params': String(id),
    });
    expect(again.body.integration).toEqual(flagged(2));
    expect((await get(id)).body).toEqual(again.body);
    expect(await moduleOf(integration.id)).toEqual({ needsRestart: true, changes: 2 });
  });

  it('is the only operation that flags the module', async () => {
    const first = await make();
    const second = await make({ integration: first.integration });
    const { id } = first.integration;
    const change = {
      id,
      name: 'Renamed',
      shortName: 'gate',
      integrationType: 'API',
      active: false,
    };

    await remove(second.id);
    const updated = await integrations.put(change);
    const unflagged = await moduleOf(id);
    await put({ ...first, confValue: 'changed' });
    const third = await make({ integration: { id } });
    await remove(third.id);
    await integrations.put({ ...updated.body, active: true });

    expect([unflagged, updated.body.module]).toEqual([null, null]);
    expect(third.integration.module).toEqual({ needsRestart: true, changes: 1 });
    expect(await moduleOf(id)).toEqual({ needsRestart: true, changes: 1 });
  });

  it.each([
    [{}, 'Of the gate'],
    [{ confDescription: null }, null],
    [{ confDescription: '' }, null],
  ])('with %j results in the description %j', async (change, expected) => {
    const { id, integration } = await make({ confDescription: 'Of the gate' });

    const { body } = await put({ ...FIELDS, id, integration, ...change });

    expect(body.confDescription).toBe(expected);
    expect((await get(id)).body.confDescription).toBe(expected);
  });

  it('requires an id', async () => {
    const { integration } = await make();

    const { status, body } = await put({ ...FIELDS, id: '', integration });

    expect(status).toBe(400);
    expect(body.message).toBe('error.idnull');
  });

  it('rejects a parameter of another integration with 404, and changes nothing', async () => {
    const [own, other] = [await make(), await make()];
    const before = await total();

    const attempts = [
      await put({ ...own, confValue: 'changed', integration: other.integration }),
      await put({ ...own, confValue: 'changed', id: own.id + 1 }),
      await put({ ...own, confValue: 'changed', integration: { id: 777_777 } }),
    ];

    for (const attempt of attempts)
      expect(attempt).toMatchObject({ status: 404, body: { message: 'error.idnotfound' } });
    expect((await get(own.id)).body).toEqual(own);
    expect((await get(other.id)).body).toEqual(other);
    expect(await total()).toBe(before);
  });
});

describe('deleting a parameter', () => {
  it('returns no body, and the parameter can no longer be read', async () => {
    const { id } = await make();
    const before = await total();

    const { status, text, headers } = await remove(id);

    expect(status).toBe(200);
    expect(text).toBe('');
    expect(headers['x-gatehouseapp-alert']).toBe('gatehouseApp.utmIntegrationConf.deleted');
    expect([(await get(id)).status, (await remove(id)).status]).toEqual([404, 404]);
    expect(await total()).toBe(before - 1);
  });

  it.each([...UNKNOWN_IDS, '#1', '1'])(
    'is rejected with 404 under the id %s, and so is reading it',
    async (spelling) => {
      await parameters.expectUnknownId(spelling, await make());
    },
  );
});

it('an integration has at most 90 parameters, and is deleted with all of them', async () => {
  const before = await total();
  await importHere(gatehouse, [integrationRecord('Full', Array(89).fill('value'))]);
  const [integration] = (await integrations.list('?sort=id,desc&size=1')).body;
  const { id } = integration;
  await make({ integration });
  const inAll = await total();

  const oneMore = await post({ ...FIELDS, integration });
  await remove(id * 1_000_000 + 45);
  const again = await post({ ...FIELDS, integration });
  const full = await post({ ...FIELDS, integration });
  const gone = await integrations.remove(id);

  expect(inAll).toBe(before + 90);
  expect(oneMore).toMatchObject({ status: 400, body: { message: 'error.toomanyparameters' } });
  expect(oneMore.headers['x-gatehouseapp-error']).toBe('error.toomanyparameters');
  expect(again).toMatchObject({ status: 201, body: { id: id * 1_000_000 + 91 } });
  expect([full.status, gone.status]).toEqual([400, 200]);
  expect((await get(again.body.id)).status).toBe(404);
  expect(await total()).toBe(before);
});

describe('an integration that has had 999,998 parameters', () => {
  /**
   * Sets the counters in the table, because creating and deleting this many parameters takes hours.
   */
  async function makeWithCounters(counters: {
    parametersEver: number;
    parameterCount?: number;
  }): Promise<{ id: number }> {
    const integration = await makeIntegration();
    const exists = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    await commit(gatehouse.table, [
      set(entityKey('INTEGRATION', integration.id), counters, exists),
    ]);
    return integration;
  }

  it('accepts one more, and then reports that its parameter ids are exhausted', async () => {
    const { id } = await makeWithCounters({ parametersEver: 999_998 });

    const last = await make({ integration: { id } });
    await remove(last.id);
    const rejected = await post({ ...FIELDS, integration: { id } });

    expect(last.id).toBe(id * 1_000_000 + 999_999);
    expect(rejected).toMatchObject({ status: 400, body: { message: 'error.parameteridsusedup' } });
    expect(rejected.body.detail).toBe(
      'This integration has used up its 999,999 parameter ids: create a new integration',
    );
    expect(rejected.headers['x-gatehouseapp-error']).toBe('error.parameteridsusedup');
  });

  it('reports exhausted ids even with 90 parameters: deleting one would not help', async () => {
    const { id } = await makeWithCounters({ parametersEver: 999_999, parameterCount: 90 });

    const rejected = await post({ ...FIELDS, integration: { id } });
    await integrations.remove(id);

    expect(rejected).toMatchObject({ status: 400, body: { message: 'error.parameteridsusedup' } });
  });
});
