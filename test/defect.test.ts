import { beforeAll, expect, it, vi } from 'vitest';
import type { AwsResponse } from '../infra/local/calls/aws-call.ts';
import { useGatehouse } from './support/gatehouse.ts';
import { isKeptByNobody } from './support/launch.ts';

const SECRET = 'quoted-5ecret';
const QUOTED = JSON.stringify({ Item: { pk: { S: 'USER' }, passwordHash: { S: SECRET } } });

/** What the table answers to the next function that reads a user. */
let instead: AwsResponse | undefined;
const gatehouse = useGatehouse({
  async intercept({ operation, functionName }, make) {
    return instead && functionName && operation === 'GetItem' ? instead : make();
  },
});

let token: string;
beforeAll(async () => {
  token = await gatehouse.logIn('admin');
});

it.each<[string, AwsResponse]>([
  ['refuses what is asked', { status: 400, body: { __type: 'ValidationException', message: `Not valid: ${QUOTED}` } }],
  ['gives no right', { status: 400, body: { __type: 'AccessDeniedException', message: `No right to ${QUOTED}` } }],
  ['answers what is no JSON', { status: 200, body: `${SECRET} ${QUOTED}` }],
  ['answers half', { status: 200, body: QUOTED.slice(0, -20) }],
  ['has an item of no known type', { status: 200, body: { Item: { pk: { [SECRET]: SECRET } } } }],
])('where the table %s, the answer is a bare 500 with an id that the log has once', async (_, answer) => {
  instead = answer;

  const received = await fetch(`${gatehouse.cloud.url}/api/account`, { headers: { Authorization: `Bearer ${token}` } });

  instead = undefined;
  const text = await received.text();
  const requestId = received.headers.get('apigw-requestid') as string;
  expect(received.status).toBe(500);
  expect(JSON.parse(text)).toEqual({
    type: 'https://www.jhipster.tech/problem/problem-with-message',
    title: 'Internal Server Error',
    status: 500,
    path: '/api/account',
    message: 'error.http.500',
    requestId,
  });
  isKeptByNobody(Object.fromEntries(received.headers), text);
  const logged = () => gatehouse.lines.filter((line) => line.includes(requestId)).map((line) => JSON.parse(line));
  await vi.waitFor(() => expect(logged()).toHaveLength(2));
  const [defect, request] = logged();
  expect(request).toMatchObject({ route: 'GET /api/account', status: 500, failure: 'unexpected' });
  expect(Object.keys(defect).sort()).toEqual(expect.arrayContaining(['at', 'defect', 'requestId']));
  expect(defect.at).toMatch(/^at .+index\.mjs:\d+:\d+\)?\n/);
  expect(JSON.stringify(gatehouse.lines)).not.toContain(SECRET);
});
