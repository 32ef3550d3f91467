import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeAll, expect, it } from 'vitest';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const keyCalls: AwsCall[] = [];
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    if (call.service === 'KMS') keyCalls.push(call);
    return forward();
  },
});

const PATH = '/api/utm-integration-confs';
const SECRET = 'S3cret of the gate; pä';

let token: string;

beforeAll(async () => {
  token = await gatehouse.tokenOf('user');
});

async function makeIntegration(): Promise<{ id: number }> {
  const body = { name: 'Gate logs', shortName: 'gate', integrationType: 'API' };
  return (await gatehouse.call('POST', '/api/utm-integrations', { token, body })).body;
}

async function makeParameter(integration: { id: number }, confValue = SECRET) {
  const body = { integration, confName: 'api key', confValue };
  return (await gatehouse.call('POST', PATH, { token, body })).body;
}

const get = (id: number) => gatehouse.call('GET', `${PATH}/${id}`, { token });
const stored = async (id: number) =>
  (await gatehouse.table.get(entityKey('CONF', id)))?.confValue as Uint8Array;

/** Overwrites the stored value, as an attacker with rights to the table alone could. */
async function overwrite(id: number, confValue: Uint8Array): Promise<void> {
  const { endpoint, region, tableName } = gatehouse.cloud;
  const { pk, sk } = entityKey('CONF', id);
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  await client.send(
    new UpdateItemCommand({
      TableName: tableName,
      Key: { pk: { S: pk }, sk: { S: sk } },
      UpdateExpression: 'SET confValue = :v',
      ExpressionAttributeValues: { ':v': { B: confValue } },
    }),
  );
  client.destroy();
}

/** Sends without the contract check, because no contract lists a 500. */
async function getUnchecked(id: number) {
  const response = await fetch(`${gatehouse.cloud.url}${PATH}/${id}`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  return { status: response.status, text: await response.text() };
}

it.each(['created', 'updated'])('a value that was %s is not readable in the table', async (how) => {
  const parameter = await makeParameter(
    await makeIntegration(),
    how === 'created' ? SECRET : 'before',
  );
  if (how === 'updated')
    await gatehouse.call('PUT', PATH, { token, body: { ...parameter, confValue: SECRET } });

  const item = await gatehouse.table.get(entityKey('CONF', parameter.id));

  const bytes = Buffer.from(item?.confValue as Uint8Array);
  const text =
    `${bytes.toString('utf8')} ` +
    `${JSON.stringify({ ...item, confValue: bytes.toString('base64') })}`;
  const encodings = [
    SECRET,
    'S3cret',
    Buffer.from(SECRET).toString('base64'),
    encodeURIComponent(SECRET),
  ];
  expect((await get(parameter.id)).body.confValue).toBe(SECRET);
  expect(encodings.filter((encoded) => text.includes(encoded))).toEqual([]);
});

it('equal values have different ciphertexts in the table', async () => {
  const integration = await makeIntegration();
  const [one, other] = [await makeParameter(integration), await makeParameter(integration)];
  const first = await stored(one.id);

  await gatehouse.call('PUT', PATH, { token, body: one });

  const all = [first, await stored(one.id), await stored(other.id)];
  const encrypted = all.map((bytes) =>
    Buffer.from(bytes.slice(-Buffer.byteLength(SECRET))).toString('base64'),
  );
  expect(new Set(encrypted).size).toBe(3);
});

it.each([true, false])(
  'a value copied to another parameter cannot be decrypted there (same integration: %j)',
  async (same) => {
    const integration = await makeIntegration();
    const from = await makeParameter(integration);
    const to = await makeParameter(same ? integration : await makeIntegration(), 'another');

    await overwrite(to.id, await stored(from.id));

    const response = await getUnchecked(to.id);
    expect(response.status).toBe(500);
    expect([response.text, ...gatehouse.lines].join('\n')).not.toContain(SECRET);
    expect((await get(from.id)).body.confValue).toBe(SECRET);
  },
);

it('a value with one flipped bit cannot be decrypted', async () => {
  const { id } = await makeParameter(await makeIntegration());
  const bytes = Buffer.from(await stored(id));
  const last = bytes.length - 1;
  bytes[last] = (bytes[last] as number) ^ 1;

  await overwrite(id, bytes);

  expect((await getUnchecked(id)).status).toBe(500);
});

it('a data key is bound to its integration, and consecutive changes use the same one', async () => {
  const integration = await makeIntegration();
  const other = await makeIntegration();
  const parameter = await makeParameter(integration);
  await gatehouse.call('PUT', PATH, { token, body: parameter });
  keyCalls.length = 0;

  const changed = await gatehouse.call('PUT', PATH, {
    token,
    body: { ...parameter, confValue: 'changed' },
  });
  const afterChange = keyCalls.splice(0);
  await gatehouse.call('PUT', PATH, { token, body: await makeParameter(other) });
  await get(parameter.id);

  expect([changed.status, afterChange]).toEqual([200, []]);
  const context = ({ id }: { id: number }) => ({ service: 'gatehouse', integration: String(id) });
  const contexts = keyCalls.map(({ operation, input }) => [operation, input.EncryptionContext]);
  expect(contexts.filter(([operation]) => operation === 'Decrypt')).toEqual([
    ['Decrypt', context(integration)],
  ]);
  for (const [operation, used] of contexts)
    if (operation === 'GenerateDataKey') expect(used).toEqual(context(other));
});
