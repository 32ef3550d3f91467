import { describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { EXISTS, set } from '../../lib/table/write.ts';
import { measureUnits } from '../support/costs/consumed-units.ts';
import { useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { INTEGRATION, useIntegrations } from '../support/instance/integrations.ts';

/* Parameters over HTTP. test/unit/schemas.test.ts has each kind of field. */

let unitsOfDeletion = 0;
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    const { response, writeUnits } = await measureUnits(call, forward);
    if (call.functionName === 'DELETE /api/utm-integrations/{id}') unitsOfDeletion += writeUnits;
    return response;
  },
});
const { integrations, parameters } = useIntegrations(gatehouse);
const { post, put, remove, get, list, total } = parameters;
const setup = useSetup(gatehouse);

const FIELDS = { confName: 'api key', confValue: 'T0p-s3cret' };
const make = async (fields: object = {}) =>
  parameters.make({ ...FIELDS, integration: await integrations.make(INTEGRATION), ...fields });

it('is created under an id of its integration, and returned with its name', async () => {
  const { id } = await integrations.make(INTEGRATION);

  const { status, body } = await post({ ...FIELDS, integration: { id: String(id) } });

  expect(status).toBe(201);
  expect(body).toEqual({
    ...FIELDS,
    id: id * 1_000_000 + 1,
    integration: { id, name: INTEGRATION.name, module: null },
    confDescription: null,
  });
  expect((await get(body.id)).body).toEqual(body);
  expect((await post(body)).body.message).toBe('error.idexists');
});

it.each([
  ['of 16,384 bytes', '😀'.repeat(4096)],
  ['of one space', ' '],
  ['with any characters', '-----KEY-----\r\n\tpä55\u0000 \u2028 e\u0301 "\\ 😀\n-----END-----\n'],
])('keeps a value %s unchanged', async (_, confValue) => {
  const { id, integration } = await make();

  const created = await make({ confValue });
  const updated = await put({ ...FIELDS, id, integration, confValue });

  const listed = (await list('?sort=id,desc&size=1')).body[0];
  const read = [await get(id), await get(created.id)].map(({ body }) => body);
  for (const each of [created, updated.body, listed, ...read])
    expect(each).toMatchObject({ confValue });
});

it('flags the module of its integration for a restart with each update', async () => {
  const { id, integration } = await make();
  const wanted = { id, confName: 'token', confValue: 'another', confDescription: 'Of the gate' };

  const { status, body } = await put({ ...wanted, id: String(id), integration });
  const again = await put({ ...wanted, integration: body.integration, confDescription: null });

  const flagged = (changes: number) => ({
    ...integration,
    module: { needsRestart: true, changes },
  });
  expect(status).toBe(200);
  expect(body).toEqual({ ...wanted, integration: flagged(1) });
  expect(again.body).toEqual({ ...wanted, integration: flagged(2), confDescription: null });
  expect((await get(id)).body).toEqual(again.body);
});

it('is not created for an unknown integration, and stays in its own: 404', async () => {
  const [parameter, other] = [await make(), await make()];
  const before = await total();

  const responses = [
    await post({ ...FIELDS, integration: { id: 777_777 } }),
    await put({ ...parameter, integration: other.integration }),
  ];

  for (const response of responses)
    expect(response).toMatchObject({ status: 404, body: { message: 'error.idnotfound' } });
  expect(await total()).toBe(before);
  expect((await get(parameter.id)).body).toEqual(parameter);
});

it('is deleted, and counts no longer in its integration', async () => {
  const { id, integration } = await make();
  const key = entityKey('INTEGRATION', integration.id);
  const [stored, before] = [await gatehouse.table.get(key), await total()];

  expect((await remove(id)).status).toBe(200);

  expect([(await get(id)).status, (await remove(id)).status]).toEqual([404, 404]);
  expect(await total()).toBe(before - 1);
  expect(await gatehouse.table.get(key)).toEqual({
    ...stored,
    parameterCount: 0,
    parameterBytes: 0,
    revision: Number(stored?.revision) + 1,
    moduleRevision: Number(stored?.moduleRevision) + 1,
  });
});

describe('a secret', () => {
  const secret = { ...FIELDS, confValue: 'write-only', secret: true };
  /** The value as the module of the integration reads it. */
  const readByModule = async (id: number) => {
    const integration = Math.floor(id / 1_000_000);
    const { token } = await setup.module(integration);
    const path = `/api/utm-integrations/${integration}/module`;
    const { body } = await gatehouse.call('GET', path, { token });
    return body.parameters.find((parameter: { id: number }) => parameter.id === id);
  };

  it('is read by its module, and by people as a mask', async () => {
    const created = await make(secret);
    const { id, integration } = created;
    const path = `/api/utm-integrations/${integration.id}/module`;
    const token = await gatehouse.adminToken();
    const asPerson = await gatehouse.call('GET', path, { token });

    const listed = await list(`?integrationId.equals=${integration.id}`);
    for (const shown of [created, (await get(id)).body, listed.body[0]])
      expect(shown).toMatchObject({ confValue: '********', secret: true });
    expect(asPerson.body.parameters).toMatchObject([{ confValue: '********', secret: true }]);
    expect(await readByModule(id)).toMatchObject({ confValue: 'write-only', secret: true });
  });

  it('is kept by a client that sends the mask or does not know secrets', async () => {
    const { id, integration } = await make(secret);
    const masked = await put({ id, integration, confName: 'renamed', confValue: '********' });
    const kept = await readByModule(id);
    const replaced = await put({ id, integration, confName: 'renamed', confValue: 'another' });

    expect(masked.body).toMatchObject({
      confName: 'renamed',
      confValue: '********',
      secret: true,
      integration: { module: { needsRestart: true } },
    });
    expect(kept).toMatchObject({ confName: 'renamed', confValue: 'write-only' });
    expect(replaced.body).toMatchObject({ confValue: '********', secret: true });
    expect(await readByModule(id)).toMatchObject({ confValue: 'another', secret: true });
    const { body: entries } = await gatehouse.call(
      'GET',
      `/api/audits?target.equals=parameter/${id}&action.equals=parameter.updated`,
      { token: await gatehouse.adminToken() },
    );
    expect(entries.map(({ fields }: { fields: string[] }) => fields)).toEqual([
      ['confValue'],
      ['confName'],
    ]);
  });

  it('needs a new value to become readable, or to begin', async () => {
    const { id, integration } = await make(secret);
    const readable = { ...FIELDS, id, integration, secret: false };
    const refused = await put({ ...readable, confValue: '********' });
    const wrong = await post({ ...secret, integration, confValue: '********' });
    const shown = await put({ ...readable, confValue: 'shown' });
    const again = await put({ ...readable, secret: true, confValue: '********x' });
    const begun = await put({ ...readable, secret: true, confValue: '********' });
    const plain = await post({ ...FIELDS, integration, confValue: '********' });

    for (const { status, body } of [refused, wrong, again, begun])
      expect([status, body.fieldErrors]).toMatchObject([
        400,
        [{ field: 'confValue', reason: expect.stringContaining('without the mask') }],
      ]);
    expect(plain.body.fieldErrors).toMatchObject([{ reason: 'a new value: the mask is none' }]);
    expect(shown.body.confValue).toBe('shown');
    expect(shown.body).not.toHaveProperty('secret');
    expect((await get(id)).body.confValue).toBe('shown');
  });

  it.each([
    '********x',
    'x********',
    'was ******** before',
    '*******',
    '*********',
    '******** ',
    '\n********',
    '****x****',
    '*******x',
    'x*******',
    '****a new value****',
    '\uff0a\uff0a\uff0a',
    '**\u034f\ufe0f\u3164\u2800**',
    '**** ****',
    '*',
    ' ',
    '\u00a0*\u200b',
  ])('is not replaced by %j, which is typed into the mask or left of it', async (confValue) => {
    const { id, integration } = await make(secret);
    const changed = await put({ id, integration, confName: 'renamed', confValue });
    const shown = await put({ id, integration, confName: 'a', confValue, secret: false });
    const created = await post({ ...secret, integration, confValue });

    for (const { status, body } of [changed, shown, created])
      expect([status, body.fieldErrors]).toEqual([
        400,
        [expect.objectContaining({ field: 'confValue', message: 'Pattern' })],
      ]);
    expect(await readByModule(id)).toMatchObject({ confName: 'api key', confValue: 'write-only' });
  });

  it('alone cannot be made of asterisks: other values can, and a secret has some', async () => {
    const { integration } = await make();

    const { body } = await post({ ...FIELDS, confValue: '*', integration });
    const within = await post({ ...secret, confValue: 'a***b****c', integration });

    expect(body.confValue).toBe('*');
    expect(within.status).toBe(201);
  });

  it('counts its size when it is kept', async () => {
    const { id, integration } = await make(secret);
    const bytes = async () =>
      (await gatehouse.table.get(entityKey('INTEGRATION', integration.id)))?.parameterBytes;
    const before = await bytes();
    await put({ id, integration, confName: 'api keys', confValue: '********' });

    expect(before).toBe('api key'.length + 'write-only'.length);
    expect(await bytes()).toBe('api keys'.length + 'write-only'.length);
  });
});

/* Values as somebody sees them who can read or write the table alone. */

const SECRET = 'S3cret of the gate; pä';
const stored = async (id: number) => {
  const item = await gatehouse.table.get(entityKey('CONF', id));
  return { ...item, confValue: Buffer.from(item?.confValue as Uint8Array) };
};

it('a value is not readable in the table, neither after its creation nor an update', async () => {
  const created = await make({ confValue: SECRET });
  const updated = await make({ confValue: 'before' });
  await put({ ...updated, confValue: SECRET });

  for (const { id } of [created, updated]) {
    const { confValue: bytes, ...others } = await stored(id);
    const texts = [bytes.toString(), bytes.toString('base64'), JSON.stringify(others)];
    expect((await get(id)).body.confValue).toBe(SECRET);
    for (const form of [
      'S3cret',
      Buffer.from(SECRET).toString('base64'),
      encodeURIComponent(SECRET),
    ])
      expect(texts.join(' ')).not.toContain(form);
  }
});

it.each([
  ['the same', true],
  ['another', false],
])('a value copied to a parameter of %s integration is not readable there', async (_, isSame) => {
  const from = await make({ confValue: SECRET });
  const to = await make(isSame ? { integration: from.integration } : {});

  const { confValue } = await stored(from.id);
  await commit(gatehouse.table, [set(entityKey('CONF', to.id), { confValue }, EXISTS)]);
  const { status, text } = await gatehouse.call('GET', `/api/utm-integration-confs/${to.id}`, {
    token: await gatehouse.tokenOf('user'),
    mayCrash: true,
  });

  expect(status).toBe(500);
  expect([text, ...gatehouse.lines].join('\n')).not.toContain(SECRET);
  expect((await get(from.id)).body.confValue).toBe(SECRET);
});

/*
 * An integration is deleted with all its parameters in one transaction, which must stay within
 * DynamoDB's limits: also within the write units that a partition key has in a second, or it could
 * never be made.
 */
const LIMIT_BYTES = 192 * 1024;

it.each([
  [90, Math.floor(LIMIT_BYTES / 90) - 4, 'error.toomanyparameters'],
  [11, 16_384, 'error.parameterstoolarge'],
])(
  'an integration can have %i parameters of %i bytes, which are listed and deleted with it',
  async (count, bytes, message) => {
    const integration = await integrations.make(INTEGRATION);
    const create = () => post({ integration, confName: 'name', confValue: 'x'.repeat(bytes) });
    const ofAnother = await make();
    const before = await total();

    const created = [];
    for (let n = 0; n < count; n++) created.push(await create());
    const rejected = await create();
    await remove(created[0]?.body.id);
    const replaced = await create();
    const listed = await list(`?integrationId.equals=${integration.id}&size=100`);
    unitsOfDeletion = 0;
    const deleted = await integrations.remove(integration.id);

    expect(created.map(({ status }) => status)).toEqual(Array(count).fill(201));
    expect(rejected).toMatchObject({ status: 400, body: { message } });
    const nextId = integration.id * 1_000_000 + count + 1;
    expect(replaced).toMatchObject({ status: 201, body: { id: nextId } });
    expect([listed.status, listed.body.length, deleted.status]).toEqual([200, count, 200]);
    expect(unitsOfDeletion).toBeGreaterThan(LIMIT_BYTES / 1024);
    expect(unitsOfDeletion).toBeLessThanOrEqual(1000);
    expect((await integrations.get(integration.id)).status).toBe(404);
    expect((await get(nextId)).status).toBe(404);
    expect((await get(ofAnother.id)).body).toEqual(ofAnother);
    expect(await total()).toBe(before);
  },
);
