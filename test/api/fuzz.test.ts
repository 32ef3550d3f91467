import { randomInt } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import {
  type MalformedRequest,
  malformedRequests,
  type Token,
} from '../support/instance/malformed-requests.ts';

/*
 * SEED=n npx vitest run test/api/fuzz.test.ts repeats the same requests; REQUESTS=n sends n of them
 * to each row.
 */
const SEED = Number(process.env.SEED ?? randomInt(2 ** 31));
const REQUESTS = Number(process.env.REQUESTS ?? 4);

const gatehouse = await useGatehouse();

let authorization: Record<Token, string | string[] | undefined>;
beforeAll(async () => {
  const [admin, user] = await Promise.all([gatehouse.adminToken(), gatehouse.tokenOf('user')]);
  const body = { name: 'Tap', shortName: 'tap', integrationType: 'API' };
  const { body: integration } = await gatehouse.call('POST', '/api/utm-integrations', {
    token: admin,
    body,
  });
  const parameter = { confName: 'Key', confValue: 'value', integration };
  await gatehouse.call('POST', '/api/utm-integration-confs', { token: admin, body: parameter });
  await gatehouse.makeUser('made');
  authorization = {
    admin: `Bearer ${admin}`,
    user: `Bearer ${user}`,
    none: undefined,
    corrupted: `Bearer ${admin.slice(0, -9)}${admin.slice(-8)}`,
    repeated: [`Bearer ${admin}`, `Bearer ${admin}`],
    malformed: 'Bearer \xff\xfe.e30.__',
  };
});

async function send({ method, path, token, headers, body }: MalformedRequest): Promise<number> {
  const Authorization = authorization[token];
  const all = { ...headers, ...(Authorization && { Authorization }) };
  const { status, text } = await gatehouse.call(method, path, { headers: all, body });
  const sent =
    `${method} ${path} as ${token} with ${JSON.stringify(headers)} ` +
    `${String(body).slice(0, 2000)}`;
  expect(status, `SEED=${SEED}: ${sent} returned ${text}`).toBeLessThan(500);
  return status;
}

it(`no request returns a 5xx status, and the table stays intact (SEED=${SEED})`, async () => {
  const reached = new Set<number>();

  for (const requests of malformedRequests(SEED, REQUESTS)) {
    // Sequential, because parallel requests would mostly start more function instances.
    for (const request of requests) reached.add(await send(request));
  }

  expect([...reached]).toEqual(expect.arrayContaining([200, 400, 401, 404, 415]));
}, 120_000);
