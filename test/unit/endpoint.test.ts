import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Contract } from '../../lib/contract/contract.ts';
import { Failure, type FailureCode } from '../../lib/contract/failure.ts';
import { endpoint, type Request } from '../../lib/http/endpoint.ts';
import { ok, okEmpty } from '../../lib/http/response.ts';
import { RESERVE } from '../../lib/runtime/aws.ts';
import { startInColdStart } from '../../lib/runtime/cold-start.ts';
import { remainingMs, setDeadline } from '../../lib/runtime/deadline.ts';
import { useLogLines } from '../support/log-lines.ts';
import { makeKey } from '../support/mint.ts';
import { NOW, signedBy, useStillClock } from '../support/tokens.ts';

/* An endpoint is called as Lambda calls it, with the events of API Gateway. */

const lines = useLogLines();
afterEach(() => setDeadline(Number.POSITIVE_INFINITY));

const REQUEST_ID = 'request-1';
type Parts = {
  body?: string;
  base64?: boolean;
  headers?: Record<string, string>;
  query?: string;
  path?: Record<string, string>;
};

function eventOf({ body, base64 = false, headers = {}, query = '', path }: Parts = {}): APIGatewayProxyEventV2 {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  return {
    version: '2.0',
    routeKey: 'POST /api/gates',
    rawPath: '/api/gates',
    rawQueryString: query,
    headers: { ...json, ...headers },
    requestContext: { requestId: REQUEST_ID, timeEpoch: 123_456, http: { sourceIp: '203.0.113.7' } },
    ...(path && { pathParameters: path }),
    ...(body !== undefined && { body }),
    isBase64Encoded: base64,
  } as unknown as APIGatewayProxyEventV2;
}

type Answered = APIGatewayProxyStructuredResultV2 & {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
};
type Handler = (event: APIGatewayProxyEventV2, context: Context) => Promise<unknown>;
const call = async (handler: unknown, parts?: Parts, remaining = 10_000) =>
  (await (handler as Handler)(eventOf(parts), { getRemainingTimeInMillis: () => remaining } as Context)) as Answered;

const OPEN = { access: 'public', entityName: 'userManagement' } as const satisfies Contract;
const WITH_BODY = {
  ...OPEN,
  body: v.object({ name: v.optional(v.string('TypeMismatch')) }),
} as const satisfies Contract;
/** The endpoint of a contract that notes its requests. */
function endpointOf<const C extends Contract>(contract: C) {
  const requests: Request<C>[] = [];
  const handler = endpoint(contract, async (request) => {
    requests.push(request);
    return ok({ done: true });
  });
  return { handler, requests };
}

const COMMON = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

describe('an answer', () => {
  it('is JSON, with the headers of all answers and its own', async () => {
    const handler = endpoint(OPEN, async () => ({ status: 201, body: { a: 'ä' }, headers: { Location: '/x' } }));

    const { statusCode, headers, body } = await call(handler);

    expect([statusCode, body]).toEqual([201, '{"a":"ä"}']);
    expect(headers).toEqual({ ...COMMON, 'Content-Type': 'application/json; charset=utf-8', Location: '/x' });
  });

  it('without a body has no type', async () => {
    const { statusCode, headers, body } = await call(endpoint(OPEN, async () => okEmpty()));

    expect([statusCode, body, headers]).toEqual([200, '', COMMON]);
  });

  it('can have other headers than all answers', async () => {
    const { headers } = await call(endpoint(OPEN, async () => ok({}, { 'Cache-Control': 'public, max-age=300' })));

    expect(headers['Cache-Control']).toBe('public, max-age=300');
  });

  it('of a body that is null is that', async () => {
    expect((await call(endpoint(OPEN, async () => ok(null)))).body).toBe('null');
  });
});

describe('a request', () => {
  it('has the parts that its contract names, and where and when it came from', async () => {
    const contract = {
      ...OPEN,
      path: v.object({ id: v.string() }),
      query: v.looseObject({ a: v.array(v.string()) }),
      body: v.object({ name: v.string() }),
    } as const satisfies Contract;
    const { handler, requests } = endpointOf(contract);

    await call(handler, {
      body: '{"name":"Ada","more":1}',
      query: 'a=1&b=3&a=2',
      path: { id: '7', other: 'x' },
      headers: { 'if-match': '"1", W/"2", "3"', 'x-forwarded-for': '198.51.100.1' },
    });

    expect(requests).toEqual([
      {
        caller: undefined,
        path: { id: '7' },
        query: { a: ['1', '2'], b: ['3'] },
        body: { name: 'Ada' },
        source: { address: '203.0.113.7', arrivedAt: 123_456 },
        precondition: ['1', '3'],
        url: { pathname: '/api/gates' },
      },
    ]);
  });

  it('has no parts that its contract does not name', async () => {
    const { handler, requests } = endpointOf(OPEN);

    const { statusCode } = await call(handler, { body: 'not even JSON', query: 'a=1', path: { id: '7' } });

    expect(statusCode).toBe(200);
    expect(requests[0]).toMatchObject({ path: undefined, query: undefined, body: undefined, precondition: undefined });
  });

  // biome-ignore format: a table is read by its columns
  it.each([
    [undefined, undefined], ['*', undefined], [' * ', undefined], ['"1"', ['1']], ['"1","2"', ['1', '2']],
    ['W/"1"', []], ['W/"1", "2"', ['2']], ['""', ['']], ['nonsense', []], ['"a b"', []], ['"!#~"', ['!#~']], ['"\x7f"', []],
  ])('with If-Match %j is for the versions %j', async (ifMatch, expected) => {
    const { handler, requests } = endpointOf(OPEN);

    await call(handler, { headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } });

    expect(requests[0]?.precondition).toEqual(expected);
  });

  it('may take what Lambda leaves it, and waits for the work of the cold start', async () => {
    const over: string[] = [];
    startInColdStart(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      over.push('cold start');
    });
    let left = 0;
    const handler = endpoint(OPEN, async () => {
      left = remainingMs();
      over.push('request');
      return okEmpty();
    });

    await call(handler, {}, 7000);

    expect(over).toEqual(['cold start', 'request']);
    expect(left).toBeGreaterThan(6500);
    expect(left).toBeLessThanOrEqual(7000);
  });

  it('is answered when its work is over, however little time Lambda leaves it', async () => {
    const handler = endpoint(OPEN, () => new Promise((resolve) => setTimeout(resolve, 5, okEmpty())));

    expect((await call(handler, {}, 1)).statusCode).toBe(200);
  });
});

describe('the body of a request', () => {
  const { handler, requests } = endpointOf(WITH_BODY);
  const TEXT = { ...OPEN, body: v.object({ email: v.string() }), textAs: 'email' } as const satisfies Contract;
  const text = endpointOf(TEXT);
  beforeEach(() => {
    requests.length = 0;
    text.requests.length = 0;
  });
  const spaces = (length: number) => `{}${' '.repeat(length - 2)}`;
  const twoBytes = (bytes: number) => JSON.stringify({ x: 'é'.repeat((bytes - 8) / 2) });

  // biome-ignore format: a table is read by its columns
  it.each<[string, Parts, number]>([
    ['an object', { body: '{"name":"Ada"}' }, 200],
    ['an object in base64', { body: Buffer.from('{"name":"Ädä"}').toString('base64'), base64: true }, 200],
    ['64 KiB', { body: spaces(65_536) }, 200],
    ['64 KiB and a byte', { body: spaces(65_537) }, 413],
    ['64 KiB in letters of two bytes', { body: twoBytes(65_536) }, 200],
    ['more than 64 KiB in letters of two bytes', { body: twoBytes(65_538) }, 413],
    ['64 KiB in base64', { body: Buffer.from(spaces(65_536)).toString('base64'), base64: true }, 200],
    ['64 KiB and a byte in base64', { body: Buffer.from(spaces(65_537)).toString('base64'), base64: true }, 413],
    ['what is no UTF-8', { body: Buffer.from('{"name":"\xff"}', 'latin1').toString('base64'), base64: true }, 400],
    ['broken JSON', { body: '{"name":' }, 400],
    ['nothing', { headers: { 'content-type': 'application/json' } }, 400],
    ['a list', { body: '[]' }, 400],
    ['null', { body: 'null' }, 400],
    ['a text', { body: '"x"' }, 400],
    ['a key twice', { body: '{"name":"a","name":"b"}' }, 400],
    ['a key twice in base64', { body: Buffer.from('{"name":"a","name":"b"}').toString('base64'), base64: true }, 400],
    ['32 levels', { body: `{"x":${'['.repeat(31)}${']'.repeat(31)}}` }, 200],
    ['33 levels', { body: `{"x":${'['.repeat(32)}${']'.repeat(32)}}` }, 400],
    ['a type that is missing', { body: '{}', headers: { 'content-type': '' } }, 415],
    ['plain text', { body: 'a@b.c', headers: { 'content-type': 'text/plain' } }, 415],
    ['a type that only begins like JSON', { body: '{}', headers: { 'content-type': 'application/jsonp' } }, 415],
    ['a type that only ends like JSON', { body: '{}', headers: { 'content-type': 'x-application/json' } }, 415],
    ['JSON with a parameter', { body: '{}', headers: { 'content-type': 'application/json; profile=x' } }, 415],
    ['another charset', { body: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } }, 415],
    ['the charset UTF-8', { body: '{}', headers: { 'content-type': 'Application/JSON ; Charset = "UTF-8" ' } }, 200],
    ['a content encoding', { body: '{}', headers: { 'content-encoding': 'identity' } }, 415],
  ])('that is %s', async (_, parts, status) => {
    const { statusCode } = await call(handler, parts);

    expect(statusCode).toBe(status);
    expect(requests).toHaveLength(status === 200 ? 1 : 0);
  });

  // biome-ignore format: a table is read by its columns
  it.each<[string, Parts, string]>([
    ['JSON', { body: '{"email":"a@b.c"}' }, 'a@b.c'],
    ['text', { body: ' a@b.c\n', headers: { 'content-type': 'text/plain' } }, 'a@b.c'],
    ['text in UTF-8', { body: 'a@b.c', headers: { 'content-type': 'Text/Plain;charset="utf-8"' } }, 'a@b.c'],
    ['text in base64', { body: Buffer.from('ä@b.c').toString('base64'), base64: true, headers: { 'content-type': 'text/plain' } }, 'ä@b.c'],
    ['text that looks like JSON', { body: '{"email":1,"email":2}', headers: { 'content-type': 'text/plain' } }, '{"email":1,"email":2}'],
  ])('may be %s where the contract takes a text', async (_, parts, email) => {
    const { statusCode } = await call(text.handler, parts);

    expect([statusCode, text.requests.map(({ body }) => body)]).toEqual([200, [{ email }]]);
  });

  it('may be no text in another charset', async () => {
    const headers = { 'content-type': 'text/plain; charset=latin1' };

    expect((await call(text.handler, { body: 'a@b.c', headers })).statusCode).toBe(415);
  });
});

describe('fields that are wrong', () => {
  const check = <T>(message: string) => v.check<T, string>(() => false, message);
  const contract = {
    ...OPEN,
    body: v.object({
      required: v.string('TypeMismatch'),
      number: v.number('TypeMismatch'),
      nothing: v.string('Pattern'),
      own: v.pipe(v.string('TypeMismatch'), check('Something of our own')),
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

  it('are all named, each once and by the words that clients translate', async () => {
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

    const { statusCode, body } = await call(endpointOf(contract).handler, { body: JSON.stringify(sent) });

    const fields = JSON.parse(body).fieldErrors.map(({ field, message }: Record<string, string>) => [field, message]);
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

  it.each([
    ['no-id', 'error.idnull'],
    ['id-not-wanted', 'error.idexists'],
  ])('of an id are a rule of their own, which comes after all others: %s', async (rule, message) => {
    const id = { id: v.pipe(v.any(), check(rule)) };
    const alone = { ...OPEN, body: v.object(id) } as const satisfies Contract;
    const withOthers = { ...OPEN, body: v.object({ ...id, name: v.string() }) } as const satisfies Contract;

    const answers = [
      await call(endpointOf(alone).handler, { body: '{"id":1}' }),
      await call(endpointOf(withOthers).handler, { body: '{"id":1}' }),
    ];

    const told = answers.map(({ body }) => JSON.parse(body));
    expect(told.map((body) => body.message)).toEqual([message, 'error.validation']);
    expect(told[1].fieldErrors).toEqual([{ objectName: 'user', field: 'name', message: 'NotNull' }]);
  });

  it('of a query are told in the same way', async () => {
    const query = v.object({ size: v.pipe(v.array(v.string()), check('Size')) });

    const { statusCode, body } = await call(endpointOf({ ...OPEN, query }).handler, {
      query: 'size=1&__proto__=2&toString=3',
    });

    expect([statusCode, JSON.parse(body).fieldErrors]).toEqual([
      400,
      [{ objectName: 'user', field: 'size', message: 'Size' }],
    ]);
  });
});

describe('what goes wrong', () => {
  const failing = async (error: unknown) => {
    const answer = await call(endpoint(OPEN, () => Promise.reject(error)));
    return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(answer.body) };
  };
  const error = (more: object) => Object.assign(new Error('quoted secret'), more);

  it.each<[string, unknown, number]>([
    ['a rule that is broken', new Failure('forbidden'), 403],
    ['an outage', error({ name: 'TimeoutError' }), 503],
    ['a throttled call', error({ name: 'ThrottlingException' }), 503],
    ['a broken connection', error({ code: 'ECONNRESET' }), 503],
    ['a body that cannot be parsed', error({ statusCode: 422 }), 400],
    ['an error with another status', error({ statusCode: 404 }), 500],
    ['a defect', new TypeError('quoted secret'), 500],
    ['a missing permission', error({ name: 'AccessDeniedException' }), 500],
    ['nothing', null, 500],
  ])('is answered by its kind: %s', async (_, thrown, status) => {
    const answer = await failing(thrown);

    expect([answer.status, answer.body.status, answer.body.path]).toEqual([status, status, '/api/gates']);
    expect(answer.headers).toMatchObject({ ...COMMON, 'Content-Type': 'application/problem+json; charset=utf-8' });
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(lines.filter((line) => 'defect' in line)).toHaveLength(status === 500 ? 1 : 0);
    expect(answer.body.requestId).toBe(status === 500 ? REQUEST_ID : undefined);
    expect(answer.headers['Retry-After']).toBe(status === 503 ? '1' : undefined);
  });

  it('is told when another try makes sense', async () => {
    const { headers } = await failing(new Failure('too-many-attempts', { retryAfter: 7 }));

    expect(headers['Retry-After']).toBe('7');
  });

  it.each<[FailureCode | undefined, number]>([
    [undefined, 200],
    ['unknown-id', 404],
  ])('is one line in the log: %s', async (failure, status) => {
    const handler = endpoint(OPEN, async () => {
      if (failure) throw new Failure(failure);
      return okEmpty();
    });

    await call(handler);

    expect(lines).toEqual([
      {
        requestId: REQUEST_ID,
        route: 'POST /api/gates',
        status,
        milliseconds: expect.any(Number),
        ...(failure && { failure }),
      },
    ]);
    expect(lines[0]?.milliseconds).toBeLessThan(1000);
  });
});

describe('an endpoint that is not open', () => {
  useStillClock();
  const key = makeKey('one');
  beforeEach(() => {
    vi.stubEnv('TABLE_NAME', 'Gates');
    const keys = { Items: [{ pk: 'JWKS', sk: 'one', jwk: key.jwk }] };
    const documents = {
      send: async ({ input }: { input: { Key?: object } }) => (input.Key ? { Item: await stored } : keys),
    };
    vi.spyOn(DynamoDBDocumentClient, 'from').mockReturnValue(documents as never);
  });
  let stored: Promise<object | undefined> | undefined;

  it.each<[string, object | undefined, number]>([
    ['an administrator', { authorities: ['ROLE_ADMIN'] }, 200],
    ['no administrator any more', { authorities: ['ROLE_USER'] }, 403],
    ['deactivated', { authorities: ['ROLE_ADMIN'], activated: false }, 403],
    ['another account by now', { authorities: ['ROLE_ADMIN'], accountStamp: 'another' }, 403],
    ['deleted', undefined, 403],
  ])('rejects by what the table says a caller who is %s, whatever the handler forgets', async (_, fields, status) => {
    const user = { id: 7, login: 'ada', activated: true, passwordChanges: 3 };
    stored = Promise.resolve(fields && { ...user, ...fields });
    const { handler } = endpointOf({ ...OPEN, access: { anyRole: ['ROLE_ADMIN'], rolesFrom: 'table' } });

    const { statusCode, body } = await call(handler, {
      headers: { authorization: signedBy(key, { roles: ['ROLE_ADMIN'] }) },
    });

    expect([statusCode, body.includes('done')]).toEqual([status, status === 200]);
  });

  // biome-ignore format: a table is read by its columns
  it.each<[string, Contract['access'], string[] | undefined, number]>([
    ['without a token', 'authenticated', undefined, 401],
    ['with a token', 'authenticated', [], 200],
    ['with the role', { anyRole: ['ROLE_ADMIN'], rolesFrom: 'token' }, ['ROLE_ADMIN'], 200],
    ['with the second role', { anyRole: ['ROLE_ADMIN', 'ROLE_USER'], rolesFrom: 'token' }, ['ROLE_USER'], 200],
    ['with another role', { anyRole: ['ROLE_ADMIN'], rolesFrom: 'token' }, ['ROLE_USER'], 403],
    ['without a role', { anyRole: ['ROLE_ADMIN'], rolesFrom: 'token' }, [], 403],
  ])('lets in by the token: %s', async (_, access, roles, status) => {
    const { handler, requests } = endpointOf({ ...OPEN, access } as Contract);
    const headers: Record<string, string> = roles ? { authorization: signedBy(key, { roles }) } : {};

    const { statusCode } = await call(handler, { headers });

    expect(statusCode).toBe(status);
    expect(requests.map(({ caller }) => caller)).toEqual(status === 200 ? [expect.objectContaining({ id: 7, roles })] : []);
    expect(lines[0]?.callerId).toBe(status === 401 ? undefined : 7);
  });

  it('refuses a caller without a token before it looks at the body, and one without the role afterwards', async () => {
    const { handler } = endpointOf({ ...WITH_BODY, access: { anyRole: ['ROLE_ADMIN'], rolesFrom: 'token' } });
    const authorization = signedBy(key, { roles: [] });

    const answers = [
      await call(handler, { body: '{' }),
      await call(handler, { body: '{', headers: { authorization } }),
      await call(handler, { body: '{"name":1}', headers: { authorization } }),
      await call(handler, { body: '{}', headers: { authorization } }),
    ];

    expect(answers.map(({ statusCode }) => statusCode)).toEqual([401, 400, 400, 403]);
  });

  it('reads its keys in the cold start, for two seconds at the most', () => {
    endpointOf({ ...OPEN, access: 'authenticated' });

    expect(remainingMs()).toBe(2000 + RESERVE);
    expect(Date.now()).toBe(NOW * 1000);
  });
});
