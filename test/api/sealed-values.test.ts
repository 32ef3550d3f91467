import { expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { EXISTS, set } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION, useIntegrations } from '../support/instance/integrations.ts';

/* The values of parameters, as somebody sees them who can read or write the table alone. */

const gatehouse = await useGatehouse();
const { integrations, parameters } = useIntegrations(gatehouse);

const SECRET = 'S3cret of the gate; pä';
const makeIntegration = () => integrations.make(INTEGRATION);
const makeParameter = (integration: { id: number }, confValue = SECRET) =>
  parameters.make({ integration, confName: 'api key', confValue });
const stored = async (id: number) =>
  (await gatehouse.table.get(entityKey('CONF', id)))?.confValue as Uint8Array;

it.each(['created', 'updated'])('a value that was %s is not readable in the table', async (how) => {
  const before = how === 'created' ? SECRET : 'before';
  const parameter = await makeParameter(await makeIntegration(), before);
  if (how === 'updated') await parameters.put({ ...parameter, confValue: SECRET });

  const item = await gatehouse.table.get(entityKey('CONF', parameter.id));

  const bytes = Buffer.from(item?.confValue as Uint8Array);
  const texts = [
    bytes.toString('utf8'),
    JSON.stringify({ ...item, confValue: bytes.toString('base64') }),
  ];
  const base64 = Buffer.from(SECRET).toString('base64');
  expect((await parameters.get(parameter.id)).body.confValue).toBe(SECRET);
  for (const form of ['S3cret', base64, encodeURIComponent(SECRET)])
    expect(texts.join(' ')).not.toContain(form);
});

it.each([
  ['the same', true],
  ['another', false],
])('a value copied to a parameter of %s integration is not readable there', async (_, isSame) => {
  const integration = await makeIntegration();
  const from = await makeParameter(integration);
  const to = await makeParameter(isSame ? integration : await makeIntegration(), 'another');

  const confValue = await stored(from.id);
  await commit(gatehouse.table, [set(entityKey('CONF', to.id), { confValue }, EXISTS)]);
  const { status, text } = await gatehouse.call('GET', `/api/utm-integration-confs/${to.id}`, {
    token: await gatehouse.tokenOf('user'),
    mayCrash: true,
  });

  expect(status).toBe(500);
  expect([text, ...gatehouse.lines].join('\n')).not.toContain(SECRET);
  expect((await parameters.get(from.id)).body.confValue).toBe(SECRET);
});
