import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { transformSync } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Contract } from '../../lib/contract/contract.ts';
import { logDefect, logOutage, logRequest } from '../../lib/http/log-request.ts';
import { logError } from '../../lib/runtime/log.ts';
import { countRetry, resetRetries } from '../../lib/runtime/retries.ts';
import { logMailNotSent } from '../../lib/stream/deliver-mail.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';
import { routes } from '../../routes.ts';
import { printedBy } from '../support/commands/printed-by.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-errors.ts';

beforeEach(resetRetries);

/** The logged lines, each checked to be a single line. */
async function logged(work: () => void): Promise<Record<string, unknown>[]> {
  const printed = await printedBy(work);
  for (const line of printed) expect(line).toMatch(/^[^\n]+\n$/);
  return printed.map((line) => JSON.parse(line));
}

/** An API Gateway event in which everything that must not be logged is 'secret'. */
const event = (more: object = {}) =>
  ({
    routeKey: 'PUT /api/users',
    rawPath: '/api/users/secret',
    rawQueryString: 'secret',
    headers: { authorization: 'secret' },
    body: 'secret',
    requestContext: { requestId: 'r-1', http: { sourceIp: 'secret', path: 'secret' } },
    ...more,
  }) as unknown as APIGatewayProxyEventV2;

const contractOf = (name: string) =>
  routes.find(({ route }) => route === name.replace('HEAD', 'GET'))?.contract as Contract;

describe('the log line of a request', () => {
  const caller = { id: 7, login: 'secret', roles: ['ROLE_ADMIN'] };

  it('has its id, route, status, duration and caller', async () => {
    expect(await logged(() => logRequest(UpdateUser, event({ caller }), 200, 12))).toEqual([
      {
        requestId: 'r-1',
        route: 'PUT /api/users',
        kind: 'change',
        status: 200,
        milliseconds: 12,
        callerId: 7,
      },
    ]);
  });

  it.each([
    ['POST /api/authenticate', 'login'],
    ['POST /api/account/reset-password/init', 'reset'],
    ['POST /api/account/reset-password/finish', 'reset'],
    ['DELETE /api/users/{login}', 'change'],
    ['GET /api/account', 'read'],
    ['HEAD /api/account', 'read'],
  ])('has the kind of its route: %s is a %s', async (routeKey, kind) => {
    const requestContext = { http: { method: routeKey.split(' ')[0] } };
    const received = event({ routeKey, requestContext });

    expect(await logged(() => logRequest(contractOf(routeKey), received, 200, 0))).toMatchObject([
      { kind },
    ]);
  });
});

describe('the log line of an outage', () => {
  it.each([
    [
      'a transaction that DynamoDB cancels',
      Object.assign(
        cancelledBy('None', 'TransactionConflict', 'TransactionConflict', 'ThrottlingError'),
        { $metadata: { httpStatusCode: 400, requestId: 'aws-1', attempts: 1 } },
      ),
      {
        outage: 'TransactionCanceledException',
        awsStatus: 400,
        awsRequestId: 'aws-1',
        attempts: 1,
        reasons: 'TransactionConflict ThrottlingError',
      },
    ],
    [
      'a connection that fails',
      awsError('Error', { code: 'ENOTFOUND', hostname: 'secret', $metadata: { attempts: 3 } }),
      { outage: 'Error', code: 'ENOTFOUND', attempts: 3 },
    ],
    ['a conflict of which no call fails', undefined, { outage: 'conflict' }],
  ])('names %s', async (_, cause, expected) => {
    expect(await logged(() => logOutage(event(), cause))).toEqual([
      { requestId: 'r-1', route: 'PUT /api/users', ...expected },
    ]);
  });
});

describe('the metrics of a log line', () => {
  const NAMESPACE = 'Gatehouse/moon';
  const duration = { Name: 'milliseconds', Unit: 'Milliseconds' };
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_900_000_000_000 });
    vi.stubEnv('METRICS_NAMESPACE', NAMESPACE);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });
  const metricsOf = async (work: () => void) => (await logged(work)).map(({ _aws }) => _aws);

  it('are in the embedded metric format', async () => {
    expect(await metricsOf(() => logRequest(UpdateUser, event(), 200, 12))).toEqual([
      {
        Timestamp: 1_900_000_000_000,
        CloudWatchMetrics: [{ Namespace: NAMESPACE, Dimensions: [['kind']], Metrics: [duration] }],
      },
    ]);
  });

  it('count a rejection by its failure code, and retries without dimensions', async () => {
    countRetry();

    expect(
      await metricsOf(() => logRequest(UpdateUser, event(), 503, 12, { code: 'unavailable' })),
    ).toMatchObject([
      {
        CloudWatchMetrics: [
          { Dimensions: [['kind'], ['failure']], Metrics: [duration] },
          { Dimensions: [[]], Metrics: [{ Name: 'retries', Unit: 'Count' }] },
        ],
      },
    ]);
  });

  it('count a mail that was not sent', async () => {
    expect(await logged(() => logMailNotSent(new Error('secret')))).toMatchObject([
      {
        mailNotSent: 'Error',
        mailsNotSent: 1,
        _aws: {
          CloudWatchMetrics: [
            { Dimensions: [[]], Metrics: [{ Name: 'mailsNotSent', Unit: 'Count' }] },
          ],
        },
      },
    ]);
  });

  it('are absent without a namespace, and from a line without metrics', async () => {
    const [, defect] = await logged(() => {
      logRequest(UpdateUser, event(), 500, 0);
      logDefect(event(), new Error('secret'));
    });
    vi.stubEnv('METRICS_NAMESPACE', '');
    const [request] = await logged(() => logRequest(UpdateUser, event(), 200, 0));

    expect(defect).toEqual({ requestId: 'r-1', defect: 'Error', at: expect.any(String) });
    expect(request).not.toHaveProperty('_aws');
  });
});

/** An error with these stack frames, whose message quotes secrets and resembles a stack frame. */
function errorWith(properties: object, ...places: string[]): Error {
  const error = new RangeError('secret\n    at secret.ts:1:1 of an item');
  error.stack = [`RangeError: ${error.message}`, ...places.map((place) => `    at ${place}`)].join(
    '\n',
  );
  return Object.assign(error, properties);
}

describe('the log line of an error', () => {
  const PLACES = ['act (file:///var/task/index.mjs:10:20)', 'async /var/task/index.mjs:3:4'];

  it('has its name, code, AWS metadata and stack frames, but not its message', async () => {
    const error = errorWith(
      {
        code: 'E_ONE',
        $metadata: { httpStatusCode: 400, requestId: 'aws-1', attempts: 3 },
        item: 'secret',
      },
      ...PLACES,
    );

    expect(await logged(() => logError('outage', error, { requestId: 'r-1', tries: 2 }))).toEqual([
      {
        requestId: 'r-1',
        tries: 2,
        outage: 'RangeError',
        code: 'E_ONE',
        awsStatus: 400,
        awsRequestId: 'aws-1',
        at: `at ${PLACES[0]}\nat ${PLACES[1]}`,
      },
    ]);
  });

  it.each([
    ['a code that is not a string', { code: 7 }, {}],
    ['metadata without a status', { $metadata: { requestId: 'aws-2' } }, { awsRequestId: 'aws-2' }],
    ['metadata without an id', { $metadata: { httpStatusCode: 503 } }, { awsStatus: 503 }],
  ])('handles %s', async (_, properties, expected) => {
    expect(
      await logged(() => logError('defect', errorWith(properties, PLACES[0] as string))),
    ).toEqual([{ defect: 'RangeError', ...expected, at: `at ${PLACES[0]}` }]);
  });

  it('has only the stack lines that are stack frames', async () => {
    const error = errorWith(
      {},
      'new Thing (index.mjs:1:2)',
      'secret (native)',
      'secret:1',
      'x:1:2 secret',
    );
    error.stack += '\nsecret:1:2\n    with secret:1:2\nsecret at secret:1:2';

    const [line] = await logged(() => logError('defect', error));

    expect(line?.at).toBe('at new Thing (index.mjs:1:2)');
  });

  it.each([['text'], [undefined], [null], [{ name: 'secret', stack: 'secret' }]])(
    'has only the place of logging for a thrown non-error such as %j',
    async (thrown) => {
      const [line, ...others] = await logged(() => logError('defect', thrown));

      expect(others).toEqual([]);
      expect(line).toEqual({ defect: 'Error', at: expect.stringMatching(/^at .*log\.ts:\d+:\d+/) });
    },
  );

  it('has no stack frames when the error has no stack', async () => {
    const error = new Error('secret');
    delete error.stack;

    expect(await logged(() => logError('defect', error))).toEqual([{ defect: 'Error' }]);
  });

  it('is published complete, for the local cloud to print it', async () => {
    const published: unknown[] = [];
    const note = (error: unknown) => published.push(error);
    subscribe('gatehouse:error', note);
    onTestFinished(() => {
      unsubscribe('gatehouse:error', note);
    });
    const error = new Error('secret');

    await logged(() => logError('defect', error));

    expect(published).toEqual([error]);
  });
});

describe('a stack frame in a bundle', () => {
  const SOURCE = `export function fail(item: string) {
  const message = \`no \${item}\`;
  throw new Error(message);
}
`;

  /**
   * Writes a minified bundle of the source to a temporary folder. Returns its path and URL, and the
   * error's column.
   */
  function writeBundle({
    withMap = true,
    mappings,
  }: {
    withMap?: boolean;
    mappings?: string;
  } = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse bundle (ä) '));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'index.mjs');
    const options = {
      loader: 'ts',
      minify: true,
      sourcemap: true,
      // Moves the code to line 10, so that its line number has two digits.
      banner: '\n'.repeat(8),
      sourcefile: 'lib/rule.ts',
    } as const;
    const { code, map } = transformSync(SOURCE, options);
    writeFileSync(path, code);
    const written = JSON.stringify({
      ...JSON.parse(map),
      sourcesContent: undefined,
      ...(mappings !== undefined && { mappings }),
    });
    if (withMap) writeFileSync(`${path}.map`, written);
    const place = code.indexOf('new Error');
    return { path, url: pathToFileURL(path).href, column: place - code.lastIndexOf('\n', place) };
  }
  const framesOf = async (...places: string[]) => {
    const [line] = await logged(() => logError('defect', errorWith({}, ...places)));
    return String(line?.at).split('\n');
  };

  it('keeps its position among the other frames', async () => {
    const { url, column } = writeBundle();

    const frames = await framesOf(
      'one (node:fs:1:2)',
      `async act (${url}:10:${column})`,
      `${url}:10:1`,
    );

    expect(frames).toEqual(['at one (node:fs:1:2)', 'at lib/rule.ts:3:9', 'at lib/rule.ts:1:8']);
  });

  it('stays as it is without a source map', async () => {
    const { url, column } = writeBundle({ withMap: false });

    expect(await framesOf(`act (${url}:10:${column})`)).toEqual([`at act (${url}:10:${column})`]);
  });

  it('is mapped by the source map of its own bundle, which is parsed once', async () => {
    const { path, url, column } = writeBundle();
    const other = writeBundle({ mappings: '' });
    await framesOf(`act (${url}:10:${column})`);
    writeFileSync(`${path}.map`, 'no longer JSON');

    const frames = await framesOf(`act (${url}:10:${column})`, `act (${other.url}:1:1)`);

    expect(frames).toEqual(['at lib/rule.ts:3:9', `at act (${other.url}:1:1)`]);
  });
});
