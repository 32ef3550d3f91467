import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { howToTry } from '../../infra/local/announce.ts';
import { consoleRoutes, routes } from '../../routes.ts';
import { isOfRequest } from '../support/costs/consumed-units.ts';
import { untilEarlyInWindow } from '../support/doubles/time.ts';
import { methodAndPath } from '../support/instance/api-document.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse, Received } from '../support/instance/launch.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * The functions of an environment with an edge, for which the tests stand in by sending its
 * headers. What the edge itself does is in test/stack/edge.test.ts.
 */

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const [SECRET, NEXT] = ['5f'.repeat(32), '6a'.repeat(32)];
const FAILURES_MAX = 3;
const { domain, edge } = OTHER_SETTINGS;
const CHANGES = {
  domain,
  edge: { ...edge, secretHashes: [sha256(NEXT), sha256(SECRET)] },
  failuresPerSource: FAILURES_MAX,
};

let gatehouse: Gatehouse;
let calls: string[] = [];
beforeAll(async () => {
  gatehouse = await startGatehouse({
    assembly: assemblyWith('dev', CHANGES),
    intercept(call, forward) {
      if (isOfRequest(call)) calls.push(`${call.functionName}: ${call.operation}`);
      return forward();
    },
  });
});
afterAll(() => gatehouse.stop());
afterEach(() => {
  calls = [];
});

const fromEdge = (address: string, secret = SECRET) => ({
  'Gatehouse-Edge-Secret': secret,
  'Gatehouse-Client-Address': address,
});
const logInFrom = (
  address: string,
  password: string,
  headers: Record<string, string> = fromEdge(address),
) =>
  gatehouse.call('POST', '/api/authenticate', { body: { username: 'admin', password }, headers });
const statuses = (responses: readonly Received[]) => responses.map(({ status }) => status);

/**
 * A request past the edge. Its rejection is not in the API document, because no client of the edge
 * sees it.
 */
async function sendDirectly(route: string, headers: [string, string][]) {
  const [method, path] = methodAndPath(route, { login: 'admin', id: 1 });
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
  const response = await fetch(`${gatehouse.cloud.url}${path}`, {
    method,
    headers: hasBody ? [...headers, ['Content-Type', 'application/json']] : headers,
    ...(hasBody && { body: '{' }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

it('is announced by npm start, which has no edge', () => {
  expect(howToTry(gatehouse.cloud)).toEqual([
    expect.stringContaining('rejects every request with 403'),
  ]);
});

describe('a request from the edge', () => {
  it('is served with a token, a body and If-Match, as without an edge', async () => {
    const headers = fromEdge('203.0.113.1');
    const { body } = await logInFrom('203.0.113.1', 'admin');
    const token = body.id_token;
    const user = await gatehouse.call('GET', '/api/users/user', { token, headers });
    const precondition = { 'If-Match': user.headers.etag as string };

    const responses = [
      await gatehouse.call('GET', '/api/health', { headers: fromEdge('203.0.113.1', NEXT) }),
      await gatehouse.call('PUT', '/api/users', {
        token,
        body: user.body,
        headers: { ...headers, ...precondition },
      }),
      await gatehouse.call('GET', '/api/users?sort=id,desc&size=1', { token, headers }),
    ];

    expect(statuses(responses)).toEqual([200, 200, 200]);
  });

  it('is logged with the address of its client, and without the secret', async () => {
    await gatehouse.call('GET', '/management/info', { headers: fromEdge('203.0.113.2') });

    const logged = () => gatehouse.lines.findLast((text) => text.includes('GET /management/info'));
    await expect.poll(logged).toContain('"clientAddress":"203.0.113.2"');
    expect(gatehouse.lines.join('\n')).not.toContain(SECRET);
  });
});

describe.each([...routes, ...consoleRoutes])('$route', ({ route, contract }) => {
  it('rejects everything else with 403, before it reads a body or calls anything', async () => {
    const address: [string, string] = ['Gatehouse-Client-Address', '203.0.113.1'];
    const secret: [string, string] = ['Gatehouse-Edge-Secret', SECRET];
    // test/unit/request-headers.test.ts has every kind of secret and address.
    const attempts = [
      [],
      [['Gatehouse-Edge-Secret', 'guessed'], address],
      [secret],
      [secret, secret, address],
    ] as [string, string][][];
    // A cold start may read the public keys, whoever causes it.
    await sendDirectly(route, []);
    calls = [];

    const responses = [];
    for (const headers of attempts) responses.push(await sendDirectly(route, headers));

    for (const { status, headers, body } of responses) {
      expect([status, headers.get('content-type'), headers.get('www-authenticate')]).toEqual([
        403,
        `application/${'scim' in contract ? 'scim+' : 'oauth' in contract ? '' : 'problem+'}json; charset=utf-8`,
        null,
      ]);
      expect(body).toMatchObject(
        'scim' in contract ? { status: '403' } : { status: 403, message: 'error.http.403' },
      );
    }
    expect(calls).toEqual([]);
    const logged = () =>
      gatehouse.lines.filter((line) => line.includes(`"route":"${route}"`)).slice(-attempts.length);
    await expect
      .poll(() => logged().filter((line) => line.includes('"failure":"not-from-edge"')))
      .toHaveLength(attempts.length);
  });
});

describe('the login throttle', () => {
  beforeEach(untilEarlyInWindow);

  /** Uses up the wrong passwords of an address. */
  async function block(address: string): Promise<void> {
    for (let n = 0; n < FAILURES_MAX; n++)
      expect((await logInFrom(address, 'wrong')).status).toBe(401);
    expect((await logInFrom(address, 'wrong')).status).toBe(429);
  }

  it('counts each client behind the edge separately', async () => {
    await block('198.51.100.1');

    expect(
      statuses([
        await logInFrom('198.51.100.2', 'wrong'),
        await logInFrom('198.51.100.3', 'admin'),
      ]),
    ).toEqual([401, 200]);
  });

  it('does not let a client choose its address, nor count for another past the edge', async () => {
    await block('198.51.100.5');
    const forged = {
      ...fromEdge('198.51.100.5'),
      'X-Forwarded-For': '203.0.113.9',
      'X-Real-IP': '203.0.113.9',
    };
    const victim = '198.51.100.6';

    for (let n = 0; n <= FAILURES_MAX; n++)
      await sendDirectly('POST /api/authenticate', [['Gatehouse-Client-Address', victim]]);

    expect((await logInFrom('198.51.100.5', 'admin', forged)).status).toBe(429);
    expect((await logInFrom(victim, 'wrong')).status).toBe(401);
  });
});
