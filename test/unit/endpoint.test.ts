import { createHash } from 'node:crypto';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context,
} from 'aws-lambda';
import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Contract, ProtectedContract, PublicContract } from '../../lib/contract/contract.ts';
import { Failure, type FailureCode } from '../../lib/contract/failure.ts';
import { idInPath } from '../../lib/contract/fields.ts';
import { endpoint } from '../../lib/http/endpoint.ts';
import type { Request } from '../../lib/http/lambda-handler.ts';
import { publicEndpoint } from '../../lib/http/public-endpoint.ts';
import { ok, okEmpty } from '../../lib/http/response.ts';
import { startInColdStart } from '../../lib/runtime/cold-start.ts';
import { CALL_RESERVE_MS, currentDeadline } from '../../lib/runtime/deadline.ts';
import { countRetry } from '../../lib/runtime/retries.ts';
import type { Caller } from '../../lib/users/caller.ts';
import { useLogLines } from '../support/instance/log-lines.ts';
import { makeSigningKeyPair } from '../support/instance/mint.ts';
import { NOW, signedBy, useVerifierEnvironment } from '../support/instance/tokens.ts';

/* Calls endpoints as Lambda does, with events from API Gateway. */

const lines = useLogLines();

const REQUEST_ID = 'request-1';
type Parts = {
  body?: string;
  base64?: boolean;
  headers?: Record<string, string>;
  query?: string;
  path?: Record<string, string>;
};

function eventOf({
  body,
  base64 = false,
  headers = {},
  query = '',
  path,
}: Parts = {}): APIGatewayProxyEventV2 {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  return {
    version: '2.0',
    routeKey: 'POST /api/gates',
    rawPath: '/api/gates',
    rawQueryString: query,
    headers: { ...json, ...headers },
    requestContext: {
      requestId: REQUEST_ID,
      timeEpoch: 123_456,
      http: { sourceIp: '203.0.113.7' },
    },
    ...(path && { pathParameters: path }),
    ...(body !== undefined && { body }),
    isBase64Encoded: base64,
  } as unknown as APIGatewayProxyEventV2;
}

type Result = APIGatewayProxyStructuredResultV2 & {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
};
type Handler = (event: APIGatewayProxyEventV2, context: Context) => Promise<unknown>;
const call = async (handler: unknown, parts?: Parts, remaining = 10_000) =>
  (await (handler as Handler)(eventOf(parts), {
    getRemainingTimeInMillis: () => remaining,
  } as Context)) as Result;

const PUBLIC = {
  access: 'public',
  summary: 'Try',
  tag: 'Status',
  entityName: 'userManagement',
} as const satisfies Contract;
const WITH_BODY = {
  ...PUBLIC,
  body: v.object({ name: v.optional(v.string('TypeMismatch')) }),
} as const satisfies Contract;
/** An endpoint of this contract, and the requests that it receives. */
function endpointOf<const C extends Contract>(contract: C) {
  const requests: (Request<C> & { readonly caller?: Caller })[] = [];
  const handle = async (request: Request<C>) => {
    requests.push(request);
    return ok({ done: true });
  };
  const handler =
    contract.access === 'public'
      ? publicEndpoint(contract as PublicContract, handle as never)
      : endpoint(contract as ProtectedContract, handle as never);
  return { handler, requests };
}

const COMMON = {
  Vary: 'Origin',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

it.each([[7], [undefined]])(
  'logs the user that a public request has authenticated: %s',
  async (callerId) => {
    const handler = publicEndpoint(PUBLIC, async () => ({
      ...okEmpty(),
      ...(callerId && { callerId }),
    }));

    const { statusCode } = await call(handler);

    expect([statusCode, lines[0]?.callerId]).toEqual([200, callerId]);
  },
);

it('a request has the client that it states', async () => {
  const { handler, requests } = endpointOf(PUBLIC);

  await call(handler, { headers: { 'user-agent': 'curl/8' } });

  expect(requests[0]?.source.userAgent).toBe('curl/8');
});

describe('a response', () => {
  it('is JSON, with the common headers and its own', async () => {
    const handler = publicEndpoint(PUBLIC, async () => ({
      status: 201,
      body: '{"a":"ä"}',
      headers: { Location: '/x' },
    }));

    const { statusCode, headers, body } = await call(handler);

    expect([statusCode, body]).toEqual([201, '{"a":"ä"}']);
    expect(headers).toEqual({
      ...COMMON,
      'Content-Type': 'application/json; charset=utf-8',
      Location: '/x',
    });
  });

  it('has no Content-Type without a body', async () => {
    const { statusCode, headers, body } = await call(publicEndpoint(PUBLIC, async () => okEmpty()));

    expect([statusCode, body, headers]).toEqual([200, '', COMMON]);
  });
});

describe('a request', () => {
  it('has the parts that its contract names, its source and its time of arrival', async () => {
    const contract = {
      ...PUBLIC,
      path: v.object({ id: v.string() }),
      query: v.looseObject({ a: v.array(v.string()) }),
      body: v.object({ name: v.string() }),
    } as const satisfies Contract;
    const { handler, requests } = endpointOf(contract);

    await call(handler, {
      body: '{"name":"Ada","more":1}',
      query: 'a=1&b=3&a=2',
      path: { id: '7', other: 'x' },
      headers: {
        'if-match': '"1", W/"2", "3"',
        'x-forwarded-for': '198.51.100.1',
        'gatehouse-client-address': '198.51.100.1',
      },
    });

    expect(requests).toEqual([
      {
        path: { id: '7' },
        query: { a: ['1', '2'], b: ['3'] },
        body: { name: 'Ada' },
        source: { address: '203.0.113.7', arrivedAt: 123_456 },
        precondition: { includes: expect.any(Function) },
        pathname: '/api/gates',
      },
    ]);
  });

  it('lacks the parts that its contract does not name', async () => {
    const { handler, requests } = endpointOf(PUBLIC);

    const { statusCode } = await call(handler, {
      body: 'not even JSON',
      query: 'a=1',
      path: { id: '7' },
    });

    expect(statusCode).toBe(200);
    expect(requests[0]).toMatchObject({
      path: undefined,
      query: undefined,
      body: undefined,
      precondition: undefined,
    });
  });

  it('waits for the cold start and takes its deadline from Lambda', async () => {
    const completed: string[] = [];
    startInColdStart(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      completed.push('cold start');
    });
    let remaining = 0;
    const handler = publicEndpoint(PUBLIC, async () => {
      remaining = currentDeadline() - Date.now();
      completed.push('request');
      return okEmpty();
    });

    await call(handler, {}, 7000);

    expect(completed).toEqual(['cold start', 'request']);
    expect(remaining).toBeGreaterThan(6500);
    expect(remaining).toBeLessThanOrEqual(7000);
  });

  it('is answered once its work is complete, however little time Lambda has left', async () => {
    const handler = publicEndpoint(
      PUBLIC,
      () => new Promise((resolve) => setTimeout(resolve, 5, okEmpty())),
    );

    expect((await call(handler, {}, 1)).statusCode).toBe(200);
  });
});

describe('a request body', () => {
  const { handler, requests } = endpointOf(WITH_BODY);
  const TEXT = {
    ...PUBLIC,
    body: v.object({ email: v.string() }),
    textAs: 'email',
  } as const satisfies Contract;
  const text = endpointOf(TEXT);
  beforeEach(() => {
    requests.length = 0;
    text.requests.length = 0;
  });
  const spaces = (length: number) => `{}${' '.repeat(length - 2)}`;
  const twoBytes = (bytes: number) => JSON.stringify({ x: 'é'.repeat((bytes - 8) / 2) });

  it.each<[string, Parts, number]>([
    ['an object', { body: '{"name":"Ada"}' }, 200],
    [
      'an object in base64',
      { body: Buffer.from('{"name":"Ädä"}').toString('base64'), base64: true },
      200,
    ],
    [
      'an object of a stated charset',
      { body: '{}', headers: { 'content-type': 'application/json; charset=UTF-8' } },
      200,
    ],
    ['64 KiB', { body: spaces(65_536) }, 200],
    ['64 KiB plus one byte', { body: spaces(65_537) }, 413],
    ['more than 64 KiB of two-byte characters', { body: twoBytes(65_538) }, 413],
    [
      '64 KiB in base64',
      { body: Buffer.from(spaces(65_536)).toString('base64'), base64: true },
      200,
    ],
    [
      'invalid UTF-8',
      { body: Buffer.from('{"name":"\xff"}', 'latin1').toString('base64'), base64: true },
      400,
    ],
    ['broken JSON', { body: '{"name":' }, 400],
    ['absent', { headers: { 'content-type': 'application/json' } }, 400],
    ['without a content type', { body: '{}', headers: { 'content-type': '' } }, 415],
    ['plain text', { body: 'a@b.c', headers: { 'content-type': 'text/plain' } }, 415],
    ['a content encoding', { body: '{}', headers: { 'content-encoding': 'identity' } }, 415],
  ])('is accepted or rejected as specified: %s', async (_, parts, status) => {
    const { statusCode } = await call(handler, parts);

    expect(statusCode).toBe(status);
    expect(requests).toHaveLength(status === 200 ? 1 : 0);
  });

  it.each<[string, Parts, string]>([
    ['JSON', { body: '{"email":"a@b.c"}' }, 'a@b.c'],
    ['text', { body: ' a@b.c\n', headers: { 'content-type': 'text/plain' } }, 'a@b.c'],
    ['no text', { headers: { 'content-type': 'text/plain' } }, ''],
    [
      'text in base64',
      {
        body: Buffer.from('ä@b.c').toString('base64'),
        base64: true,
        headers: { 'content-type': 'text/plain' },
      },
      'ä@b.c',
    ],
    [
      'text that looks like JSON',
      { body: '{"email":1,"email":2}', headers: { 'content-type': 'text/plain' } },
      '{"email":1,"email":2}',
    ],
  ])('can be %s where the contract accepts text', async (_, parts, email) => {
    const { statusCode } = await call(text.handler, parts);

    expect([statusCode, text.requests.map(({ body }) => body)]).toEqual([200, [{ email }]]);
  });
});

describe('field errors', () => {
  const check = <T>(message: string) => v.check<T, string>(() => false, message);
  const contract = {
    ...PUBLIC,
    body: v.object({
      required: v.string('TypeMismatch'),
      number: v.number('TypeMismatch'),
      nothing: v.string('Pattern'),
      own: v.pipe(v.string('TypeMismatch'), check('A custom message')),
      twice: v.pipe(
        v.string('TypeMismatch'),
        v.rawCheck(({ addIssue }) => {
          addIssue({ message: 'Size' });
          addIssue({ message: 'Pattern' });
        }),
      ),
      inner: v.object({ deep: v.pipe(v.string(), check('Email')) }),
      blank: v.pipe(v.string(), check('NotBlank')),
      pattern: v.pipe(v.string(), check('Pattern')),
      notNull: v.pipe(v.string(), check('NotNull')),
    }),
  } as const satisfies Contract;

  it('name each invalid field once, with a message key that clients translate', async () => {
    const sent = {
      number: '7',
      nothing: null,
      own: 'x',
      twice: 'x',
      inner: { deep: 'x' },
      blank: '',
      pattern: 'x',
      notNull: 'x',
    };

    const { statusCode, body } = await call(endpointOf(contract).handler, {
      body: JSON.stringify(sent),
    });

    const fields = JSON.parse(body).fieldErrors.map(
      ({ field, message }: Record<string, string>) => [field, message],
    );
    expect(statusCode).toBe(400);
    expect(fields).toEqual([
      ['required', 'NotNull'],
      ['number', 'TypeMismatch'],
      ['nothing', 'NotNull'],
      ['own', 'TypeMismatch'],
      ['twice', 'Size'],
      ['inner.deep', 'Email'],
      ['blank', 'NotBlank'],
      ['pattern', 'Pattern'],
      ['notNull', 'NotNull'],
    ]);
  });

  it('leave out id errors, which count only when no other field is invalid', async () => {
    const id = { id: v.pipe(v.any(), check('id-not-wanted')) };
    const alone = { ...PUBLIC, body: v.object(id) } as const satisfies Contract;
    const withOthers = {
      ...PUBLIC,
      body: v.object({ ...id, name: v.string() }),
    } as const satisfies Contract;

    const responses = [
      await call(endpointOf(alone).handler, { body: '{"id":1}' }),
      await call(endpointOf(withOthers).handler, { body: '{"id":1}' }),
    ];

    const bodies = responses.map(({ body }) => JSON.parse(body));
    expect(bodies.map(({ message }) => message)).toEqual(['error.idexists', 'error.validation']);
    expect(bodies[1].fieldErrors).toEqual([
      { objectName: 'user', field: 'name', message: 'NotNull' },
    ]);
  });

  it('include invalid query parameters', async () => {
    const query = v.object({ size: v.pipe(v.array(v.string()), check('Size')) });

    const { statusCode, body } = await call(endpointOf({ ...PUBLIC, query }).handler, {
      query: 'size=1&__proto__=2&toString=3',
    });

    expect([statusCode, JSON.parse(body).fieldErrors]).toEqual([
      400,
      [{ objectName: 'user', field: 'size', message: 'Size' }],
    ]);
  });
});

describe('behind an edge', () => {
  const SECRET = '5f'.repeat(32);
  const EDGE = { 'gatehouse-edge-secret': SECRET, 'gatehouse-client-address': '198.51.100.1' };
  beforeEach(() => {
    vi.stubEnv('EDGE_SECRET_HASHES', createHash('sha256').update(SECRET).digest('hex'));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('the source is the address that the edge states, which is logged', async () => {
    const { handler, requests } = endpointOf(PUBLIC);

    await call(handler, { headers: { ...EDGE, 'x-forwarded-for': '203.0.113.9' } });

    expect(requests).toMatchObject([{ source: { address: '198.51.100.1', arrivedAt: 123_456 } }]);
    expect(lines).toMatchObject([{ status: 200, clientAddress: '198.51.100.1' }]);
  });

  it('a request that does not come from the edge is rejected before its body is read', async () => {
    const { handler, requests } = endpointOf(WITH_BODY);

    const { statusCode, body } = await call(handler, { body: 'no JSON' });

    expect([statusCode, requests]).toEqual([403, []]);
    expect(JSON.parse(body).detail).toBe(
      'Requests must be sent to the public host name of this API',
    );
    expect(lines).toMatchObject([{ status: 403, failure: 'not-from-edge' }]);
    expect(lines[0]).not.toHaveProperty('clientAddress');
  });
});

describe('a failed request', () => {
  const failing = async (error: unknown) => {
    const response = await call(publicEndpoint(PUBLIC, () => Promise.reject(error)));
    return {
      status: response.statusCode,
      headers: response.headers,
      body: JSON.parse(response.body),
    };
  };
  const error = (more: object) => Object.assign(new Error('quoted secret'), more);

  it.each<[string, unknown, number]>([
    ['a domain failure', new Failure('forbidden'), 403],
    ['an outage', error({ name: 'TimeoutError' }), 503],
    ['an error with a status', error({ statusCode: 404 }), 500],
    ['a programming error', new TypeError('quoted secret'), 500],
    ['null', null, 500],
  ])(
    'is answered by the kind of its error, whose message stays secret: %s',
    async (_, thrown, status) => {
      const response = await failing(thrown);

      expect([response.status, response.body.status, response.body.path]).toEqual([
        status,
        status,
        '/api/gates',
      ]);
      expect(response.headers).toMatchObject({
        ...COMMON,
        'Content-Type': 'application/problem+json; charset=utf-8',
      });
      expect(JSON.stringify(response)).not.toContain('secret');
      expect(lines.filter((line) => 'defect' in line)).toHaveLength(status === 500 ? 1 : 0);
      expect(response.body.requestId).toBe(status === 500 ? REQUEST_ID : undefined);
      expect(response.headers['Retry-After']).toBe(status === 503 ? '1' : undefined);
    },
  );

  it.each<[FailureCode | undefined, number]>([
    [undefined, 200],
    ['unknown-id', 404],
  ])('writes one log line, with the failure code if there is one: %s', async (failure, status) => {
    const handler = publicEndpoint(PUBLIC, async () => {
      if (failure) throw new Failure(failure);
      return okEmpty();
    });

    await call(handler);

    expect(lines).toEqual([
      {
        requestId: REQUEST_ID,
        route: 'POST /api/gates',
        kind: 'change',
        status,
        milliseconds: expect.any(Number),
        ...(failure && { failure }),
      },
    ]);
    expect(lines[0]?.milliseconds).toBeLessThan(1000);
  });

  it('logs only its own retries', async () => {
    const retried = publicEndpoint(PUBLIC, async () => {
      countRetry();
      return okEmpty();
    });
    await call(retried);
    await call(retried);

    expect(lines.map(({ retries }) => retries)).toEqual([1, 1]);
  });
});

describe('a public endpoint', () => {
  it('opens no table and needs no settings of tokens', async () => {
    for (const name of ['TABLE_NAME', 'TOKEN_ISSUER', 'TOKEN_SECONDS']) vi.stubEnv(name, undefined);
    const opened = vi.spyOn(DynamoDBDocumentClient, 'from');

    const { statusCode } = await call(endpointOf(PUBLIC).handler);

    expect([statusCode, opened.mock.calls]).toEqual([200, []]);
    vi.unstubAllEnvs();
  });

  it('ignores a token, even an invalid one, and passes no caller', async () => {
    const { handler, requests } = endpointOf(PUBLIC);

    const { statusCode } = await call(handler, { headers: { authorization: 'Bearer nonsense' } });

    expect(statusCode).toBe(200);
    expect(requests[0]).not.toHaveProperty('caller');
    expect(lines[0]).not.toHaveProperty('callerId');
  });

  it('rejects a request from a page of another site with 403 before its body is read', async () => {
    const { handler, requests } = endpointOf(WITH_BODY);

    const { statusCode } = await call(handler, {
      body: '{',
      headers: { 'sec-fetch-site': 'cross-site' },
    });

    expect([statusCode, requests]).toEqual([403, []]);
  });

  it('rejects an invalid path with 404 before it is handled', async () => {
    const { handler, requests } = endpointOf({ ...PUBLIC, path: idInPath });

    const { statusCode } = await call(handler, { path: { id: '01' } });

    expect([statusCode, requests]).toEqual([404, []]);
  });
});

describe('a protected endpoint', () => {
  useVerifierEnvironment();
  const key = makeSigningKeyPair('one');
  beforeEach(() => {
    vi.stubEnv('TABLE_NAME', 'Gates');
    const keys = { Items: [{ pk: 'JWKS', sk: 'one', jwk: key.jwk }] };
    const documents = {
      send: async ({ input }: { input: { Key?: object } }) =>
        input.Key ? { Item: await stored } : keys,
    };
    vi.spyOn(DynamoDBDocumentClient, 'from').mockReturnValue(documents as never);
  });
  let stored: Promise<object | undefined> | undefined;

  const USER = {
    id: 7,
    login: 'ada',
    incarnation: 'first',
    activated: true,
    passwordChanges: 3,
    authorities: [],
  };
  const ADMIN = { anyRole: ['ROLE_ADMIN'] } as const;

  it.each<[string, object, number]>([
    ['an administrator', { authorities: ['ROLE_ADMIN'] }, 200],
    ['no longer an administrator', { authorities: ['ROLE_USER'] }, 403],
  ])(
    'authorizes by the stored user, even if the handler checks nothing: %s',
    async (_, fields, status) => {
      stored = Promise.resolve({ ...USER, ...fields });
      const { handler } = endpointOf({
        ...PUBLIC,
        access: ADMIN,
      });

      const { statusCode, body } = await call(handler, {
        headers: { authorization: signedBy(key, { roles: ['ROLE_ADMIN'] }) },
      });

      expect([statusCode, body.includes('done')]).toEqual([status, status === 200]);
    },
  );

  it('handles the request while the table confirms the access, or discards it', async () => {
    const reading = Promise.withResolvers<object | undefined>();
    stored = reading.promise;
    const { handler, requests } = endpointOf({
      ...PUBLIC,
      access: ADMIN,
    });

    const called = call(handler, { headers: { authorization: signedBy(key) } });
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    reading.resolve(undefined);

    expect((await called).statusCode).toBe(401);
  });

  it.each<[string, object | undefined, number]>([
    ['is deleted', undefined, 401],
    ['is deactivated', { activated: false }, 401],
    ['is authorized', {}, 200],
  ])('logs the caller, whose user %s', async (_, fields, status) => {
    stored = Promise.resolve(fields && { ...USER, ...fields });
    const { handler } = endpointOf({ ...PUBLIC, access: 'authenticated' });

    const { statusCode } = await call(handler, { headers: { authorization: signedBy(key) } });

    expect([statusCode, lines[0]?.callerId]).toEqual([status, 7]);
  });

  it('rejects a request without a token, and its caller is not logged', async () => {
    const { handler, requests } = endpointOf({ ...PUBLIC, access: 'authenticated' });

    const { statusCode } = await call(handler, {});

    expect([statusCode, requests, lines[0]?.callerId]).toEqual([401, [], undefined]);
  });

  it('ends the sessions of deleted users where DELETION_ENDS_SESSIONS is true', async () => {
    vi.stubEnv('DELETION_ENDS_SESSIONS', 'true');
    stored = Promise.resolve(undefined);
    const { handler } = endpointOf({ ...PUBLIC, access: 'authenticated' });

    const { statusCode, headers } = await call(handler, {
      headers: { authorization: signedBy(key) },
    });

    expect(statusCode).toBe(401);
    expect(headers?.['WWW-Authenticate']).toBe('Bearer error="invalid_token"');
  });

  it.each<[string, string[], number]>([
    ['without the role', [], 403],
    ['with the role', ['ROLE_ADMIN'], 404],
  ])('rejects an invalid path after the access is checked: %s', async (_, authorities, status) => {
    stored = Promise.resolve({ ...USER, authorities });
    const { handler, requests } = endpointOf({ ...PUBLIC, access: ADMIN, path: idInPath });
    const headers = { authorization: signedBy(key) };

    const { statusCode } = await call(handler, { path: { id: '01' }, headers });

    expect([statusCode, requests]).toEqual([status, []]);
  });

  it('checks the token before the body, and the role after it', async () => {
    stored = Promise.resolve({ ...USER, authorities: [] });
    const { handler } = endpointOf({ ...WITH_BODY, access: ADMIN });
    const authorization = signedBy(key);

    const responses = [
      await call(handler, { body: '{' }),
      await call(handler, { body: '{', headers: { authorization } }),
      await call(handler, { body: '{"name":1}', headers: { authorization } }),
      await call(handler, { body: '{}', headers: { authorization } }),
    ];

    expect(responses.map(({ statusCode }) => statusCode)).toEqual([401, 400, 400, 403]);
  });

  it('loads the public keys in the cold start, within two seconds', () => {
    endpointOf({ ...PUBLIC, access: 'authenticated' });

    expect(currentDeadline() - Date.now()).toBe(2000 + CALL_RESERVE_MS);
    expect(Date.now()).toBe(NOW * 1000);
  });
});

it.each(['{', '[]', 'null', '"x"'])('the body %s is malformed, not invalid', async (body) => {
  const { body: text } = await call(endpointOf(WITH_BODY).handler, { body });

  expect(JSON.parse(text).message).toBe('error.http.400');
});

it('a response has at most a hundred field errors', async () => {
  const body = v.object({ list: v.array(v.string('TypeMismatch')) });
  const { handler } = endpointOf({ ...PUBLIC, body } as const);

  const errorsOf = async (length: number) => {
    const { body } = await call(handler, { body: JSON.stringify({ list: Array(length).fill(7) }) });
    return JSON.parse(body).fieldErrors.length;
  };

  expect([await errorsOf(100), await errorsOf(101)]).toEqual([100, 100]);
});
