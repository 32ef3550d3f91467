import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes, routes } from '../../routes.ts';
import { isOfRequest } from '../support/costs/consumed-units.ts';
import { methodAndPath } from '../support/instance/api-document.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * Requests to the public endpoints that a browser sends for a page, with the headers that it adds.
 */

const CONSOLE = 'https://console.example';
const CHANGES = { corsOrigins: [CONSOLE, 'http://localhost:9000'] };

let gatehouse: Gatehouse;
let calls: string[] = [];
beforeAll(async () => {
  gatehouse = await startGatehouse({
    assembly: assemblyWith('dev', CHANGES),
    intercept(call, forward) {
      if (isOfRequest(call)) calls.push(call.operation);
      return forward();
    },
  });
  await finishReset({});
});
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

const publicRoutes = [...routes, ...consoleRoutes].filter(
  ({ contract }) => contract.access === 'public',
);

describe.each(publicRoutes)('$route', ({ route, contract }) => {
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
    const detail =
      'The request comes from a page of another site, whose origin is not in corsOrigins';
    const common = { status: 403, message: 'error.http.403' };
    expect(responses[0]?.body).toEqual(
      'oauth' in contract
        ? { ...common, error: 'invalid_request', error_description: detail }
        : {
            ...common,
            type: 'https://www.jhipster.tech/problem/problem-with-message',
            title: 'Forbidden',
            detail,
            path,
          },
    );
    expect(calls).toEqual([]);
  });
});

// test/unit/request-headers.test.ts has other combinations of headers.
it.each<[number, string, () => Headers]>([
  [400, 'a page of the service', () => ({ ...site('same-origin'), Origin: gatehouse.cloud.url })],
  [
    400,
    'a page under another name of the host',
    () => ({ Origin: 'http://localhost:1', Host: 'localhost:1' }),
  ],
  [
    400,
    'a page whose web server replaces Host',
    () => ({ ...site('same-origin'), Origin: 'https://client.example' }),
  ],
  [
    403,
    'a page of another host of the site',
    () => ({ ...site('same-site'), Origin: 'http://127.0.0.1:1' }),
  ],
  [400, 'a page of an allowed origin', () => ({ ...site('cross-site'), Origin: CONSOLE })],
  [403, 'another site', () => ({ Origin: 'https://evil.example' })],
])('a change gets %i from %s', async (status, _, headers) => {
  expect((await finishReset(headers())).status).toBe(status);
});
