import { createHmac } from 'node:crypto';
import { EventEmitter } from 'node:events';
import https from 'node:https';
import { KMSClient } from '@aws-sdk/client-kms';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Failure } from '../../lib/contract/failure.ts';
import {
  abortBeforeDeadline,
  finishColdStart,
  setDeadline,
} from '../../lib/runtime/execution-environment.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import {
  attemptBy,
  type LoginThrottle,
  openLoginThrottle,
  type PasswordAttempt,
} from '../../lib/throttle/login-throttle.ts';
import type { Check } from '../../lib/throttle/run-attempt.ts';
import { awsError, cancelledBy, overlapCounter } from '../support/doubles/aws-calls.ts';
import { recordingTable } from '../support/doubles/memory-table.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';
import { storedUser } from '../support/doubles/stored-items.ts';
import { useFrozenClock } from '../support/doubles/time.ts';

/* What test/api cannot see of an attempt: the order of its calls, and the last time to undo it. */

const NOW = Date.UTC(2030, 0, 1);
const SECRET = Buffer.from('the secret of this service');
const MAC = { Mac: SECRET.toString('base64') };
const OUTAGE = { error: 'KMSInternalException', status: 500 };
const hmac = (text: string) => createHmac('sha256', SECRET).update(text).digest('base64url');
const network = { pk: `ATTEMPTS#${hmac('ada')}`, sk: `NETWORK#${hmac('203.0.113 ada')}` };
const elsewhere = { pk: network.pk, sk: 'ELSEWHERE' };
const source = { pk: `ATTEMPTS#${hmac('203.0.113.7')}`, sk: `SOURCE#${NOW / 900_000}` };
const HOME = { address: '203.0.113.7', arrivedAt: NOW };

/** The URLs that are connected to ahead of time; no connection is opened. */
const connections: string[] = [];
useFrozenClock(NOW);
beforeEach(() => {
  connections.length = 0;
  vi.spyOn(https, 'request').mockImplementation(((url: URL) => {
    connections.push(url.origin);
    return Object.assign(new EventEmitter(), { end: () => undefined, destroy: () => undefined });
  }) as never);
  vi.stubEnv('AWS_ENDPOINT_URL', undefined);
  vi.stubEnv('AWS_REGION', 'eu-south-2');
  vi.stubEnv('FAILURES_PER_SOURCE', '100');
  vi.stubEnv('PEPPER_KEYS', 'pepper,former');
});

async function opened(items: Item[] = [], responses: ScriptedResponse[] = [MAC]) {
  const { settings, requests, inputs } = scriptedClient(...responses);
  const table = recordingTable(...items);
  const throttle = openLoginThrottle(table, undefined, new KMSClient(settings));
  await finishColdStart();
  setDeadline(Number.POSITIVE_INFINITY);
  return { table, throttle, requests, inputs };
}
const failed = (n: number) => ({ ...elsewhere, n, last: NOW - 5000, expires: NOW / 1000 + 60 });
const right = async () => async () => 'right';
const wrong = async () => ({ failure: 'bad-credentials' as const });
const attempt = <T>(
  throttle: LoginThrottle,
  verify: Check<T, unknown>['verify'] = right,
  { check = {}, ...more }: Partial<PasswordAttempt> & { check?: Partial<Check<T, unknown>> } = {},
) =>
  throttle.attempt(
    { login: 'ada', source: HOME, userIdIn: () => 7, ...more },
    { verify, ...check },
  );

it('pseudonyms need one MAC of KMS, in the cold start, while the table is connected', async () => {
  const { throttle, inputs } = await opened();
  const before = inputs().length;

  await throttle.begin('RESETS', HOME);
  await attempt(throttle);

  const Message = Buffer.from('gatehouse: who guesses at which login').toString('base64');
  expect(before).toBe(1);
  expect(inputs()).toEqual([{ KeyId: 'pepper', Message, MacAlgorithm: 'HMAC_SHA_256' }]);
  expect(connections).toEqual(['https://dynamodb.eu-south-2.amazonaws.com']);
});

it('the MAC is requested again, once by concurrent requests, until KMS returns it', async () => {
  const { throttle, requests } = await opened([], [OUTAGE, OUTAGE, MAC]);

  await expect(throttle.keysOf('ada', HOME)).rejects.toMatchObject({ name: OUTAGE.error });
  await Promise.all([throttle.keysOf('ada', HOME), throttle.keysOf('eve', HOME)]);

  expect(requests).toHaveLength(3);
});

it.each([
  ['RESETS', 1, 0, 100],
  ['MODULES', 0, 1, 100],
] as const)('of %s, %i requests and %i failures are counted', async (kind, requests, n, max) => {
  const { table, throttle } = await opened();

  await (await throttle.begin(kind, HOME)).count();

  expect(table.updates).toMatchObject([
    {
      key: { ...source, sk: source.sk.replace('SOURCE', kind) },
      names: { '#n': 'n', '#requests': 'requests', '#expires': 'expires' },
      // A minute after the window of 15 minutes.
      values: { ':requests': requests, ':failures': n, ':max': max, ':expires': NOW / 1000 + 960 },
    },
  ]);
});

describe('an attempt', () => {
  it('is recorded while other items are loaded, and both before it is verified', async () => {
    const guard = { pk: 'LOGIN#ada', sk: 'GUARD' };
    const { table, throttle } = await opened([{ ...guard, id: 7 }]);
    const overlap = overlapCounter();
    const { transact, update } = table;
    table.transact = (...transaction) => overlap.run(() => transact(...transaction));
    table.update = (write) => overlap.run(() => update(write));
    let found: unknown;
    let cleared: readonly Write[] = [];

    await attempt(
      throttle,
      async () => {
        expect([table.transactions.length, table.updates.length]).toEqual([1, 1]);
        return async (clearFailures) => {
          cleared = clearFailures(NOW);
        };
      },
      {
        alsoRead: [{ pk: 'none', sk: 'none' }, guard],
        check: { load: async (items) => overlap.run(async () => (found = items)) },
      },
    );

    expect(overlap.most).toBe(3);
    expect(found).toEqual([undefined, { ...guard, id: 7 }]);
    expect(table.reads).toMatchObject([[source, network, elsewhere, {}, guard]]);
    expect(table.transactions).toMatchObject([[{ key: elsewhere, attributes: { n: 1 } }]]);
    expect(table.updates).toMatchObject([{ key: source, values: { ':max': 1000 } }]);
    expect(cleared.map(({ key }) => key)).toEqual([network, elsewhere]);
  });

  it('that keeps failures is taken back before its request goes on, and clears none', async () => {
    const { table, throttle } = await opened([failed(3)]);

    const goesOn: Check<unknown, unknown>['verify'] = async () => async (clearFailures) => [
      table.transactions.length,
      clearFailures(NOW),
    ];

    const seen = await attempt(throttle, goesOn, { check: { keepsFailures: true } });
    expect(seen).toEqual([2, []]);
    expect(table.transactions[1]).toMatchObject([{ key: elsewhere, attributes: { n: 3 } }]);
  });

  it.each<[string, Error, number]>([
    ['after too many changes is taken back', new Failure('change-budget-spent'), 3],
    ['for want of a code is taken back', new Failure('code-required'), 3],
    ['by a rule stays counted', new Failure('last-administrator'), 4],
  ])('whose request fails %s', async (_, error, n) => {
    const { table, throttle } = await opened([failed(3)]);

    await expect(attempt(throttle, async () => () => Promise.reject(error))).rejects.toBe(error);

    expect(table.transactions.at(-1)).toMatchObject([{ key: elsewhere, attributes: { n } }]);
  });

  it('that waited in a queue is judged by its arrival', async () => {
    const { throttle } = await opened([failed(14)]);
    vi.setSystemTime(NOW + 60_000);
    const arriving = (waitMs: number) =>
      attempt(throttle, right, { source: { ...HOME, arrivedAt: NOW - 5000 + waitMs } });

    await expect(arriving(15_999)).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect(await arriving(16_000)).toBe('right');
  });

  it('that exceeds a limit of its source concurrently is taken back', async () => {
    const { table, throttle } = await opened([failed(3)]);
    table.updateOutcomes.push(false);

    await expect(attempt(throttle)).rejects.toMatchObject({ code: 'too-many-attempts' });

    expect(table.transactions[1]).toMatchObject([{ key: elsewhere, attributes: { n: 3 } }]);
  });

  it('that meets the last free failure of others at the same time is not made', async () => {
    const { table, throttle } = await opened([failed(9)]);
    const { transact } = table;
    table.transact = async () => {
      Object.assign(table, { transact, items: [failed(14)] });
      throw cancelledBy('ConditionalCheckFailed');
    };

    const refused = { code: 'too-many-attempts', retryAfter: 11 };
    await expect(attempt(throttle)).rejects.toMatchObject(refused);
    expect(table.transactions).toEqual([]);
  });

  it('clears the failures as they were when it was counted', async () => {
    const { table, throttle } = await opened([failed(9)]);
    const { transact } = table;
    const known = { ...network, n: 1, last: NOW, expires: NOW / 1000 + 60 };
    table.transact = async () => {
      Object.assign(table, { transact, items: [failed(9), known] });
      throw cancelledBy('ConditionalCheckFailed');
    };

    const cleared = await attempt(throttle, async () => async (clear) => clear(NOW));

    expect(cleared).toMatchObject([{ key: network, attributes: { n: 0 } }]);
  });

  it('has time to be taken back after a call that took all the time of the request', async () => {
    const { table, throttle } = await opened();
    const aborted: (boolean | undefined)[] = [];

    const exhausted = attempt(throttle, async () => {
      setDeadline(500);
      table.transact = async () => {
        aborted.push(abortBeforeDeadline().abortSignal?.aborted);
      };
      throw new Error('no verdict');
    });

    await expect(exhausted).rejects.toThrow('no verdict');
    expect(aborted).toEqual([false]);
  });

  it('is not revealed as wrong when it cannot be counted against its source', async () => {
    const { table, throttle } = await opened();
    table.updateOutcomes.push(true, new Failure('unavailable'));

    await expect(attempt(throttle, wrong)).rejects.toMatchObject({ code: 'unavailable' });
  });

  const ada = storedUser(7, 'ada');
  const entryBy = (actor: object) => (action: string) => ({
    attributes: { action, target: 'user/7', targetName: 'ada', source: HOME.address, ...actor },
  });
  const standIn = () => ({
    key: { ...elsewhere, sk: 'REJECTED' },
    attributes: { expires: NOW / 1000 },
  });
  it.each<[string, Partial<PasswordAttempt>, (action: string) => object]>([
    ['of a user', {}, entryBy({ actor: 'anonymous' })],
    ['of nobody', { userIdIn: () => undefined }, standIn],
    [
      'in a session',
      attemptBy({ id: 7, jti: 'series', expires: 0 }, ada, HOME),
      entryBy({ actor: 'ada', actorId: 7, session: 'series' }),
    ],
  ])('%s is reported by its first failure and rejection', async (_, of, reported) => {
    const seen = [];
    for (const failures of [0, 14]) {
      const { table, throttle } = await opened([failed(failures)]);
      await attempt(throttle, wrong, of).catch(() => undefined);
      seen.push(table.transactions.at(-1));
    }

    expect(seen).toMatchObject([
      [reported('login.failed')],
      [
        {
          key: elsewhere,
          update: 'SET #set0 = :set0',
          condition: '#n = :n AND #last = :last AND attribute_not_exists(#rejected)',
        },
        reported('login.throttled'),
      ],
    ]);
  });

  it('with a wrong code after the right password is reported once a day', async () => {
    const { table, throttle } = await opened([failed(3)]);
    // Its source reaches its limit at this moment.
    table.updateOutcomes.push(true, false);
    const reject = async () => ({ ...(await wrong()), codeRejectedOf: ada });

    await attempt(throttle, reject).catch(() => undefined);

    expect(table.transactions.at(-1)).toMatchObject([
      {
        key: { ...elsewhere, sk: 'CODE-REJECTED' },
        attributes: { expires: NOW / 1000 + 86_400 },
        condition: 'attribute_not_exists(pk) OR #expires <= :now',
        names: { '#expires': 'expires' },
        values: { ':now': NOW / 1000 },
      },
      { attributes: { action: 'login.codeRejected', target: 'user/7' } },
      {},
    ]);
  });

  it('is rejected as usual when it cannot be audited', async () => {
    const { table, throttle } = await opened();
    table.transactionErrors.push(undefined, awsError('TimeoutError'), awsError('TimeoutError'));

    await expect(attempt(throttle, wrong)).rejects.toMatchObject({ code: 'bad-credentials' });
  });
});
