import { describe, expect, it } from 'vitest';
import { type Received, useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { useAdminAndAnalyst } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();

const tokens = useAdminAndAnalyst(gatehouse);
const KIB = 1024;

const create = (body: unknown, headers = {}) =>
  gatehouse.call('POST', '/api/utm-integrations', { token: tokens.admin, body, headers });

/** Sends without the contract check, for responses that API Gateway produces itself. */
async function unchecked(method: string, path: string, init: RequestInit = {}) {
  const headers = { Authorization: `Bearer ${tokens.admin}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${gatehouse.cloud.url}${path}`, { method, headers, ...init });
  return { status: response.status, text: await response.text() };
}

describe('a problem', () => {
  const problemType = (name: string) => `https://www.jhipster.tech/problem/${name}`;
  const user = (fields: object) => ({ login: 'someone', email: 'someone@example.com', ...fields });

  it.each([
    ['POST', '/api/users', user({ login: 'admin' }), 400, 'error.userexists', 'login-already-used'],
    [
      'POST',
      '/api/users',
      user({ email: 'Admin@Example.com' }),
      400,
      'error.emailexists',
      'email-already-used',
    ],
    ['POST', '/api/users', user({ id: 5 }), 400, 'error.idexists', 'problem-with-message'],
    ['PUT', '/api/users', user({}), 400, 'error.idnull', 'problem-with-message'],
    ['DELETE', '/api/users/admin', undefined, 400, 'error.lastadmin', 'problem-with-message'],
    ['POST', '/api/users', [], 400, 'error.http.400', 'problem-with-message'],
    [
      'POST',
      '/api/account/change-password',
      { currentPassword: 'wrong', newPassword: 'right' },
      400,
      'error.http.400',
      'invalid-password',
    ],
  ])(
    'for %s %s with %j is repeated in the response headers',
    async (method, path, sent, status, message, type) => {
      const { headers, ...response } = await gatehouse.call(method, path, {
        token: tokens.admin,
        body: sent,
      });

      expect(response.status).toBe(status);
      expect(response.body).toMatchObject({
        type: problemType(type),
        status,
        path,
        message,
        params: 'userManagement',
      });
      expect(response.body.title).toMatch(/^[A-Z]/);
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(headers).toMatchObject({
        'x-gatehouseapp-error': message,
        'x-gatehouseapp-params': 'userManagement',
      });
    },
  );

  it.each([
    [
      '/api/users',
      { email: 'x@y@z' },
      'user',
      [
        ['login', 'NotNull', {}],
        ['email', 'Email', {}],
      ],
    ],
    [
      '/api/utm-integrations',
      { ...INTEGRATION, name: ' ' },
      'utmIntegration',
      [['name', 'NotBlank', { pattern: '\\S' }]],
    ],
    [
      '/api/utm-integration-confs',
      { confName: 'x', confValue: '', integration: {} },
      'utmIntegrationConf',
      [
        ['integration.id', 'NotNull', {}],
        ['confValue', 'NotBlank', { min: 1, max: 16_384, unit: 'bytes' }],
      ],
    ],
    [
      '/api/account/change-password',
      { currentPassword: 'x', newPassword: '123' },
      'user',
      [['newPassword', 'Size', { min: 4, max: 100 }]],
    ],
    [
      '/api/utm-integrations',
      { ...INTEGRATION, integrationType: 'SINK', shortName: 's'.repeat(256) },
      'utmIntegration',
      [
        [
          'integrationType',
          'Pattern',
          { allowed: ['COLLECTOR', 'FORWARDER', 'SCANNER', 'CLOUD', 'WEBHOOK', 'API'] },
        ],
        ['shortName', 'Size', { min: 1, max: 255 }],
      ],
    ],
  ])(
    'for invalid fields sent to %s names each field and its limits',
    async (path, sent, objectName, wrong) => {
      const { status, body, headers } = await gatehouse.call('POST', path, {
        token: tokens.admin,
        body: sent,
      });

      expect(status).toBe(400);
      expect(body).toEqual({
        type: problemType('constraint-violation'),
        title: 'Method argument not valid',
        status: 400,
        path,
        message: 'error.validation',
        params: expect.any(String),
        fieldErrors: expect.any(Array),
      });
      const expected = wrong.map(([field, message, limits]) => ({
        objectName,
        field,
        message,
        ...(limits as object),
      }));
      expect(body.fieldErrors).toHaveLength(expected.length);
      expect(body.fieldErrors).toEqual(expect.arrayContaining(expected));
      expect(headers).not.toHaveProperty('x-gatehouseapp-error');
    },
  );
});

describe('a response', () => {
  const call =
    (method: string, path: string, sent: object = {}) =>
    () =>
      gatehouse.call(method, path, { token: tokens.admin, ...sent });

  it.each<[number, () => Promise<Received>]>([
    [200, call('GET', '/api/account')],
    [201, () => create(INTEGRATION)],
    [400, () => create([])],
    [401, call('GET', '/api/account', { token: 'x' })],
    [403, () => gatehouse.call('GET', '/api/users/authorities', { token: tokens.analyst })],
    [404, call('GET', '/api/users/nobody')],
    [413, () => create('x'.repeat(64 * KIB + 1))],
    [415, () => create(INTEGRATION, { 'Content-Type': 'text/plain' })],
  ])('with status %d must not be cached and has the security headers', async (expected, send) => {
    const { status, headers } = await send();

    expect(status).toBe(expected);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'strict-transport-security': expect.stringMatching(/^max-age=\d{8}/),
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
    });
    // Of these problems only the 400 without field errors is repeated in headers.
    expect('x-gatehouseapp-error' in headers).toBe(expected === 400);
  });

  it('with the public keys may be cached for five minutes', async () => {
    const { headers } = await gatehouse.call('GET', '/.well-known/jwks.json');

    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
    });
  });
});

describe('a request that reaches no function', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/api/unknown'],
    ['GET', '/api/users/'],
    ['GET', '/api/users/a/b'],
    ['GET', '/API/users'],
    ['PATCH', '/api/users'],
    ['PUT', '/api/users/admin'],
    ['OPTIONS', '/api/users'],
  ])('%s %s is rejected with 404', async (method, path) => {
    const { status, text } = await unchecked(method, path);

    expect(status).toBe(404);
    expect(text).toBe('{"message":"Not Found"}');
  });

  it('HEAD is rejected with 404 where GET has no route', async () => {
    expect(await unchecked('HEAD', '/api/authenticate')).toEqual({ status: 404, text: '' });
  });

  it('an invalid percent-encoding is rejected with 400', async () => {
    expect(await unchecked('GET', '/api/users/%zz')).toEqual({
      status: 400,
      text: '{"message":"Bad Request"}',
    });
  });

  it('a body of more than 6 MB is rejected with 413', async () => {
    const body = Buffer.alloc(6 * KIB * KIB, ' ');

    const { status, text } = await unchecked('POST', '/api/users', { body });

    expect(status).toBe(413);
    expect(text).toBe('{"message":"Request Entity Too Large"}');
  });
});
