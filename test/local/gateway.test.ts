import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Api, type Cors, startGateway } from '../../infra/local/gateway/gateway.ts';

const ROUTES = new Map([
  ['GET /things/{id}', 'get-thing'],
  ['HEAD /things/{id}', 'get-thing'],
  ['GET /things/special', 'get-special'],
  ['GET /things/{id}/parts/{part}', 'get-part'],
  ['POST /things', 'create-thing'],
  ['DELETE /things/{id}', 'delete-thing'],
  ['GET /files', 'get-files'],
  ['GET /files/{path+}', 'get-file'],
  ['GET /files/{id}/size', 'get-size'],
]);

type Invoke = Parameters<typeof startGateway>[2];

let api: Api;
let invoke: Invoke;
let invoked: string[];
let errors: string[];
let gateway: Awaited<ReturnType<typeof startGateway>>;

const echo: Invoke = async (_, event) => ({
  statusCode: 200,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(event),
});

beforeAll(async () => {
  gateway = await startGateway(
    0,
    () => api,
    (name, ...rest) => {
      invoked.push(name);
      return invoke(name, ...rest);
    },
    (error) => errors.push(error),
  );
});
afterAll(() => gateway.stop(0));

beforeEach(() => {
  api = { routes: ROUTES, cors: undefined };
  invoke = echo;
  [invoked, errors] = [[], []];
});

/** Sends the headers unchanged, as alternating names and values. */
async function send(method: string, path: string, headers: string[] = [], body?: string | Buffer) {
  const { hostname, port } = new URL(gateway.url);
  const length = body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))];
  const host = headers.includes('Host') ? [] : ['Host', 'localhost:4200'];
  const rawHeaders = [...host, ...length, ...headers] as never;
  const outgoing = request({ hostname, port, method, path, headers: rawHeaders }).end(body);
  // It can also fail after a response to a request that is too large.
  outgoing.on('error', () => undefined);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: incoming.statusCode, headers: incoming.headers, text: await text(incoming) };
}

async function eventOf(...request: Parameters<typeof send>): Promise<APIGatewayProxyEventV2> {
  const { status, text } = await send(...request);
  expect(status, text).toBe(200);
  return JSON.parse(text);
}

describe('the event for a function', () => {
  it('has payload format version 2.0', async () => {
    const path = '/things/a%252Fb%20c/parts/%2541+%2B?q=%20x&empty&plus=a+b?';
    const headers = ['User-Agent', 'tester/1', 'X-Forwarded-For', '203.0.113.7'];
    const event = await eventOf('GET', path, headers);

    expect(event).toEqual({
      version: '2.0',
      routeKey: 'GET /things/{id}/parts/{part}',
      rawPath: '/things/a/b c/parts/A++',
      rawQueryString: 'q=%20x&empty&plus=a+b?',
      headers: expect.objectContaining({ host: 'localhost:4200', 'user-agent': 'tester/1' }),
      queryStringParameters: { q: ' x', empty: '', plus: 'a b?' },
      pathParameters: { id: 'a/b c', part: 'A++' },
      requestContext: expect.objectContaining({
        http: {
          method: 'GET',
          path: '/things/a/b c/parts/A++',
          protocol: 'HTTP/1.1',
          sourceIp: '127.0.0.1',
          userAgent: 'tester/1',
        },
        requestId: expect.stringMatching(/^[\w=-]{8,}$/),
        stage: '$default',
      }),
      isBase64Encoded: false,
    });
  });

  it('has a unique request id, which the response carries too', async () => {
    const responses = [await send('GET', '/things/1'), await send('GET', '/things/1')];

    const ids = responses.map(({ text }) => JSON.parse(text).requestContext.requestId);
    expect(responses.map(({ headers }) => headers['apigw-requestid'])).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
  });

  it('joins repeated headers and query values, and lists cookies separately', async () => {
    const headers = ['X-Some', 'a', 'x-sOME', 'b', 'Cookie', 'a=1; b=2;c=x=y'];

    const event = await eventOf('GET', '/things/1?tag=a&tag=b%2Cc&Tag=d&tag=', headers);

    expect(event.headers).toMatchObject({ 'x-some': 'a,b' });
    expect(event.headers).not.toHaveProperty('cookie');
    expect(event.cookies).toEqual(['a=1', 'b=2', 'c=x=y']);
    expect(event.queryStringParameters).toEqual({ tag: 'a,b,c,', Tag: 'd' });
  });

  it.each<[string, boolean, BufferEncoding?]>([
    ['application/json;charset=UTF-8', false],
    ['text/plain', false],
    ['text/plain', true, 'latin1'],
    ['application/x-www-form-urlencoded', true],
    ['image/png', true],
  ])('has isBase64Encoded for a body of %s: %j %s', async (type, isBase64Encoded, encoding) => {
    const body = Buffer.from('{"a":"é"}', encoding);

    const event = await eventOf('POST', '/things', ['Content-Type', type], body);

    expect(event.isBase64Encoded).toBe(isBase64Encoded);
    expect(event.body).toBe(body.toString(isBase64Encoded ? 'base64' : 'utf8'));
  });
});

const TOO_LARGE_HEAD = 'Request Header Fields Too Large';

describe('a request', () => {
  it.each([
    ['GET', '/things/special', 'get-special'],
    ['GET', '/things/1%2Fparts/2', 'get-part'],
    ['GET', '/things/1%3F/parts/2', 'get-thing'],
    ['GET', '/things/1/parts/2?x=/things/special', 'get-part'],
    ['GET', '/files/1/2/3', 'get-file'],
    ['GET', '/files/1/size', 'get-size'],
  ])('%s %s invokes %s', async (method, path, name) => {
    await eventOf(method, path);

    expect(invoked).toEqual([name]);
  });

  it.each([
    ['GET', '/things/'],
    ['PATCH', '/things/1'],
    ['HEAD', '/things'],
    ['OPTIONS', '/things/1'],
  ])('%s %s returns 404 and invokes no function', async (method, path) => {
    const { status, text, headers } = await send(method, path);

    expect(status).toBe(404);
    expect(text).toBe(method === 'HEAD' ? '' : '{"message":"Not Found"}');
    expect(headers['content-type']).toBe('application/json');
    expect(invoked).toEqual([]);
  });

  it.each([
    ['an invalid percent-encoding', 400, 'Bad Request', 'GET', '/things/%E0%A4%A', []],
    ['a long header', 431, TOO_LARGE_HEAD, 'GET', '/things/1', ['X-A', 'a'.repeat(10_240)]],
    ['a long URL', 431, TOO_LARGE_HEAD, 'GET', `/things/1?${'a'.repeat(10_240)}`, []],
  ])('with %s is rejected with %i', async (_, expected, message, method, path, headers) => {
    const { status, text } = await send(method, path, headers);

    expect([status, JSON.parse(text), invoked]).toEqual([expected, { message }, []]);
  });
});

// As github.com/hotsock/voker, vokerhttp/testdata/ingress-paths.json, has captured of AWS.
it.each([
  ['/things/question%3Fvalue', '/things/question'],
  ['/things/percent%25done', 400],
  ['/things/slash%2Fparts%2Fvalue', '/things/slash/parts/value'],
  ['/things/unicode-%CE%BB-%E4%B8%96', '/things/unicode-λ-世'],
  ['/things/literal%253Fvalue', '/things/literal?value'],
])('turns the path %s into %s', async (path, expected) => {
  const { status, text } = await send('GET', `${path}?value=a%3Fb`);

  expect(status === 200 ? JSON.parse(text).rawPath : status).toBe(expected);
});

it('rejects an event of more than 6 MiB, which Lambda would reject, with 413', async () => {
  const post = (bytes: number, letter = ' ') =>
    send('POST', '/things', [], Buffer.alloc(bytes, letter));
  // The rest of the event, with a Content-Length of seven digits, has the same size in all of these
  // requests.
  const { text } = await post(1_000_000);
  const limit = 6 * 1024 * 1024 - (Buffer.byteLength(text) - 1_000_000);

  const responses = [
    await post(limit),
    await post(limit + 1),
    // JSON escapes a control character with six bytes.
    await post(1_200_000, '\0'),
  ];

  expect(responses.map(({ status }) => status)).toEqual([200, 413, 413]);
  // It arrives in many parts.
  expect(JSON.parse(responses[0]?.text ?? '').body).toBe(' '.repeat(limit));
  expect(responses[1]?.text).toBe('{"message":"Request Entity Too Large"}');
  expect(invoked).toHaveLength(2);
});

describe('CORS', () => {
  const cors: Cors = {
    AllowOrigins: ['https://console.example'],
    AllowMethods: ['GET', 'PUT'],
    AllowHeaders: ['Authorization', 'Content-Type'],
    ExposeHeaders: ['X-Total-Count', 'Link'],
    MaxAge: 60,
  };
  const preflight = (origin: string) => ['Origin', origin, 'Access-Control-Request-Method', 'PUT'];
  const corsHeaders = ({ headers }: Awaited<ReturnType<typeof send>>) =>
    Object.keys(headers).filter((name) => name.startsWith('access-control'));

  it('lets an allowed origin read errors; only the log has what a function throws', async () => {
    api = { routes: ROUTES, cors };
    invoke = async () => Promise.reject(new Error('a secret of the function'));
    const from = ['Origin', 'https://console.example'];

    const responses = [await send('GET', '/nothing', from), await send('GET', '/things/1', from)];

    const [missing, failed] = ['{"message":"Not Found"}', '{"message":"Internal Server Error"}'];
    expect(responses).toMatchObject([
      { status: 404, text: missing, headers: { 'access-control-allow-origin': from[1] } },
      { status: 500, text: failed, headers: { 'access-control-allow-origin': from[1] } },
    ]);
    expect(errors).toEqual(['a secret of the function']);
  });

  it('sends no CORS headers to another origin or without a configuration', async () => {
    api = { routes: ROUTES, cors };
    const foreign = [
      await send('OPTIONS', '/things/1', preflight('https://evil.example')),
      await send('GET', '/things/1', ['Origin', 'https://evil.example']),
      await send('GET', '/things/1'),
    ];
    api = { routes: ROUTES, cors: undefined };
    const none = await send('OPTIONS', '/things/1', preflight('https://console.example'));

    expect([...foreign, none].flatMap(corsHeaders)).toEqual([]);
    expect(none.status).toBe(404);
  });
});

it.each([
  ['evil.example', 403],
  ['127.0.0.1.evil.example', 403],
  ['', 403],
  ['192.168.1.7:9000', 200],
  ['[::1]:9000', 200],
  ['app.localhost:9000', 200],
])(
  'responds to requests for %s with %i, because a web page can give this machine another name',
  async (host, status) => {
    const response = await send('GET', '/things/7', ['Host', host]);

    expect([response.status, invoked.length]).toEqual([status, status === 200 ? 1 : 0]);
    if (status === 403)
      expect(JSON.parse(response.text).message).toBe(
        `The local cloud responds as localhost and as IP addresses only, not as ${host}`,
      );
  },
);

it('ends requests that are still in flight after the grace period when it stops', async () => {
  const other = await startGateway(
    0,
    () => api,
    () => new Promise(() => undefined),
    () => undefined,
  );
  const inFlight = fetch(`${other.url}/things/7`).catch(() => 'ended');
  await new Promise((resolve) => setTimeout(resolve, 50));

  await other.stop(50);

  expect(await inFlight).toBe('ended');
});
