import { describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { useAdminAndAnalyst } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();

const tokens = useAdminAndAnalyst(gatehouse);
const KIB = 1024;

/** Sends without the contract check, for responses that API Gateway produces itself. */
async function unchecked(method: string, path: string, init: RequestInit = {}) {
  const headers = { Authorization: `Bearer ${tokens.admin}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${gatehouse.cloud.url}${path}`, { method, headers, ...init });
  return { status: response.status, text: await response.text() };
}

describe('a problem', () => {
  const problemType = (name: string) => `https://www.jhipster.tech/problem/${name}`;

  it('is repeated in the response headers', async () => {
    const { status, headers, body } = await gatehouse.call('POST', '/api/users', {
      token: tokens.admin,
      body: { login: 'admin', email: 'someone@example.com' },
    });

    expect(status).toBe(400);
    expect(body).toMatchObject({
      type: problemType('login-already-used'),
      status,
      path: '/api/users',
      message: 'error.userexists',
      params: 'userManagement',
    });
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'x-gatehouseapp-error': body.message,
      'x-gatehouseapp-params': 'userManagement',
    });
  });

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
      '/api/utm-integration-confs',
      { confName: 'x', confValue: '', integration: {} },
      'utmIntegrationConf',
      [
        ['integration.id', 'NotNull', {}],
        ['confValue', 'NotBlank', { min: 1, max: 16_384, unit: 'bytes' }],
      ],
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

describe('a request that reaches no function', () => {
  it.each([
    ['GET', '/api/unknown'],
    ['GET', '/api/users/'],
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
