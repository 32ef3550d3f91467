import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Authenticate } from '../../lib/accounts/account-contracts.ts';
import type { Contract } from '../../lib/contract/contract.ts';
import { logOutage, logRequest } from '../../lib/http/log-request.ts';
import type { Event } from '../../lib/http/request.ts';
import { countRetry, resetRetries } from '../../lib/runtime/execution-environment.ts';
import { logError } from '../../lib/runtime/log.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-calls.ts';
import { printedBy } from '../support/doubles/output.ts';

beforeEach(resetRetries);

/** The logged lines, each checked to be a single line. */
async function logged(work: () => void): Promise<Record<string, unknown>[]> {
  const printed = await printedBy(work);
  for (const line of printed) expect(line).toMatch(/^[^\n]+\n$/);
  return printed.map((line) => JSON.parse(line));
}

const event = {
  routeKey: 'PUT /api/users',
  requestContext: { requestId: 'r-1', http: { method: 'PUT' } },
} as unknown as Event;

describe('the log line of a request', () => {
  const inMethod = (method: string, more: object = {}) =>
    ({ ...event, requestContext: { requestId: 'r-1', http: { method } }, ...more }) as Event;
  const OF_USER = { caller: { id: 7 } };
  const OF_MODULE = { caller: { clientId: 'm-1' } };
  const AUTHENTICATED = { callerId: 7, clientId: 'm-1' };

  // With the events of API Gateway, it is in test/api/log.test.ts.
  it.each<[string, Contract, Event, object]>([
    ['a read', UpdateUser, inMethod('GET', OF_USER), { kind: 'read', callerId: 7 }],
    ['a change', UpdateUser, inMethod('PUT', OF_MODULE), { kind: 'change', clientId: 'm-1' }],
    [
      'a log-in',
      Authenticate,
      inMethod('POST', AUTHENTICATED),
      { kind: 'login', ...AUTHENTICATED },
    ],
  ])('has the kind and the caller of %s', async (_, contract, received, expected) => {
    expect(await logged(() => logRequest(contract, received, 200, 12))).toEqual([
      { requestId: 'r-1', route: 'PUT /api/users', status: 200, milliseconds: 12, ...expected },
    ]);
  });
});

describe('the log line of an outage', () => {
  it.each([
    [
      'a transaction that DynamoDB cancels',
      Object.assign(
        cancelledBy('None', 'TransactionConflict', 'TransactionConflict', 'ThrottlingError'),
        { code: 20, $metadata: { httpStatusCode: 400, requestId: 'aws-1', attempts: 1 } },
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
    expect(await logged(() => logOutage(event, cause))).toEqual([
      { requestId: 'r-1', route: 'PUT /api/users', ...expected },
    ]);
  });
});

describe('the metrics of a log line', () => {
  const metricsOf = async (namespace: string, work: () => void) => {
    vi.stubEnv('METRICS_NAMESPACE', namespace);
    const [line] = await logged(work);
    return line?._aws as { CloudWatchMetrics: { Dimensions: unknown; Metrics: unknown }[] };
  };

  const duration = {
    Namespace: 'moon',
    Dimensions: [['kind']],
    Metrics: [{ Name: 'milliseconds', Unit: 'Milliseconds' }],
  };

  it('count requests by kind, and rejections by failure code as well', async () => {
    const metrics = [
      await metricsOf('moon', () => logRequest(UpdateUser, event, 200, 12)),
      await metricsOf('moon', () => logRequest(UpdateUser, event, 404, 12, { code: 'not-found' })),
    ];

    expect(metrics.map(({ CloudWatchMetrics }) => CloudWatchMetrics)).toEqual([
      [duration],
      [{ ...duration, Dimensions: [['kind'], ['failure']] }],
    ]);
  });

  it('count retries, without dimensions', async () => {
    countRetry();

    const { CloudWatchMetrics } = await metricsOf('moon', () =>
      logRequest(UpdateUser, event, 503, 12),
    );

    const retries = { Dimensions: [[]], Metrics: [{ Name: 'retries', Unit: 'Count' }] };
    expect(CloudWatchMetrics).toEqual([duration, { Namespace: 'moon', ...retries }]);
  });

  it('are absent without a namespace, and from a line without metrics', async () => {
    expect([
      await metricsOf('', () => logRequest(UpdateUser, event, 200, 0)),
      await metricsOf('moon', () => logError('defect', new Error('secret'))),
    ]).toEqual([undefined, undefined]);
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

  it('has only the stack lines that are stack frames', async () => {
    const error = errorWith(
      { code: 20 },
      'new Thing (index.mjs:1:2)',
      'secret (native)',
      'secret:1',
      'x:1:2 secret',
    );
    error.stack += '\nsecret:1:2\n    with secret:1:2\nsecret at secret:1:2';

    const [line] = await logged(() => logError('defect', error));

    expect(line).toEqual({ defect: 'RangeError', at: 'at new Thing (index.mjs:1:2)' });
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

  /** Writes a minified bundle to a temporary folder, whose name a URL must encode. */
  function writeBundle() {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse bundle (ä) '));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'index.mjs');
    const { code, map } = transformSync(SOURCE, {
      loader: 'ts',
      minify: true,
      sourcemap: true,
      // Moves the code to line 10, so that its line number has two digits.
      banner: '\n'.repeat(8),
      sourcefile: 'lib/rule.ts',
    });
    writeFileSync(path, code);
    writeFileSync(`${path}.map`, map);
    const place = code.indexOf('new Error');
    return {
      map: `${path}.map`,
      url: pathToFileURL(path).href,
      column: place - code.lastIndexOf('\n', place),
    };
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

  it('stays as it is without a source map, or at a place that its source map lacks', async () => {
    const { map, url, column } = writeBundle();
    rmSync(map);
    const other = writeBundle();
    writeFileSync(other.map, JSON.stringify({ version: 3, sources: [], mappings: '' }));
    const places = [`act (${url}:10:${column})`, `act (${other.url}:1:1)`];

    expect(await framesOf(...places)).toEqual(places.map((place) => `at ${place}`));
  });
});
