import { beforeAll, describe, expect, it } from 'vitest';
import type { AwsResponse } from '../../infra/local/calls/aws-call.ts';
import { localTransport } from '../../infra/settings/transport.ts';
import { expectCommonHeaders } from '../support/instance/api-document.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';

const SECRET = 'quoted-5ecret';
const QUOTED = JSON.stringify({ Item: { pk: { S: 'USER' }, passwordHash: { S: SECRET } } });

/** Replaces the response to every read of a function. */
let override: AwsResponse | undefined;
const gatehouse = await useGatehouse({
  async intercept({ operation, functionName }, forward) {
    return override && functionName && operation === 'BatchGetItem' ? override : forward();
  },
});

let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

describe('a problem', () => {
  it.each([
    [
      '/api/users',
      { id: 1, login: null, email: 'x@y@z' },
      'user',
      [
        { field: 'login', message: 'NotNull' },
        { field: 'email', message: 'Email' },
      ],
    ],
    [
      '/api/utm-integration-confs',
      { confName: 'x', confValue: '', integration: {} },
      'utmIntegrationConf',
      [
        { field: 'integration.id', message: 'NotNull' },
        { field: 'confValue', message: 'NotBlank', min: 1, max: 16_384, unit: 'bytes' },
      ],
    ],
    [
      '/api/utm-integrations',
      { ...INTEGRATION, integrationType: 'SINK', shortName: 's'.repeat(256) },
      'utmIntegration',
      [
        {
          field: 'integrationType',
          message: 'Pattern',
          allowed: ['COLLECTOR', 'FORWARDER', 'SCANNER', 'CLOUD', 'WEBHOOK', 'API'],
        },
        { field: 'shortName', message: 'Size', min: 1, max: 255 },
      ],
    ],
  ])(
    'for invalid fields sent to %s names each field and its limits',
    async (path, sent, objectName, errors) => {
      const { body, headers } = await gatehouse.call('POST', path, { token, body: sent });

      expect(body).toEqual({
        type: 'https://www.jhipster.tech/problem/constraint-violation',
        title: 'Method argument not valid',
        status: 400,
        path,
        message: 'error.validation',
        params: expect.any(String),
        fieldErrors: expect.any(Array),
      });
      expect(body.fieldErrors).toHaveLength(errors.length);
      for (const error of errors) expect(body.fieldErrors).toContainEqual({ objectName, ...error });
      expect(headers).not.toHaveProperty('x-gatehouseapp-error');
    },
  );
});

it('a problem of a missing entity names its kind', async () => {
  const path = '/api/users/nobody';

  const { body } = await gatehouse.call('GET', path, { token });

  expect(body).toEqual({
    type: 'https://www.jhipster.tech/problem/problem-with-message',
    title: 'Not Found',
    status: 404,
    path,
    message: 'error.http.404',
    params: 'userManagement',
  });
});

it('a problem names at most a hundred invalid fields', async () => {
  const { body } = await gatehouse.call('POST', '/api/users', {
    token,
    body: { login: 'many', email: 'many@example.com', authorities: Array(101).fill('x') },
  });

  expect(body.fieldErrors).toHaveLength(100);
});

async function withTableResponse<T>(response: AwsResponse, request: () => Promise<T>): Promise<T> {
  override = response;
  return request().finally(() => {
    override = undefined;
  });
}

/** The two lines of a request that ends with an error. */
async function linesOf(requestId: string) {
  const logged = () =>
    gatehouse.lines.filter((line) => line.includes(requestId)).map((line) => JSON.parse(line));
  await expect.poll(logged).toHaveLength(2);
  return logged();
}

it.each<[string, AwsResponse]>([
  [
    'rejects the call',
    { status: 400, body: { __type: 'ValidationException', message: `Not valid: ${QUOTED}` } },
  ],
  ['returns truncated JSON', { status: 200, body: QUOTED.slice(0, -20) }],
  [
    'returns an unknown attribute type',
    { status: 200, body: { Responses: { T: [{ pk: { [SECRET]: SECRET } }] } } },
  ],
])(
  'when the table %s, the response is a bare 500 whose request id leads to the defect in the log',
  async (_, response) => {
    const headers = { Authorization: `Bearer ${token}` };

    const received = await withTableResponse(response, () =>
      fetch(`${gatehouse.cloud.url}/api/account`, { headers }),
    );

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
    expectCommonHeaders(Object.fromEntries(received.headers), text);
    const [defect, request] = await linesOf(requestId);
    expect(request).toMatchObject({
      route: 'GET /api/account',
      status: 500,
      failure: 'unexpected',
    });
    expect(Object.keys(defect).sort()).toEqual(
      expect.arrayContaining(['at', 'defect', 'requestId', 'version']),
    );
    expect(defect.at).toMatch(/^at (infra|lib|node_modules)\/\S+:\d+:\d+\n/);
    expect(JSON.stringify(gatehouse.lines)).not.toContain(SECRET);
  },
);

it('the request id of a defect is in the errors of OAuth and SCIM as well', async () => {
  const body = { grant_type: 'client_credentials', client_id: '1.x', client_secret: 'x' };

  const [oauth, scim] = await withTableResponse(
    { status: 400, body: { __type: 'ValidationException' } },
    async () => [
      await gatehouse.call('POST', '/api/oauth2/token', { body }),
      await gatehouse.call('GET', '/scim/v2/Users', { token }),
    ],
  );

  expect(oauth?.body).toEqual({
    error: 'server_error',
    error_description: 'Internal Server Error',
    status: 500,
    message: 'error.http.500',
    requestId: oauth?.headers['apigw-requestid'],
  });
  expect(scim?.body).toEqual({
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: '500',
    detail: `Internal Server Error (request id ${scim?.headers['apigw-requestid']})`,
  });
});

it('when the table throttles, the log has the cause of the 503, without the message', async () => {
  const reason = 'TableReadKeyRangeThroughputExceeded';
  const throttled = {
    __type: 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException',
    message: `Throttled: ${QUOTED}`,
    ThrottlingReasons: [{ reason, resource: SECRET }],
  };

  const received = await withTableResponse({ status: 400, body: throttled }, () =>
    gatehouse.call('GET', '/api/account', { token }),
  );

  expect(received.status).toBe(503);
  const requestId = received.headers['apigw-requestid'] as string;
  const [outage, request] = await linesOf(requestId);
  expect(outage).toEqual({
    requestId,
    route: 'GET /api/account',
    outage: 'ProvisionedThroughputExceededException',
    ...(localTransport() === 'minimal' && { service: 'dynamodb', operation: 'BatchGetItem' }),
    awsStatus: 400,
    reasons: reason,
    attempts: localTransport() === 'minimal' ? 2 : 3,
    version: '$LATEST',
  });
  expect(request).toMatchObject({ status: 503, failure: 'unavailable' });
  expect(JSON.stringify(gatehouse.lines)).not.toContain(SECRET);
});
