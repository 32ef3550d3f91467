import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import * as sdkDynamo from '@aws-sdk/client-dynamodb';
import * as sdkKms from '@aws-sdk/client-kms';
import * as sdkSes from '@aws-sdk/client-sesv2';
import * as sdkDocuments from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { sign } from 'aws4';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fromAttributes, toAttributes } from '../../infra/bundle/transport/attribute-values.ts';
import * as ownKms from '../../infra/bundle/transport/client-kms.ts';
import * as ownSes from '../../infra/bundle/transport/client-sesv2.ts';
import * as ownDynamo from '../../infra/bundle/transport/dynamodb.ts';
import { freezeClock } from '../support/doubles/time.ts';
import { seed } from '../support/instance/run-variables.ts';

/* The transport that replaces the SDK in the bundles: each test compares it with the SDK itself. */

// biome-ignore lint/suspicious/noExplicitAny: both implementations are called in the same way
type Any = any;

const SDK = { name: 'the SDK', ...sdkDynamo, ...sdkDocuments, ...sdkKms, ...sdkSes } as Any;
const OWN = { name: 'the transport', ...ownDynamo, ...ownKms, ...ownSes } as Any;

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Does the same with the SDK and with the transport at the same time, because most of it waits. */
const ofBoth = <Result>(act: (aws: Any) => Promise<Result>): Promise<Result[]> =>
  Promise.all([SDK, OWN].map(act));

type Reply =
  | {
      status?: number;
      headers?: Record<string, string>;
      body?: unknown;
      chunks?: Uint8Array[];
      delayMs?: number;
    }
  | 'cut'
  | 'half'
  | 'silent';

/** Starts a server that sends these replies in turn, and the last one from then on. */
async function serverWith(...replies: Reply[]) {
  const received: Received[] = [];
  const server = createServer(async (req: IncomingMessage, res: ServerResponse) => {
    let body = '';
    for await (const chunk of req) body += chunk;
    received.push({ method: req.method, url: req.url, headers: req.headers, body });
    const reply = (replies.length > 1 ? replies.shift() : replies[0]) ?? {};
    if (reply === 'silent') return;
    if (reply === 'cut') return req.socket.destroy();
    if (reply === 'half') {
      res.writeHead(200, { 'Content-Length': 1000 });
      return res.write('{"Item":{}', () => req.socket.destroy());
    }
    await wait(reply.delayMs ?? 0);
    res.writeHead(reply.status ?? 200, reply.headers);
    for (const chunk of reply.chunks ?? []) {
      res.write(chunk);
      // A separate packet.
      await wait(20);
    }
    if (reply.chunks) return res.end();
    res.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const CREDENTIALS = { accessKeyId: 'AKID', secretAccessKey: 'secret' };

/** Timeouts; short ones only for servers that do not respond, because a machine can be slow. */
const patience = (ms: number) => ({
  connectionTimeout: ms,
  requestTimeout: ms,
  throwOnRequestTimeout: true,
});

/**
 * Clients of one implementation for a server. The transport reads endpoint, region and credentials
 * in the environment.
 */
function clientsOf(aws: Any, endpoint: string, more: object = {}) {
  const settings = {
    endpoint,
    region: 'eu-north-1',
    credentials: CREDENTIALS,
    maxAttempts: 3,
    requestHandler: patience(10_000),
    ...more,
  };
  vi.stubEnv('AWS_ENDPOINT_URL', endpoint);
  return {
    documents: aws.DynamoDBDocumentClient.from(new aws.DynamoDBClient(settings), {
      marshallOptions: { removeUndefinedValues: true },
    }),
    kms: new aws.KMSClient(settings),
    ses: new aws.SESv2Client(settings),
  };
}
type Clients = ReturnType<typeof clientsOf>;

// Both wait a random time before a retry.
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  vi.stubEnv('AWS_REGION', 'eu-north-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', CREDENTIALS.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.secretAccessKey);
});

const BYTES = new Uint8Array([0, 1, 254, 255]);
const BASE64 = 'AAH+/w==';
const KEY = { pk: 'USER', sk: '1' };
const STORED = { pk: { S: 'USER' } };
const T = { TableName: 'T', Key: KEY };

/** Commands whose inputs or responses have every kind of value; all tests over HTTP send the others. */
const COMMANDS: Record<string, [client: keyof Clients, input: object, response: object]> = {
  BatchGetCommand: [
    'documents',
    { RequestItems: { T: { Keys: [KEY, { pk: 'A', sk: 'B' }], ConsistentRead: true } } },
    { Responses: { T: [STORED] }, UnprocessedKeys: { T: { Keys: [STORED] } } },
  ],
  UpdateCommand: [
    'documents',
    {
      ...T,
      UpdateExpression: 'SET #n = :n',
      ExpressionAttributeNames: { '#n': 'n' },
      ExpressionAttributeValues: { ':n': new Set([1, 2]) },
    },
    { Attributes: { n: { N: '7' }, list: { L: [{ M: { a: { NULL: true } } }] } } },
  ],
  TransactWriteCommand: [
    'documents',
    {
      ClientRequestToken: 'token',
      TransactItems: [
        { Put: { TableName: 'T', Item: { ...KEY, bytes: BYTES, none: undefined } } },
        { Update: { ...T, ExpressionAttributeValues: { ':n': -1 } } },
        { Delete: { ...T, ConditionExpression: 'attribute_exists(pk)' } },
        { ConditionCheck: { ...T, ConditionExpression: 'n = :n' } },
      ],
    },
    {},
  ],
  GenerateDataKeyCommand: [
    'kms',
    { KeyId: 'k', EncryptionContext: { a: 'b' } },
    { Plaintext: BASE64, CiphertextBlob: '/w==' },
  ],
  SendEmailCommand: [
    'ses',
    { Destination: { ToAddresses: ['ä@example.com'] }, Content: { Simple: {} } },
    { MessageId: 'm' },
  ],
};

const GET = (aws: Any) => new aws.GetCommand({ TableName: 'T', Key: KEY });
const GET_KEY = (aws: Any) => new aws.GetPublicKeyCommand({ KeyId: 'k' });

describe('the transport', () => {
  it.each(Object.entries(COMMANDS))(
    'sends and returns the same as the SDK: %s',
    async (name, [client, input, body]) => {
      const { endpoint, received } = await serverWith({ body });
      const outputs: object[] = [];
      for (const aws of [SDK, OWN]) {
        const { $metadata, ...output } = await clientsOf(aws, endpoint)[client].send(
          new aws[name](input),
        );
        outputs.push(output);
      }

      const [bySdk, own] = received.map(({ method, url, headers, body }) => ({
        method,
        url,
        host: headers.host,
        target: headers['x-amz-target'],
        type: headers['content-type'],
        // Region and service.
        scope: /\/([^/]+\/[^/]+)\/aws4_request,/.exec(headers.authorization ?? '')?.[1],
        body: JSON.parse(body),
      }));
      expect(own?.scope).toMatch(/^eu-north-1\/\w+$/);
      expect(own).toEqual(bySdk);
      expect(outputs[1]).toEqual(outputs[0]);
    },
  );

  const failure = (status: number, __type: string, more: object = {}): Reply => ({
    status,
    headers: { 'x-amzn-requestid': 'r-1' },
    body: { __type, message: 'text', ...more },
  });
  const CANCELLED = { CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }] };
  /** What AWS sends; the SDK knows more names. */
  const THROTTLED = [
    ...['ProvisionedThroughputExceededException', 'RequestLimitExceeded', 'ThrottlingException'],
    ...['TooManyRequestsException', 'TransactionInProgressException'],
  ];
  const DYNAMODB = 'com.amazonaws.dynamodb.v20120810#';

  it.each<[string, number, Reply]>([
    ['a failed condition', 1, failure(400, `${DYNAMODB}ConditionalCheckFailedException`)],
    ['a cancelled transaction', 1, failure(400, 'TransactionCanceledException', CANCELLED)],
    [
      'an error named in a header',
      1,
      { status: 403, headers: { 'x-amzn-errortype': 'NotFoundException:http://x' }, body: {} },
    ],
    [
      'an error named in another field',
      1,
      { status: 400, body: { code: 'SomeException', Message: 'text' } },
    ],
    ['a redirect', 1, { status: 301, body: { __type: 'SomeException' } }],
    ['an unimplemented operation', 1, { status: 501, body: '<html>' }],
    ['too many requests', 3, failure(429, 'SomeException')],
    ...THROTTLED.map((name) => [name, 3, failure(400, name)] as never),
    ['a server error', 3, failure(500, 'InternalServerError')],
    ...[502, 503, 504].map((status) => [`${status}`, 3, { status, body: '<html>' }] as never),
    ['no response', 3, 'silent'],
    ['a closed connection', 3, 'cut'],
    ['a truncated response', 3, 'half'],
  ])('fails like the SDK, after as many attempts: %s', async (_, attempts, reply) => {
    const [bySdk, own] = (await ofBoth(async (aws) => {
      const { endpoint, received } = await serverWith(reply);
      const requestHandler = patience(reply === 'silent' ? 200 : 10_000);
      const sent = clientsOf(aws, endpoint, { requestHandler }).documents.send(GET(aws));
      const { name, message, $metadata, CancellationReasons } = await sent.catch((e: Error) => e);
      const { httpStatusCode: status, requestId, attempts } = $metadata;
      const known = { name, message: message === 'text', reasons: CancellationReasons };
      return { ...known, status, requestId, tried: received.length, attempts };
    })) as [Any, Any];

    // The SDK names a broken or unparsable response after its own internals.
    if (bySdk.status >= 300 && bySdk.status < 500) expect(own).toEqual(bySdk);
    if (bySdk.status === undefined || reply === 'half') expect(own.name).toBe('TimeoutError');
    expect(own).toMatchObject({ tried: attempts, attempts });
    expect(bySdk).toMatchObject({ tried: attempts, attempts });
  });

  it('fails with TimeoutError after a TLS handshake that is not made in time', async () => {
    const server = createTcpServer((socket) => onTestFinished(() => void socket.destroy()));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const requestHandler = { connectionTimeout: 50, requestTimeout: 500 };
    const { documents } = clientsOf(OWN, endpoint, { maxAttempts: 1, requestHandler });

    const message = 'No connection within 50 ms';
    await expect(documents.send(GET(OWN))).rejects.toMatchObject({ name: 'TimeoutError', message });
  });

  it.each([
    ['ECONNRESET', 3, 'TimeoutError'],
    ['ECONNREFUSED', 3, 'TimeoutError'],
    ['ETIMEDOUT', 3, 'TimeoutError'],
    ['ENOTFOUND', 3, 'Error'],
    ['EACCES', 1, 'Error'],
  ])(
    'treats a connection that fails with %s like the SDK: %i attempts, then %s',
    async (code, attempts, name) => {
      // Both names mean an outage.
      const nameBySdk = code === 'ECONNREFUSED' ? 'Error' : name;
      for (const aws of [SDK, OWN]) {
        let tried = 0;
        const createConnection = () => {
          tried++;
          const socket = neverConnected();
          setImmediate(() => socket.destroy(Object.assign(new Error('text'), { code })));
          return socket;
        };
        const httpAgent = Object.assign(new Agent(), { createConnection });
        const { documents } = clientsOf(aws, 'http://127.0.0.1:9', {
          requestHandler: { httpAgent },
        });

        const error = await documents.send(GET(aws)).catch((thrown: Error) => thrown);

        expect([aws.name, tried, error.code]).toEqual([aws.name, attempts, code]);
        expect(error.name).toBe(aws === SDK ? nameBySdk : name);
      }
    },
  );

  it('limits the time to connect, but not to respond, by connectionTimeout', async () => {
    const { endpoint } = await serverWith({ delayMs: 150, body: { Item: { pk: { S: 'USER' } } } });
    const httpAgent = new Agent({ keepAlive: true });
    onTestFinished(() => httpAgent.destroy());
    const requestHandler = { connectionTimeout: 50, requestTimeout: 5000, httpAgent };
    const { documents } = clientsOf(OWN, endpoint, { maxAttempts: 1, requestHandler });

    // The second one uses the connection of the first.
    for (let requests = 0; requests < 2; requests++)
      expect(await documents.send(GET(OWN))).toMatchObject({ Item: { pk: 'USER' } });
  });

  it('treats an empty response as an empty object', async () => {
    const { endpoint } = await serverWith({ body: '' });

    expect(await clientsOf(OWN, endpoint).documents.send(GET(OWN))).toEqual({});
  });

  it('reads a character that arrives in two parts', async () => {
    const text = Buffer.from(JSON.stringify({ Item: { name: { S: 'é' } } }));
    const middle = text.indexOf(0xc3) + 1;
    const { endpoint } = await serverWith({
      chunks: [text.subarray(0, middle), text.subarray(middle)],
    });

    expect(await clientsOf(OWN, endpoint).documents.send(GET(OWN))).toEqual({
      Item: { name: 'é' },
    });
  });

  it.each<[string, Reply, keyof Clients, (aws: Any) => Any, bySdk: number[], own: number[]]>([
    ['a failed read', failure(500, 'X'), 'documents', GET, [12, 25], [12.5, 25]],
    ['a failed call to KMS', failure(500, 'X'), 'kms', GET_KEY, [25, 50], [25, 50]],
  ])(
    'waits as the SDK does before a retry, with full jitter and longer each time, after %s',
    async (_, reply, client, command, bySdk, own) => {
      vi.mocked(Math.random).mockReturnValue(0.5);
      const { setTimeout } = globalThis;
      const waited: number[] = [];
      vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms: number) => {
        // The SDK has longer timers, which are not waits.
        const isWait = ms >= 10 && ms <= 1000;
        if (isWait) waited.push(ms);
        return setTimeout(done, isWait ? 0 : ms);
      }) as never);

      for (const aws of [SDK, OWN]) {
        const { endpoint } = await serverWith(reply);
        await clientsOf(aws, endpoint, { requestHandler: {} })
          [client].send(command(aws))
          .catch(() => undefined);
      }

      expect(waited).toEqual([...bySdk, ...own]);
    },
  );

  it.each([
    ['once, within the bound of its client', 0.5, { throttledWaitMs: 100 }, [50]],
    ['at least every 20 seconds', 1, { maxAttempts: 7 }, [1000, 2000, 4000, 8000, 16_000, 20_000]],
  ])('repeats a throttled call %s', async (_, random, options, expected) => {
    vi.mocked(Math.random).mockReturnValue(random);
    const { endpoint } = await serverWith(failure(400, 'ThrottlingException'));
    const waits: unknown[] = [];
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms: number) => {
      waits.push(ms);
      setImmediate(done);
    }) as never);
    const { documents } = clientsOf(OWN, endpoint, { ...options, requestHandler: {} });

    await expect(documents.send(GET(OWN))).rejects.toMatchObject({
      name: 'ThrottlingException',
      $metadata: { attempts: expected.length + 1 },
    });
    expect(waits).toEqual(expected);
  });

  it('ends the wait before a retry, as the SDK does, when the request is aborted', async () => {
    vi.mocked(Math.random).mockReturnValue(0.99);
    await ofBoth(async (aws) => {
      const { endpoint, received } = await serverWith(failure(400, 'ThrottlingException'));
      const abortSignal = AbortSignal.timeout(150);
      const startedAt = performance.now();

      const error = await clientsOf(aws, endpoint, { requestHandler: {} })
        .documents.send(GET(aws), { abortSignal })
        .catch((thrown: Error) => thrown);

      expect([aws.name, error.name, received.length]).toEqual([aws.name, 'AbortError', 1]);
      expect(performance.now() - startedAt).toBeLessThan(800);
    });
  });

  /**
   * Sends requests one after the other until all replies are used up, and returns how many requests
   * that takes, and how many attempts the last one took.
   */
  async function retriesFor(
    aws: Any,
    ...replies: [Reply, number][]
  ): Promise<[requests: number, attempts: number]> {
    const sent = replies.map(([, calls]) => calls).reduce((one, other) => one + other);
    const { endpoint, received } = await serverWith(
      ...replies.flatMap(([reply, times]) => Array(times).fill(reply)),
    );
    // Without time limits: on a busy machine, one of hundreds of responses could be late, and would
    // cost a retry.
    const { documents } = clientsOf(aws, endpoint, { requestHandler: {} });
    let [requests, before] = [0, 0];
    for (; received.length < sent; requests++) {
      before = received.length;
      await documents.send(GET(aws)).catch(() => undefined);
    }
    return [requests, received.length - before];
  }

  it.each<[string, number, number, [Reply, number][]]>([
    // 20 failed calls are 55 attempts, whose 35 retries leave 500 - 35 * 14 = 10.
    ['20 failed calls leave too little for a retry', 21, 1, [[failure(500, 'X'), 56]]],
    [
      '4 successes pay for one retry',
      25,
      2,
      [
        [failure(500, 'X'), 55],
        [{}, 4],
        [failure(500, 'X'), 2],
      ],
    ],
    ['50 throttled calls, too', 51, 1, [[failure(400, 'ThrottlingException'), 151]]],
    // Before them, each of 40 retried calls takes back what its retry cost.
    [
      'retries that succeed cost nothing',
      61,
      1,
      [
        ...Array(40)
          .fill([
            [failure(500, 'X'), 1],
            [{}, 1],
          ])
          .flat(),
        [failure(500, 'X'), 56],
      ],
    ],
  ])(
    'retries again, as the SDK does, once enough requests have succeeded: %s',
    async (_, requests, attempts, replies) => {
      expect(await ofBoth((aws) => retriesFor(aws, ...replies))).toEqual(
        Array(2).fill([requests, attempts]),
      );
    },
  );

  it.each<[string, keyof Clients, (aws: Any) => object]>([
    ['before the request', 'documents', GET],
    ['during the request', 'documents', GET],
    ['during the request', 'kms', GET_KEY],
  ])('fails with AbortError when it is aborted %s: %s', async (when, client, command) => {
    const { endpoint, received } = await serverWith('silent');
    const controller = new AbortController();
    if (when === 'before the request') controller.abort();
    const timer = setInterval(() => received.length > 0 && controller.abort(), 5);

    const sent = clientsOf(OWN, endpoint, { maxAttempts: 1 })[client].send(command(OWN), {
      abortSignal: controller.signal,
    });

    await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
    clearInterval(timer);
    expect(received.length).toBe(when === 'before the request' ? 0 : 1);
  });

  it('signs each attempt with its own day, and the credentials, region and service', async () => {
    freezeClock(Date.UTC(2030, 0, 1));
    vi.mocked(Math.random).mockImplementation(() => {
      vi.setSystemTime(Date.now() + 86_400_000);
      return 0;
    });
    const { endpoint, received } = await serverWith(failure(500, 'X'), {});
    vi.stubEnv('AWS_SESSION_TOKEN', 'session');
    vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-2-3');
    // The first request is sent twice.
    const sent = [
      ['secret', 'eu-north-1', 'kms'],
      ['changed', 'eu-north-1', 'kms'],
      ['secret', 'eu-west-9', 'kms'],
      ['secret', 'eu-north-1', 'dynamodb'],
    ] as const;

    for (const [secret, region, service] of sent) {
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', secret);
      vi.stubEnv('AWS_REGION', region);
      const { kms, documents } = clientsOf(OWN, endpoint);
      await (service === 'kms' ? kms.send(GET_KEY(OWN)) : documents.send(GET(OWN)));
    }

    const scopes = [sent[0], ...sent];
    expect(received.map(({ headers }) => headers['x-amz-date'])).toEqual(
      scopes.map((_, index) => `2030010${index === 0 ? 1 : 2}T000000Z`),
    );
    for (const [index, [secret, region, service]] of scopes.entries()) {
      const request = received[index] as Received;
      expect(request.headers).toMatchObject({
        authorization: signatureOf(request, secret, region, service),
        'x-amz-security-token': 'session',
        'x-amzn-trace-id': 'Root=1-2-3',
      });
    }
  });

  it.each([
    ['no endpoint', {}],
    ['another domain', { ENDPOINT_DOMAIN: 'amazonaws.com.cn' }],
    [
      'endpoints to ignore',
      {
        AWS_ENDPOINT_URL: 'http://a',
        AWS_ENDPOINT_URL_KMS: 'http://a',
        AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true',
      },
    ],
  ])(
    'uses the endpoint of the service in the region when the environment has %s',
    async (_, variables) => {
      vi.stubEnv('AWS_ENDPOINT_URL', undefined);
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      const hosts: unknown[] = [];
      const createConnection = ({ host }: { host: string }) => {
        hosts.push(host);
        throw new Error('No network');
      };
      const httpsAgent = Object.assign(new HttpsAgent(), { createConnection });
      const config = { maxAttempts: 1, requestHandler: { httpsAgent } };
      for (const [client, command] of [
        [OWN.DynamoDBDocumentClient.from(new OWN.DynamoDBClient(config)), GET(OWN)],
        [new OWN.KMSClient(config), new OWN.GetPublicKeyCommand({})],
        [new OWN.SESv2Client(config), new OWN.SendEmailCommand({})],
      ]) {
        await client.send(command).catch(() => undefined);
      }

      const domain = process.env.ENDPOINT_DOMAIN ?? 'amazonaws.com';
      expect(hosts).toEqual(
        ['dynamodb', 'kms', 'email'].map((name) => `${name}.eu-north-1.${domain}`),
      );
    },
  );
});

const neverConnected = (): Socket =>
  Object.defineProperty(new Socket(), 'connecting', { value: true });

/** The Authorization header of a request, as the package computes it without our cache of keys. */
function signatureOf({ headers, body }: Received, secret: string, region: string, service: string) {
  const request = { method: 'POST', path: '/', region, service, headers: { ...headers }, body };
  const credentials = { ...CREDENTIALS, secretAccessKey: secret, sessionToken: 'session' };
  return sign(request as never, credentials).headers?.Authorization;
}

describe('attribute values', () => {
  // The SDK takes an object with a field `constructor` for an instance of another class.
  const name = fc
    .string({ minLength: 1 })
    .filter((text) => text !== '__proto__' && text !== 'constructor');
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
      fc.boolean(),
      fc.constant(null),
      fc.uint8Array(),
      fc.uniqueArray(fc.integer(), { minLength: 1 }).map((numbers) => new Set(numbers)),
      fc.array(tie('any')),
      fc.dictionary(name, tie('any')),
    ),
  })).any;
  const object = fc.dictionary(name, value);

  it(`are written and read as by the SDK (SEED=${seed})`, () => {
    fc.assert(
      fc.property(object, (fields) => {
        const own = JSON.parse(JSON.stringify(toAttributes(fields)));
        const bySdk = marshall(fields, { removeUndefinedValues: true });
        expect(own).toEqual(JSON.parse(JSON.stringify(bySdk, base64)));
        expect(fromAttributes(own)).toEqual(unmarshall(bySdk));
      }),
      { seed, numRuns: 300 },
    );
  });

  it.each([
    ['texts', { SS: ['a', 'b'] }],
    ['a number that is not exact', { N: '9007199254740993' }],
    ['numbers that are not exact', { NS: ['9007199254740993', '1'] }],
  ])('that functions do not write are read as by the SDK: %s', (_, stored) => {
    expect(fromAttributes({ stored })).toEqual(unmarshall({ stored }));
  });

  it.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.MAX_SAFE_INTEGER + 1,
    new Set(),
    new Set([1, 'a']),
    new Map([['a', 1]]),
    new Date(0),
    new (class {})(),
    1n,
    () => 1,
    Symbol('a'),
  ])('cannot be made from %s', (stored) => {
    expect(() => toAttributes({ stored })).toThrow();
  });

  it('of an unknown type are rejected', () => {
    expect(() => fromAttributes({ a: { X: '1' } as object })).toThrow('unknown type');
  });
});

const base64 = (_: string, part: unknown) =>
  part instanceof Uint8Array ? Buffer.from(part).toString('base64') : part;
