import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../routes.ts';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';
import { methodAndPath } from '../support/instance/method-and-path.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/*
 * Requests to the public endpoints that a browser sends for a page, with the headers that it adds.
 */

const CONSOLE = 'https://console.example';
const CHANGES = { corsOrigins: [CONSOLE, 'http://localhost:9000'] };

let gatehouse: Gatehouse;
let calls: string[] = [];
beforeAll(async () => {
  synthesizeInProcess('dev', CHANGES);
  gatehouse = await startGatehouse({
    assembly: assemblyOf('dev', CHANGES),
    intercept(call, forward) {
      if (call.functionName) calls.push(call.operation);
      return forward();
    },
  });
  await finishReset({});
}, 60_000);
afterAll(() => gatehouse.stop());

type Headers = Record<string, string>;
const site = (value: string, mode = 'cors', dest = 'empty'): Headers => ({
  'Sec-Fetch-Site': value,
  'Sec-Fetch-Mode': mode,
  'Sec-Fetch-Dest': dest,
});
const finishReset = (headers: Headers) =>
  gatehouse.call('POST', '/api/account/reset-password/finish', {
    headers,
    body: { key: 'k', newPassword: 'fresh' },
  });
const getKeys = (headers: Headers) => gatehouse.call('GET', '/.well-known/jwks.json', { headers });

const publicRoutes = routes.filter(({ contract }) => contract.access === 'public');

describe.each(publicRoutes)('$route', ({ route }) => {
  it('rejects a request of another site before any call and without its body', async () => {
    const [method, path] = methodAndPath(route, {});
    const headers = { ...site('cross-site', 'no-cors'), 'Content-Type': 'text/plain' };
    const body = method === 'POST' ? 'x' : undefined;
    // The cold start of a function may call KMS.
    await gatehouse.call(method, path, { headers, body });
    calls = [];

    const responses = [
      await gatehouse.call(method, path, { headers, body }),
      await gatehouse.call(method, path, {
        headers: { ...headers, Origin: 'https://evil.example' },
        body,
      }),
    ];

    expect(responses.map(({ status }) => status)).toEqual([403, 403]);
    expect(responses[0]?.body).toEqual({
      type: 'https://www.jhipster.tech/problem/problem-with-message',
      title: 'Forbidden',
      status: 403,
      detail: 'The request comes from a page of another site, whose origin is not in corsOrigins',
      path,
      message: 'error.http.403',
    });
    expect(calls).toEqual([]);
  });
});

describe('a change', () => {
  const own = () => gatehouse.cloud.url;

  it.each<[string, () => Headers]>([
    ['a client that is no browser', () => ({})],
    ['a page of the service', () => ({ ...site('same-origin'), Origin: own() })],
    ['a page of the service in a browser without Sec-Fetch-Site', () => ({ Origin: own() })],
    [
      'a page under another name of the host',
      () => ({ Origin: 'http://localhost:4200', Host: 'localhost:4200' }),
    ],
    ['a page of an allowed origin', () => ({ ...site('cross-site'), Origin: CONSOLE })],
    [
      'a page of an allowed origin, through a proxy',
      () => ({ ...site('same-origin'), Origin: 'http://localhost:9000' }),
    ],
  ])('is accepted from %s', async (_, headers) => {
    expect((await finishReset(headers())).status).toBe(400);
  });

  it.each<[string, () => Headers]>([
    ['another site', () => ({ Origin: 'https://evil.example' })],
    ['no origin that the browser tells', () => ({ Origin: 'null' })],
    ['an empty origin', () => ({ Origin: '' })],
    [
      'a form of another site in a browser that sends no Origin',
      () => site('cross-site', 'navigate', 'document'),
    ],
    ['another port', () => ({ ...site('same-site'), Origin: 'http://127.0.0.1:9999' })],
    ['another scheme', () => ({ ...site('cross-site'), Origin: own().replace('http:', 'https:') })],
    ['the host without its port', () => ({ Origin: 'http://127.0.0.1' })],
    ['a host that begins like an allowed one', () => ({ Origin: `${CONSOLE}.evil.example` })],
    [
      'a host that ends like an allowed one',
      () => ({ Origin: CONSOLE.replace('console', 'evil-console') }),
    ],
    [
      'an allowed origin with another scheme',
      () => ({ Origin: CONSOLE.replace('https:', 'http:') }),
    ],
    ['an allowed origin in upper case', () => ({ Origin: CONSOLE.toUpperCase() })],
    ['two origins, one of them allowed', () => ({ Origin: `https://evil.example,${CONSOLE}` })],
  ])('is rejected from %s', async (_, headers) => {
    expect((await finishReset(headers())).status).toBe(403);
  });
});

describe('a read', () => {
  it.each<[string, Headers]>([
    ['a mailed link or a bookmark', site('cross-site', 'navigate', 'document')],
    [
      'a browser that does not tell the destination',
      { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' },
    ],
    ['the address bar', site('none', 'navigate', 'document')],
    ['another page of the same site', site('same-site')],
    ['a page of an allowed origin', { ...site('cross-site'), Origin: CONSOLE }],
    ['a browser without Sec-Fetch-Site', { Origin: 'https://evil.example' }],
  ])('is accepted from %s', async (_, headers) => {
    expect((await getKeys(headers)).status).toBe(200);
  });

  it.each<[string, Headers]>([
    ['a script', site('cross-site', 'cors')],
    ['an image', site('cross-site', 'no-cors', 'image')],
    ...['iframe', 'frame', 'fencedframe', 'object', 'embed'].map((dest): [string, Headers] => [
      `an ${dest}`,
      site('cross-site', 'navigate', dest),
    ]),
  ])('is rejected from %s of another site', async (_, headers) => {
    expect((await getKeys(headers)).status).toBe(403);
  });
});
