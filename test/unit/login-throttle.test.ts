import { createHmac } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Failure, type FailureCode } from '../../lib/contract/failure.ts';
import type { Source } from '../../lib/contract/source.ts';
import { finishColdStart } from '../../lib/runtime/cold-start.ts';
import { abortBeforeDeadline, setDeadline } from '../../lib/runtime/deadline.ts';
import type { Key } from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import {
  type LoginThrottle,
  openLoginThrottle,
  type PasswordAttempt,
} from '../../lib/throttle/login-throttle.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-errors.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { useOpenedConnections } from '../support/doubles/opened-connections.ts';
import { overlapCounter } from '../support/doubles/overlap.ts';
import { type RecordingTable, recordingTable } from '../support/doubles/recording-table.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';

/* How login attempts are counted, on a table that records its calls. */

const NOW = Date.UTC(2030, 0, 1);
const SECRET = Buffer.from('the secret of this service');
const MAC = { Mac: SECRET.toString('base64') };
const OUTAGE = { error: 'KMSInternalException', status: 500 };
/** The counts of sources are numbered by their windows, of which one begins now. */
const WINDOW = NOW / 900_000;
const WINDOW_END_SECONDS = NOW / 1000 + 900;
const ADA = { login: 'ada', password: 'guess' };
const hmac = (text: string) => createHmac('sha256', SECRET).update(text).digest('base64url');

const connections = useOpenedConnections();
useFrozenClock(NOW);
beforeEach(() => vi.stubEnv('FAILURES_PER_SOURCE', '100'));

async function throttleOn(table: Table, ...responses: ScriptedResponse[]) {
  const { settings, requests, inputs } = scriptedClient(...(responses.length ? responses : [MAC]));
  vi.stubEnv('PEPPER_KEYS', 'pepper,former');
  const throttle = openLoginThrottle(table, undefined, new KMSClient(settings));
  await finishColdStart();
  setDeadline(Number.POSITIVE_INFINITY);
  return { throttle, requests, inputs };
}
/** A throttle on a table with these items. */
async function opened(...items: Item[]) {
  const table = recordingTable(...items);
  return { table, throttle: (await throttleOn(table)).throttle };
}
const from = (address: string) => ({ address, arrivedAt: NOW });
const HOME = from('203.0.113.7');
/** Counts a reset as its rules do. */
async function countReset(throttle: LoginThrottle, source: Source = HOME): Promise<void> {
  const { count } = await throttle.beginReset(source);
  await count();
}
const right = async () => async (clearFailures: ClearFailures) => {
  cleared = clearFailures(Date.now());
  return 'right';
};
/** The writes with which the last request with the right password has cleared its failures. */
let cleared: readonly Write[] = [];
const wrong = async () => 'bad-credentials' as const;
const unverified = () => Promise.reject(new Error('no verdict'));
/** Makes an attempt of Ada whose password `verify` verifies. */
const attempt = (
  throttle: LoginThrottle,
  verify: () => Promise<((clear: ClearFailures) => Promise<string>) | FailureCode> = right,
  more: Partial<PasswordAttempt> = {},
) => throttle.attempt({ ...ADA, source: HOME, userIdIn: () => 7, ...more }, { verify });
const lost = () => awsError('TimeoutError');
const BAD_CREDENTIALS = { code: 'bad-credentials' };

type ClearFailures = (now: number) => readonly Write[];

describe('the secret that pseudonymizes logins and addresses', () => {
  it('is a MAC from KMS, generated once in the cold start', async () => {
    const { throttle, inputs } = await throttleOn(recordingTable());
    const before = inputs().length;

    await countReset(throttle);
    await attempt(throttle);

    const Message = Buffer.from('gatehouse: who guesses at which login').toString('base64');
    expect(before).toBe(1);
    expect(inputs()).toEqual([{ KeyId: 'pepper', Message, MacAlgorithm: 'HMAC_SHA_256' }]);
  });

  it('is requested again by each request until KMS returns it', async () => {
    const { throttle, requests } = await throttleOn(recordingTable(), OUTAGE, OUTAGE, MAC);

    await expect(countReset(throttle)).rejects.toMatchObject({ name: OUTAGE.error });
    await countReset(throttle);
    await countReset(throttle);

    expect(requests).toHaveLength(3);
  });

  it('is requested only once by concurrent requests', async () => {
    const { throttle, requests } = await throttleOn(recordingTable(), OUTAGE, MAC);

    await Promise.all([countReset(throttle), countReset(throttle, from('203.0.113.8'))]);

    expect(requests).toHaveLength(2);
  });

  it('is awaited no longer than a cold start may take', async () => {
    const { settings, requests } = scriptedClient(MAC);
    const timeout = vi.spyOn(AbortSignal, 'timeout');

    openLoginThrottle(recordingTable(), ['pepper', 'former'], new KMSClient(settings));
    await finishColdStart();

    expect(timeout.mock.calls).toEqual([[2000]]);
    expect(requests[0]?.signal).toBeInstanceOf(AbortSignal);
    timeout.mockRestore();
  });

  it('is loaded while a connection to the table is opened', async () => {
    await throttleOn(recordingTable());

    expect(connections).toEqual(['https://dynamodb.eu-south-2.amazonaws.com']);
  });
});

describe('a login attempt', () => {
  const network = { pk: `ATTEMPTS#${hmac('ada')}`, sk: `NETWORK#${hmac('203.0.113 ada')}` };
  const elsewhere = { pk: `ATTEMPTS#${hmac('ada')}`, sk: 'ELSEWHERE' };
  const source = { pk: `ATTEMPTS#${hmac('203.0.113.7')}`, sk: `SOURCE#${WINDOW}` };
  /** A count of the failures elsewhere. */
  const failed = (n: number, last = NOW - 5000) => ({
    ...elsewhere,
    n,
    last,
    expires: NOW / 1000 + 60,
  });
  const sourceAtLimit = { ...source, n: 100, requests: 200 };

  /** Makes an attempt with the right password, and returns the writes that clear its failures. */
  async function succeed(throttle: LoginThrottle) {
    await attempt(throttle);
    return cleared;
  }

  it('is counted by login and network, by login elsewhere and by source', async () => {
    const { table, throttle } = await opened();

    const cleared = await succeed(throttle);

    expect(table.reads).toEqual([[network, elsewhere, source]]);
    expect(table.transactions[0]).toMatchObject([{ key: elsewhere, attributes: { n: 1 } }]);
    expect(cleared).toMatchObject([
      { key: network, attributes: { n: 0, last: NOW } },
      { key: elsewhere, attributes: { n: 0, last: NOW } },
    ]);
    expect(table.updates).toMatchObject([
      {
        key: source,
        update: 'SET #expires = :expires ADD #n :failures, #requests :requests',
        condition: 'attribute_not_exists(pk) OR #n < :failuresMax AND #requests < :requestsMax',
        names: { '#n': 'n', '#requests': 'requests', '#expires': 'expires' },
        values: {
          ':failures': 0,
          ':requests': 1,
          ':failuresMax': 100,
          ':requestsMax': 1000,
          ':expires': WINDOW_END_SECONDS + 60,
        },
      },
    ]);
  });

  it.each([
    [false, 1, 2],
    [true, 2, 0],
  ])('that keeps failures (%s) is taken back, and clears none', async (keeps, commits, clears) => {
    const { table, throttle } = await opened();
    let writes: readonly Write[] = [];

    await throttle.attempt(
      { ...ADA, source: HOME, userIdIn: () => 7 },
      {
        verify: async () => async (clearFailures) => {
          writes = clearFailures(NOW);
        },
        keepsFailures: keeps,
      },
    );

    expect([table.transactions.length, writes.length]).toEqual([commits, clears]);
  });

  it('reads each counter by its own key', async () => {
    const counts = { n: 2, last: NOW, expires: NOW / 1000 + 60 };
    const items = [
      { ...source, n: 9, requests: 20 },
      { ...elsewhere, ...counts, n: 30 },
      { ...network, ...counts },
    ];
    const table = recordingTable(...items);
    const { throttle } = await throttleOn(table);

    const cleared = await succeed(throttle);

    expect(table.transactions[0]).toMatchObject([{ key: network, attributes: { n: 3 } }]);
    expect(cleared).toMatchObject([{ key: network, attributes: { n: 0 } }]);
    expect(cleared).toHaveLength(1);
  });

  it('reads its counts together with other items, in the order of the keys', async () => {
    const [one, missing, other] = ['one', 'missing', 'other'].map((sk) => ({
      pk: 'LOGIN#ada',
      sk,
    }));
    const table = recordingTable({ ...other, id: 2 } as never, { ...one, id: 1 } as never);
    const { throttle } = await throttleOn(table);
    const keys = [one, missing, other] as Key[];

    const items = await throttle.attempt(
      { ...ADA, source: HOME, alsoRead: keys, userIdIn: () => 7 },
      {
        load: async (found) => found,
        verify: async (loaded) => async () => loaded,
      },
    );

    expect(items).toEqual([{ ...one, id: 1 }, undefined, { ...other, id: 2 }]);
    expect(table.reads).toEqual([[network, elsewhere, source, ...keys]]);
  });

  it('is recorded, while further items are loaded, before its password is verified', async () => {
    const { table, throttle } = await opened();
    const writes = () => [table.transactions.length, table.updates.length];

    const seen = await throttle.attempt(
      { ...ADA, source: HOME, userIdIn: () => 7 },
      {
        load: async () => writes(),
        verify: async (loaded) => {
          const verified = writes();
          return async () => [loaded, verified];
        },
      },
    );

    expect(seen).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  it('is counted for its login and its source concurrently', async () => {
    const { table, throttle } = await opened();
    const overlap = overlapCounter();
    const { transact, update } = table;
    table.transact = (...transaction) => overlap.run(() => transact(...transaction));
    table.update = (write) => overlap.run(() => update(write));

    await expect(attempt(throttle, unverified)).rejects.toThrow('no verdict');

    expect(overlap.most).toBe(2);
    expect([table.transactions.length, table.updates.length]).toEqual([2, 1]);
  });

  it.each([
    ['login', { ...failed(11, NOW - 500), rejected: true }, 2],
    ['source', sourceAtLimit, 900],
  ])(
    'is rejected while its %s is throttled, without being counted',
    async (_, item, retryAfter) => {
      const { table, throttle } = await opened(item);

      const rejected = attempt(throttle);

      await expect(rejected).rejects.toMatchObject({
        code: 'too-many-attempts',
        retryAfter,
        loginPseudonym: hmac('ada'),
      });
      expect([table.transactions, table.updates]).toEqual([[], []]);
    },
  );

  const CALLER = { id: 7, login: 'ada', source: '192.0.2.9', session: 's' };
  it.each([
    ['by somebody', undefined, { actor: 'anonymous', actorId: 0, source: '203.0.113.7' }],
    ['by a caller', CALLER, { actor: 'ada', actorId: 7, source: '192.0.2.9', session: 's' }],
  ])('is audited when it is the first one that is rejected: %s', async (_, actor, by) => {
    const { table, throttle } = await opened(failed(11, NOW - 500));

    const rejected = attempt(throttle, right, actor && { actor });

    await expect(rejected).rejects.toThrow('too-many-attempts');
    const [[mark, entry] = []] = table.transactions;
    expect(table.transactions).toHaveLength(1);
    expect(mark).toMatchObject({
      act: 'Update',
      key: elsewhere,
      update: 'SET #set0 = :set0',
      condition: '#n = :n AND #last = :last AND attribute_not_exists(#rejected)',
      names: { '#n': 'n', '#last': 'last', '#rejected': 'rejected', '#set0': 'rejected' },
      values: { ':n': 11, ':last': NOW - 500, ':set0': true },
    });
    const event = { action: 'login.throttled', target: 'user/7', targetName: 'ada' };
    expect(entry?.attributes).toMatchObject({ ...event, ...by });
  });

  it('is rejected in a /48 that has had ten times the failures of a source', async () => {
    const site = { pk: `ATTEMPTS#${hmac('2001:db8:1')}`, sk: source.sk, n: 1000 };
    const { table, throttle } = await opened(site);

    const rejected = attempt(throttle, right, { source: from('2001:db8:1:77::1') });

    await expect(rejected).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect([table.transactions, table.updates]).toEqual([[], []]);
  });

  it('is not audited for its login when only its source is throttled', async () => {
    // The wait of the login has just ended.
    const { table, throttle } = await opened(failed(10, NOW - 1000), sourceAtLimit);

    await expect(attempt(throttle)).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect(table.transactions).toEqual([]);
  });

  it('states the pseudonym of its login in failures only', async () => {
    const { throttle } = await opened();

    await expect(attempt(throttle, wrong)).rejects.toMatchObject({ loginPseudonym: hmac('ada') });
    const error = await attempt(throttle, unverified).catch((reason) => reason);
    expect(error).not.toHaveProperty('loginPseudonym');
  });

  it('is rejected as well when that cannot be audited', async () => {
    const { table, throttle } = await opened(failed(11, NOW - 500));
    table.transactionErrors.push(lost(), lost());

    await expect(attempt(throttle)).rejects.toMatchObject({ code: 'too-many-attempts' });
  });

  it('keeps the mark of an audited rejection until the failures are cleared', async () => {
    const { table, throttle } = await opened({ ...failed(11, NOW - 5000), rejected: true });

    await expect(attempt(throttle, unverified)).rejects.toThrow('no verdict');

    expect(table.transactions.map(([write]) => write?.attributes?.rejected)).toEqual([true, true]);
    await attempt(throttle);
    expect(cleared.filter(({ attributes }) => attributes?.rejected)).toEqual([]);
  });

  describe('that is recorded concurrently with another one', () => {
    /**
     * A table where another attempt makes this number of failures between the reading and the
     * counting.
     */
    function contendedTable(n: number, last = NOW) {
      const table = recordingTable();
      const { transact } = table;
      table.transact = async (...transaction) => {
        table.transact = transact;
        table.items = [failed(n, last)];
        table.transactionErrors.push(cancelledBy('ConditionalCheckFailed'));
        await transact(...transaction);
      };
      return table;
    }

    it('is counted on top of the other one, and once against its source', async () => {
      const table = contendedTable(5);
      const { throttle } = await throttleOn(table);

      const alsoRead = [{ pk: 'LOGIN#ada', sk: 'GUARD' }];
      const failed = attempt(throttle, wrong, { alsoRead });

      await expect(failed).rejects.toMatchObject(BAD_CREDENTIALS);
      expect(table.transactions.at(-2)).toMatchObject([{ key: elsewhere, attributes: { n: 6 } }]);
      const requests = table.updates.map(({ values }) => values?.[':requests']);
      expect(requests.filter((count) => count === 1)).toHaveLength(1);
      expect(table.reads.slice(1)).toEqual([[network, elsewhere, source]]);
    });

    it('is rejected when the other one causes a waiting period', async () => {
      const table = contendedTable(12);
      const { throttle } = await throttleOn(table);
      const verify = vi.fn(right);

      await expect(attempt(throttle, verify)).rejects.toMatchObject({
        code: 'too-many-attempts',
        retryAfter: 4,
      });
      expect(table.transactions).toHaveLength(1);
      expect(verify).not.toHaveBeenCalled();
    });
  });

  it('clears the failures elsewhere when its network expires before it is recorded', async () => {
    const { table, throttle } = await opened({
      ...network,
      n: 1,
      last: NOW - 5000,
      expires: NOW / 1000 + 1,
    });
    const { getAll } = table;
    table.getAll = async (keys) => {
      const items = await getAll(keys);
      vi.setSystemTime(NOW + 1000);
      return items;
    };

    await attempt(throttle);

    expect(cleared.map(({ key }) => key)).toEqual([network, elsewhere]);
  });

  const takenBack = [{ key: elsewhere, attributes: { n: 3, last: NOW - 5000 } }];
  it.each<[string, (table: RecordingTable) => unknown, object, number]>([
    [
      'it cannot be counted against its source',
      (table) => table.updateOutcomes.push(new Failure('unavailable')),
      { code: 'unavailable' },
      1,
    ],
    [
      'its failure cannot be counted',
      (table) => table.transactionErrors.push(lost(), lost()),
      { code: 'unavailable' },
      2,
    ],
    ['there is no verdict', () => undefined, { message: 'no verdict' }, 1],
  ])('fails and takes back the failure of its login when %s', async (_, spoil, error, tries) => {
    const { table, throttle } = await opened(failed(3));
    spoil(table);

    await expect(attempt(throttle, unverified)).rejects.toMatchObject(error);

    expect(table.transactions.slice(tries)).toMatchObject([takenBack]);
    expect(table.updates).toHaveLength(1);
  });

  it.each<[string, Error, number]>([
    ['an outage', lost(), 1],
    ['unavailable', new Failure('unavailable'), 1],
    ['too many changes', new Failure('change-budget-spent'), 1],
    ['another failure', new Failure('last-administrator'), 0],
  ])(
    'is taken back when the request fails after the right password: %s',
    async (_, error, backs) => {
      const { table, throttle } = await opened(failed(3));

      await expect(attempt(throttle, async () => () => Promise.reject(error))).rejects.toBe(error);

      expect(table.transactions.slice(1)).toMatchObject(Array(backs).fill(takenBack));
    },
  );

  describe('with a code that has the form of a recovery code, during a wait', () => {
    const recover = async (isRight: boolean) => {
      const { table, throttle } = await opened({ ...failed(11, NOW - 500), rejected: true });
      const check = { verify: right, isRecoveryCode: async () => isRight };
      const typed = { ...ADA, code: 'abcd-efgh' };
      const attempted = throttle.attempt({ ...typed, source: HOME, userIdIn: () => 7 }, check);
      return [await attempted.catch(({ code }) => code), table] as const;
    };
    const events = ({ updates }: RecordingTable) =>
      updates.map(({ values }) => [values?.[':requests'], values?.[':failures']]);

    it('is made in spite of it if the code is right, and counted once', async () => {
      const [outcome, table] = await recover(true);

      expect([outcome, events(table)]).toEqual(['right', [[1, 0]]]);
      expect(table.transactions).toMatchObject([
        [{ key: { sk: 'RECOVERY' }, attributes: { n: 1 } }],
      ]);
    });

    it('is a failure of its source only if the code is wrong', async () => {
      const [outcome, table] = await recover(false);

      expect([outcome, events(table)]).toEqual([
        'too-many-attempts',
        [
          [1, 0],
          [0, 1],
        ],
      ]);
      expect(table.transactions).toEqual([]);
    });
  });

  it('is rejected when its source reaches the limit concurrently', async () => {
    const { table, throttle } = await opened();
    table.updateOutcomes.push(false);

    await expect(attempt(throttle)).rejects.toMatchObject({
      code: 'too-many-attempts',
      retryAfter: 900,
    });
    expect(table.transactions[1]).toMatchObject([{ key: elsewhere, attributes: { n: 0 } }]);
  });

  it('stays counted when it is taken back during an outage or after another one', async () => {
    for (const errors of [[lost(), lost()], [cancelledBy('ConditionalCheckFailed')]]) {
      const table = recordingTable();
      const { throttle } = await throttleOn(table);
      table.transactionErrors.push(undefined, ...errors);

      await expect(attempt(throttle, unverified)).rejects.toThrow('no verdict');

      expect([table.transactions.length, table.updates.length]).toEqual([1 + errors.length, 1]);
    }
  });

  const audited = [`${NOW / 3_600_000} ${hmac('203.0.113 ada').slice(0, 8)}`];

  it('counts its failure against its source before it is revealed, and audits it', async () => {
    const { table, throttle } = await opened();

    await expect(attempt(throttle, wrong)).rejects.toMatchObject(BAD_CREDENTIALS);

    expect(table.updates.slice(1)).toMatchObject([
      {
        key: source,
        values: { ':failures': 1, ':requests': 0, ':requestsMax': Number.MAX_SAFE_INTEGER },
      },
    ]);
    const event = { action: 'login.failed', target: 'user/7', targetName: 'ada', count: 1 };
    expect(table.transactions.slice(1)).toMatchObject([
      [
        {
          key: elsewhere,
          update: 'SET #set0 = :set0',
          condition: '#n = :n AND #last = :last',
          names: { '#set0': 'audited' },
          values: { ':n': 1, ':last': NOW, ':set0': audited },
        },
        { attributes: { ...event, actor: 'anonymous', source: '203.0.113.7' } },
      ],
    ]);
  });

  it.each([
    ['another network', '203.0.114.7', 2],
    ['the same network in a later hour', '203.0.113.8', 2, 3_600_000],
    ['the same network in the same hour', '203.0.113.8', 1],
  ])(
    'that fails is audited once per network and hour: %s',
    async (_, address, count, later = 0) => {
      vi.setSystemTime(NOW + later);
      const { table, throttle } = await opened({ ...failed(2, NOW), audited });
      const arrived = { address, arrivedAt: NOW + later + 1 };

      await expect(attempt(throttle, wrong, { source: arrived })).rejects.toThrow();
      await attempt(throttle, right, { source: arrived });

      expect(table.transactions.slice(0, -1)).toHaveLength(count);
      expect(cleared[0]?.attributes?.audited).toEqual(audited);
    },
  );

  it('that fails is as much work, without an entry, when no account has the login', async () => {
    const { table, throttle } = await opened();

    await expect(attempt(throttle, wrong, { userIdIn: () => undefined })).rejects.toThrow();

    expect(table.transactions[1]?.map(({ key }) => key.sk)).toEqual(['ELSEWHERE', 'REJECTED']);
  });

  it('is not revealed as wrong when it cannot be counted against its source', async () => {
    const { table, throttle } = await opened();
    table.updateOutcomes.push(true, new Failure('unavailable'));

    await expect(attempt(throttle, wrong)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is rejected as well when its failure cannot be audited', async () => {
    const { table, throttle } = await opened();
    table.transactionErrors.push(undefined, lost(), lost());

    await expect(attempt(throttle, wrong)).rejects.toMatchObject(BAD_CREDENTIALS);
  });

  it('has time to be taken back after a call that took all the time of the request', async () => {
    const { table, throttle } = await opened();
    const aborted: (boolean | undefined)[] = [];

    const failed = attempt(throttle, async () => {
      setDeadline(500);
      table.transact = async () => {
        aborted.push(abortBeforeDeadline().abortSignal?.aborted);
      };
      return unverified();
    });

    await expect(failed).rejects.toThrow('no verdict');
    expect(aborted).toEqual([false]);
  });
});

describe('a reset', () => {
  const resets = { pk: `ATTEMPTS#${hmac('2001:db8:1:2')}`, sk: `RESETS#${WINDOW}` };
  const site = { pk: `ATTEMPTS#${hmac('2001:db8:1')}`, sk: `RESETS#${WINDOW}` };
  const ofHome = { pk: `ATTEMPTS#${hmac('203.0.113.7')}`, sk: `RESETS#${WINDOW}` };
  const address = '2001:db8:1:2:3::4';

  it('has a count of its own, apart from the login attempts of its source', async () => {
    const { table, throttle } = await opened();

    await countReset(throttle, from(address));

    expect(table.reads).toEqual([[resets, site]]);
    expect(table.transactions).toEqual([]);
    expect(table.updates).toMatchObject(
      [resets, site].map((key) => ({ key, values: { ':failures': 0, ':requests': 1 } })),
    );
  });

  it('of any address is rejected when its /48 has sent ten times what a /64 may', async () => {
    const full = (requests: number) => ({ ...site, n: 0, requests });
    const [below, above] = [await opened(full(999)), await opened(full(1000))];

    await countReset(below.throttle, from(address));
    const rejected = countReset(above.throttle, from('2001:db8:1:ffff::1'));

    await expect(rejected).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 900 });
    expect(above.table.updates).toEqual([]);
  });

  it('reads its count together with the items of other keys', async () => {
    const key = { pk: 'RESET#x', sk: 'RESET' };
    const item = { ...key, userId: 7 };
    const table = recordingTable({ ...resets, n: 0, requests: 5 }, item);
    const { throttle } = await throttleOn(table);

    const { items } = await throttle.beginReset(from(address), [key]);

    expect([items, table.reads, table.updates]).toEqual([[item], [[resets, site, key]], []]);
  });

  it('is counted in the window of its arrival, and waits until that ends', async () => {
    const late = { address: '203.0.113.7', arrivedAt: NOW - 1 };
    const full = { ...ofHome, sk: `RESETS#${WINDOW - 1}`, n: 0, requests: 100 };
    const { table, throttle } = await opened(full);

    await countReset(throttle);
    const rejected = countReset(throttle, late);

    await expect(rejected).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 1 });
    expect(table.updates.map(({ key }) => key)).toEqual([ofHome]);
  });
});

const SETTINGS = ['FAILURES_PER_SOURCE', 'PEPPER_KEYS'];
it.each(SETTINGS)('openLoginThrottle throws without %s', (name) => {
  for (const each of SETTINGS) vi.stubEnv(each, '1');
  vi.stubEnv(name, '');

  expect(() => openLoginThrottle(recordingTable())).toThrow(
    `The environment variable ${name} is not set`,
  );
});
