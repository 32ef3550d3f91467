import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openFaults, type Rule } from '../../infra/local/aws/faults.ts';
import type { Interceptor } from '../../infra/local/calls/aws-call.ts';
import type { Item } from '../../lib/table/table.ts';
import { put, type Write } from '../../lib/table/write.ts';
import {
  type Gatehouse,
  type Received,
  startGatehouse,
  useGatehouse,
} from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';
import { lastFailedAgo } from '../support/instance/last-failures.ts';
import { LONG } from '../support/instance/long.ts';
import { RELEASE } from '../support/release/mixed-versions.ts';
import { buildMutantStack } from '../support/stack/mutant-stack.ts';
import { stackMutants } from '../support/stack/mutants.ts';

/*
 * Each 127.0.n is a separate network on the loopback interface; requests come from HOME unless
 * `from` is set.
 */

const HOME = '127.0.0.1';
const NEIGHBOUR = '127.0.0.99';
const AWAY = '127.0.7.1';

const faults = openFaults();
let calls: string[] = [];
/**
 * Selects the calls that faults apply to, by their operation and the JSON text of their input; all
 * unless given.
 */
let isFaulty: ((operation: string, input: string) => boolean) | undefined;
let delayed: { readonly operation: string; readonly ms: number } | undefined;

/** Only password hashing requests a MAC of exactly 32 bytes. */
const isHash = (operation: string, input: Record<string, unknown>): boolean =>
  operation === 'GenerateMac' && Buffer.from(String(input.Message), 'base64').length === 32;
const intercept: Interceptor = (call, forward) => {
  const { operation, input, functionName } = call;
  if (functionName && operation === delayed?.operation) {
    return wait(delayed.ms).then(() => faults.intercept(call, forward));
  }
  // The functions of routes only: mails are sent in the background.
  if (functionName?.includes(' /')) calls.push(isHash(operation, input) ? 'hash' : operation);
  if (isFaulty && !isFaulty(operation, JSON.stringify(input))) return forward();
  return faults.intercept(call, forward);
};
const gatehouse = await useGatehouse({ intercept });
const hashes = () => calls.filter((call) => call === 'hash').length;

afterEach(() => {
  faults.inject([]);
  isFaulty = undefined;
});

type Options = { from?: string; headers?: Record<string, string>; mayCrash?: true; on?: Gatehouse };
const logIn = (username: string, password: string, { on = gatehouse, ...sent }: Options = {}) =>
  on.call('POST', '/api/authenticate', { body: { username, password }, ...sent });
const tryWrongPassword = (username: string, options?: Options) => logIn(username, 'wrong', options);

const stored = async () =>
  [...(await itemsOf(gatehouse.cloud)).values()].filter(({ pk }) => pk.startsWith('ATTEMPTS#'));

async function transact(writes: readonly Write[]): Promise<void> {
  if (writes.length > 0) await gatehouse.table.transact(writes, randomUUID());
}
const attributesOf = ({ pk: _pk, sk: _sk, ...attributes }: Item) => attributes;

/** Deletes all counts, because `rewrite` changes every stored count of a kind. */
async function deleteCounts(): Promise<void> {
  await transact((await stored()).map(({ pk, sk }) => ({ act: 'Delete', key: { pk, sk } })));
}
/** Changes attributes of all counts whose sort key matches. */
async function rewrite(sk: RegExp, change: (item: Item) => Record<string, unknown>): Promise<void> {
  const items = (await stored()).filter((item) => sk.test(item.sk));
  await transact(
    items.map((item) =>
      put({ pk: item.pk, sk: item.sk }, { ...attributesOf(item), ...change(item) }),
    ),
  );
}
/**
 * Makes one failed attempt and adds the others to its count, because each attempt would cost a
 * hash.
 */
async function addFailures(username: string, times: number, options?: Options): Promise<void> {
  const before = new Map((await stored()).map(({ pk, sk, last }) => [`${pk} ${sk}`, last]));
  expect((await tryWrongPassword(username, options)).status).toBe(401);
  const [counted] = (await stored()).filter(
    ({ pk, sk, last }) => !sk.startsWith('SOURCE') && before.get(`${pk} ${sk}`) !== last,
  );
  const { pk, sk, ...attributes } = counted as Item;
  await transact([put({ pk, sk }, { ...attributes, n: Number(attributes.n) + times - 1 })]);
}
/** The failures of the sources that have any. */
const failuresOfSources = async () =>
  (await stored()).filter(({ sk, n }) => sk.startsWith('SOURCE') && n !== 0).map(({ n }) => n);
const statusAndWait = ({ status, headers }: Received) => [status, headers['retry-after']];
const changePassword = (token: string, currentPassword: string, from = HOME) =>
  gatehouse.call('POST', '/api/account/change-password', {
    token,
    from,
    body: { currentPassword, newPassword: currentPassword },
    mayCrash: true,
  });
const deactivate = async (user: object) =>
  gatehouse.call('PUT', '/api/users', {
    token: await gatehouse.adminToken(),
    body: { ...user, activated: false },
  });
const requestReset = (from: string) =>
  gatehouse.call('POST', '/api/account/reset-password/init', {
    body: { email: 'nobody@example.com' },
    from,
  });
const finishReset = (from: string, key = 'wrong') =>
  gatehouse.call('POST', '/api/account/reset-password/finish', {
    body: { key, newPassword: 'fresh' },
    from,
  });
const statuses = (responses: readonly Received[]) => responses.map(({ status }) => status);

describe('login attempts at one account', () => {
  beforeAll(async () => {
    await gatehouse.makeUser('lucky');
    for (const login of ['target', 'fast'])
      await gatehouse.makeUser(login, { password: undefined });
  });

  it('are free ten times, then wait longer each time', async () => {
    for (let n = 0; n < 10; n++)
      expect((await tryWrongPassword('target', { from: AWAY })).status).toBe(401);

    for (const wait of [1, 2, 4]) {
      const began = Date.now();
      await lastFailedAgo(gatehouse, -60);
      const [status, retryAfter] = statusAndWait(await tryWrongPassword('target', { from: AWAY }));
      const passed = Math.floor((Date.now() - began) / 1000);
      expect(status).toBe(429);
      expect(Number(retryAfter)).toBeLessThanOrEqual(60 + wait);
      expect(Number(retryAfter)).toBeGreaterThanOrEqual(60 + wait - passed);
      await lastFailedAgo(gatehouse, wait);
      expect((await tryWrongPassword('target', { from: AWAY })).status, `after ${wait}`).toBe(401);
    }
  });

  it('start again from zero after a successful login', async () => {
    await addFailures('lucky', 10, { from: AWAY });
    await lastFailedAgo(gatehouse, 1);
    const right = await logIn('lucky', 'lucky', { from: AWAY });

    await addFailures('lucky', 10, { from: AWAY });
    await lastFailedAgo(gatehouse, -60);

    expect(right.status).toBe(200);
    expect((await tryWrongPassword('lucky', { from: AWAY })).status).toBe(429);
  });

  it('compute no more hashes than the waits allow when they are concurrent', async () => {
    const { computed, allowed, responses } = await attemptConcurrently(gatehouse, 'fast', 40);

    expect(computed).toBeGreaterThanOrEqual(10);
    expect(computed).toBeLessThanOrEqual(allowed);
    expect(responses.filter((status) => status === 401)).toHaveLength(computed);
    expect(responses.filter((status) => status === 429)).toHaveLength(40 - computed);
  });
});

/**
 * Makes parallel attempts; `allowed` is how many may compute a hash, given the waits that end
 * meanwhile.
 */
async function attemptConcurrently(on: Gatehouse, login: string, times: number) {
  calls = [];
  const started = Date.now();
  const responses = statuses(
    await Promise.all(
      Array.from({ length: times }, () => tryWrongPassword(login, { from: AWAY, on })),
    ),
  );
  const seconds = (Date.now() - started) / 1000;
  return { computed: hashes(), allowed: 10 + Math.floor(Math.log2(1 + seconds)), responses };
}

describe('a user with the correct password', () => {
  beforeAll(async () => {
    await deleteCounts();
    await gatehouse.makeUser('boss');
    await gatehouse.logIn('boss');
  });

  it('is not delayed in a known network by failures elsewhere', async () => {
    for (const from of [AWAY, '127.0.8.1']) await addFailures('boss', 5, { from });
    await lastFailedAgo(gatehouse, -5);

    const away = [AWAY, '127.0.8.1', '127.0.9.1'].map((from) => logIn('boss', 'boss', { from }));
    const home = [HOME, NEIGHBOUR].map((from) => logIn('boss', 'boss', { from }));

    expect(statuses(await Promise.all(away))).toEqual([429, 429, 429]);
    expect(statuses(await Promise.all(home))).toEqual([200, 200]);
    expect(
      (await logIn('boss', 'boss', { from: AWAY })).status,
      'a success at HOME clears only its own network',
    ).toBe(429);
  });
});

it('a mailed reset key ends the wait of its user, whatever happens elsewhere', async () => {
  await deleteCounts();
  await gatehouse.makeUser('newcomer', { password: undefined });
  await addFailures('newcomer', 10, { from: AWAY });
  await lastFailedAgo(gatehouse, -5);
  const before = await logIn('newcomer', 'newcomer');
  const wrongKey = await finishReset(HOME);
  const still = await logIn('newcomer', 'newcomer');

  const finished = await finishReset(HOME, await gatehouse.keyMailedTo('newcomer@example.com'));
  // Failures elsewhere start another wait there, which must not affect HOME.
  await addFailures('newcomer', 10, { from: AWAY });
  await lastFailedAgo(gatehouse, -5);
  const away = await logIn('newcomer', 'fresh', { from: AWAY });
  const home = [];
  for (let n = 0; n < 5; n++)
    home.push(await logIn('newcomer', 'fresh', { from: n % 2 ? HOME : NEIGHBOUR }));

  expect(statuses([before, wrongKey, still])).toEqual([429, 400, 429]);
  expect(statuses([finished, away])).toEqual([200, 429]);
  expect(statuses(home)).toEqual(Array(5).fill(200));
});

describe('a password change', () => {
  beforeAll(deleteCounts);
  it('counts a wrong current password as a failed login, and waits like one', async () => {
    await gatehouse.makeUser('second');
    const token = await gatehouse.logIn('second');
    const wrong = await Promise.all(
      Array.from({ length: 5 }, () => changePassword(token, 'wrong', AWAY)),
    );
    await addFailures('second', 5, { from: AWAY });
    await lastFailedAgo(gatehouse, -5);
    calls = [];

    const responses = [
      await changePassword(token, 'second', AWAY),
      await logIn('second', 'second', { from: AWAY }),
    ];

    expect(statuses(wrong)).toEqual(Array(5).fill(400));
    expect(responses.map(statusAndWait)).toEqual(
      Array(2).fill([429, expect.stringMatching(/^[56]$/)]),
    );
    expect(hashes()).toBe(0);
    expect((await changePassword(token, 'second')).status).toBe(200);
  });

  it('counts nothing for a caller that is rejected with 401', async () => {
    const { user, token } = await gatehouse.makeCaller('fourth');
    await deactivate(user);
    const before = await stored();
    calls = [];

    const responses = [];
    for (let n = 0; n < 11; n++) responses.push(await changePassword(token, 'wrong'));

    expect(statuses(responses)).toEqual(Array(11).fill(401));
    expect(await stored()).toEqual(before);
    expect(hashes()).toBe(0);
  });
});

describe('login attempts that cannot succeed', () => {
  beforeAll(async () => {
    await deleteCounts();
    await gatehouse.makeUser('exists', { password: 'a\uFFFDbcd' });
    await gatehouse.makeUser('invited', { password: undefined });
    await deactivate(await gatehouse.makeUser('asleep'));
  });

  it('are indistinguishable before and during the wait, whatever the reason', async () => {
    const credentials = [
      ['exists', 'wrong'],
      ['exists', ''],
      ['exists', 'x'.repeat(10_000)],
      // UTF-8 would encode the lone surrogate as U+FFFD.
      ['exists', 'a\uD800bcd'],
      ['Exists', 'a\uFFFDbcd'],
      ['exists ', 'a\uFFFDbcd'],
      ['exists@example.com', 'a\uFFFDbcd'],
      ['invited', ''],
      ['nobody', 'wrong'],
      ['asleep', 'asleep'],
      ['asleep', 'wrong'],
      ['a'.repeat(10_000), 'wrong'],
      ['__proto__/\u0000\uD800', 'wrong'],
    ] as const;

    const seen = [];
    for (const [login, password] of credentials) {
      const responses: unknown[] = [];
      for (let n = 0; n < 4; n++) {
        if (n === 1) await rewrite(/ELSEWHERE/, () => ({ n: 9 }));
        if (n >= 2) await lastFailedAgo(gatehouse, 0);
        calls = [];
        const { status, body, headers } = await logIn(login, password, { from: AWAY });
        expect(headers).not.toHaveProperty('authorization');
        // Some calls are concurrent.
        responses.push([status, headers['www-authenticate'], body, calls.toSorted()]);
      }
      seen.push(responses);
      await rewrite(/ELSEWHERE/, () => ({ n: 0, rejected: undefined, audited: undefined }));
    }

    const counted = [
      'BatchGetItem',
      'GetItem',
      'TransactWriteItems',
      'UpdateItem',
      'UpdateItem',
      'hash',
    ];
    // The first failure in a network and hour is audited.
    const audited = [...counted, 'TransactWriteItems'].sort();
    const rejected = [429, undefined, expect.objectContaining({ message: 'error.http.429' })];
    const unauthorized = [401, 'Bearer', expect.objectContaining({ detail: 'Bad credentials' })];
    expect(seen[0]).toEqual([
      [...unauthorized, audited],
      [...unauthorized, counted],
      // The first rejection is audited.
      [...rejected, ['BatchGetItem', 'TransactWriteItems']],
      [...rejected, ['BatchGetItem']],
    ]);
    for (const responses of seen) expect(responses).toEqual(seen[0]);
  });

  it('store neither the login nor the address', async () => {
    await tryWrongPassword('somebody-famous', { from: '127.0.11.12' });

    const text = JSON.stringify(await stored());

    expect(text).toContain('ELSEWHERE');
    expect(text).not.toMatch(/somebody|127\.0/);
  });
});

describe('a source over its limit', () => {
  beforeAll(async () => {
    await deleteCounts();
    await gatehouse.makeCaller('limited');
  });
  // No window may end during a test.
  beforeEach(async () => {
    const leftMs = 900_000 - (Date.now() % 900_000);
    if (leftMs < 15_000) await wait(leftMs);
  }, 30_000);
  const LIMIT = 10_000;
  const BLOCKED = '127.0.20.1';

  it('is rejected for every login, whatever its headers claim; other sources are not', async () => {
    await rewrite(/SOURCE/, () => ({ n: 0 }));
    await tryWrongPassword('anyone', { from: BLOCKED });
    await rewrite(/SOURCE/, ({ n }) => (n === 1 ? { n: LIMIT - 1 } : {}));
    const last = await tryWrongPassword('one-more', { from: BLOCKED });
    calls = [];

    const headers = {
      'X-Forwarded-For': '203.0.113.7',
      Forwarded: 'for=203.0.113.7',
      'X-Real-IP': '203.0.113.7',
      // Without an edge, its headers mean nothing.
      'Gatehouse-Client-Address': '203.0.113.7',
      'Gatehouse-Edge-Secret': 'anything',
    };
    const rejected = [
      await tryWrongPassword('anyone', { from: BLOCKED }),
      await logIn('admin', 'admin', { from: BLOCKED, headers }),
    ];

    expect(last.status).toBe(401);
    expect(rejected.map(statusAndWait)).toEqual(
      Array(2).fill([429, expect.stringMatching(/^\d{1,3}$/)]),
    );
    expect(hashes()).toBe(0);
    expect((await tryWrongPassword('anyone', { from: '127.0.20.2' })).status).toBe(401);
  });

  it('reveals no more wrong passwords than its limit allows when tried concurrently', async () => {
    const KEEN = '127.0.22.1';
    await deleteCounts();
    await tryWrongPassword('anyone', { from: KEEN });
    await rewrite(/SOURCE/, () => ({ n: LIMIT - 3 }));
    // Lets all of them pass the limit before the first one is counted as a failure.
    delayed = { operation: 'UpdateItem', ms: 300 };

    const logins = Array.from({ length: 8 }, (_, n) => `keen-${n}`);
    const responses = await Promise.all(
      logins.map((login) => tryWrongPassword(login, { from: KEEN })),
    ).finally(() => {
      delayed = undefined;
    });

    expect(statuses(responses).sort()).toEqual([401, 401, 401, 429, 429, 429, 429, 429]);
  });

  /** The requests that are counted against a source: by the count that they use. */
  const COUNTED: [title: string, count: RegExp, send: (from: string) => Promise<Received>][] = [
    ['logins', /SOURCE/, (from) => logIn('admin', 'admin', { from })],
    [
      'changes of a password',
      /SOURCE/,
      async (from) => changePassword(await gatehouse.tokenOf('limited'), 'wrong', from),
    ],
    ['reset requests', /RESETS/, requestReset],
    ['reset keys', /RESETS/, finishReset],
  ];
  const requestsOf = { SOURCE: 100_000, RESETS: 10_000 };

  it.each(COUNTED)(
    'is rejected before any hash or KMS call after too many %s, while others are not',
    async (_, count, send) => {
      const BUSY = '127.0.23.1';
      await deleteCounts();
      // These begin both counts of the source.
      await tryWrongPassword('anyone', { from: BUSY });
      await finishReset(BUSY);
      await rewrite(count, ({ sk }) => ({
        requests: requestsOf[sk.split('#')[0] as keyof typeof requestsOf],
      }));
      // Includes the cold start of the function, which calls KMS.
      const rejected = [await send(BUSY)];
      calls = [];

      for (let n = 0; n < 4; n++) rejected.push(await send(BUSY));
      const callsOfRejected = new Set(calls);
      const ofOtherCount = count.test('SOURCE')
        ? await finishReset(BUSY)
        : await logIn('admin', 'admin', { from: BUSY });

      expect(rejected.map(statusAndWait)).toEqual(
        Array(5).fill([429, expect.stringMatching(/^\d{1,3}$/)]),
      );
      // A cold start of the other version derives a key.
      if (!RELEASE)
        expect([...callsOfRejected].filter((call) => !/^(Batch)?GetItem$/.test(call))).toEqual([]);
      expect(statuses([await send('127.0.24.1'), ofOtherCount])).not.toContain(429);
    },
  );

  it.each(COUNTED)(
    'is counted for each of several concurrent %s that all find no count',
    async (_, count, send) => {
      await deleteCounts();
      // Lets all of them read before the first one writes.
      delayed = { operation: 'UpdateItem', ms: 150 };

      await Promise.all(Array.from({ length: 3 }, () => send('127.0.25.1'))).finally(() => {
        delayed = undefined;
      });

      const counts = (await stored()).filter(({ sk }) => count.test(sk));
      expect(counts.map(({ requests }) => requests)).toEqual([3]);
    },
  );
});

describe('concurrent logins with the correct password', () => {
  it('do not count as failures of their source, even if some must wait', async () => {
    await deleteCounts();
    await gatehouse.makeUser('crowd');
    // With one more failure, which every attempt is until its password is verified, the others must
    // wait.
    await addFailures('crowd', 9, { from: AWAY });
    await rewrite(/SOURCE/, () => ({ n: 0 }));

    // Lets several of them read before the first one writes.
    delayed = { operation: 'TransactWriteItems', ms: 500 };
    const logInAway = () => logIn('crowd', 'crowd', { from: AWAY });
    const responses = await Promise.all(Array.from({ length: 5 }, logInAway)).finally(() => {
      delayed = undefined;
    });

    expect(new Set(statuses(responses))).toEqual(new Set([200, 429]));
    expect(await failuresOfSources()).toEqual([]);
  });
});

describe('the right password', () => {
  const isTransactionOn = (key: string) => (operation: string, input: string) =>
    operation === 'TransactWriteItems' && input.includes(key);

  type Case = [title: string, fault: Omit<Rule, 'function'>, isFaultyHere?: typeof isFaulty];
  const TRANSACTIONS = { operation: 'TransactWriteItems' };
  const UPDATES = { operation: 'UpdateItem' };
  const EITHER: Case[] = [
    ['the table is unavailable', { service: 'DynamoDB', fault: 'error-before' }],
    ['transactions are refused', { ...TRANSACTIONS, fault: 'error-before' }],
    ['the outcome of transactions is unknown', { ...TRANSACTIONS, fault: 'lost' }],
    ['updates are refused', { ...UPDATES, fault: 'error-before' }],
    ['the outcome of updates is unknown', { ...UPDATES, fault: 'lost' }],
    ['no password can be verified', { operation: 'GenerateMac', fault: 'error-before' }],
    ['its failures cannot be cleared', { fault: 'error-before' }, isTransactionOn('NETWORK#')],
  ];
  const LOGIN_ONLY: Case[] = [
    ['no token can be signed', { operation: 'Sign', fault: 'error-before' }],
  ];
  const CHANGE_ONLY: Case[] = [
    ['the change cannot be committed', { fault: 'error-before' }, isTransactionOn('"USER"')],
    ['the outcome of the change is unknown', { fault: 'lost' }, isTransactionOn('"USER"')],
  ];
  if (LONG) {
    EITHER.push(['transactions are throttled', { ...TRANSACTIONS, fault: 'throttle' }]);
    CHANGE_ONLY.push(['the user is always busy', { fault: 'conflict' }, isTransactionOn('"USER"')]);
  }
  const casesOf = (route: string, rows: Case[]) =>
    rows.map(([title, rule, isFaultyHere]) => ({ route, title, rule, isFaultyHere }));
  const LOG_IN = 'POST /api/authenticate';
  const cases = [
    ...casesOf(LOG_IN, [...EITHER, ...LOGIN_ONLY]),
    ...casesOf('POST /api/account/change-password', [...EITHER, ...CHANGE_ONLY]),
  ];

  it.each(cases)('never leads to a wait: $route, $title', async ({ route, rule, isFaultyHere }) => {
    const login = `right-${randomUUID().slice(0, 8)}`;
    await gatehouse.makeUser(login);
    const token = await gatehouse.tokenOf(login);
    await deleteCounts();
    isFaulty = isFaultyHere;
    faults.inject([{ ...rule, function: route }]);

    const during: Received[] = [];
    for (let n = 0; n < 15; n++) {
      during.push(
        route === LOG_IN
          ? await logIn(login, login, { from: AWAY, mayCrash: true })
          : await changePassword(token, login, AWAY),
      );
    }
    faults.inject([]);

    expect(statuses(during)).not.toContain(429);
    expect(await failuresOfSources()).toEqual([]);
    expect((await logIn(login, login, { from: AWAY })).status).toBe(200);
  });
});

describe('a login attempt that cannot be counted', () => {
  beforeAll(deleteCounts);
  const item = 'ATTEMPTS#*';
  const [TRANSACTIONS, UPDATES] = ['TransactWriteItems', 'UpdateItem'];
  const CASES: [string, Rule][] = [
    ['the counts cannot be read', { operation: 'BatchGetItem', fault: 'error-before' }],
    ['the counts cannot be written', { operation: TRANSACTIONS, item, fault: 'reset' }],
    ['the count of the source cannot be written', { operation: UPDATES, item, fault: 'reset' }],
    ['the key that hides its login is unavailable', { service: 'KMS', fault: 'throttle' }],
  ];
  // Each of these takes the five seconds after which a change gives up.
  if (LONG)
    CASES.push(
      ['the counts are always busy', { operation: TRANSACTIONS, item, fault: 'conflict' }],
      ['the count of the source is always busy', { operation: UPDATES, item, fault: 'conflict' }],
      ['it is unknown whether it was counted', { operation: TRANSACTIONS, item, fault: 'lost' }],
    );

  // The functions of a release cannot be restarted.
  it.skipIf(RELEASE).each(CASES)(
    'is rejected with 503 and computes no hash: %s',
    async (_, rule) => {
      // The key that hides logins is derived once per function instance.
      if (rule.service === 'KMS') gatehouse.cloud.recycle();
      faults.inject([{ ...rule, function: 'POST /api/authenticate' }]);
      calls = [];

      const { status, headers, body } = await logIn('admin', 'admin');

      expect([status, headers['retry-after'], body.message]).toEqual([503, '1', 'error.http.503']);
      expect(hashes()).toBe(0);
    },
  );
});

if (LONG) {
  describe('a mutant in which', () => {
    it.each([
      'the password is checked before the attempt is counted',
      'attempts are counted without checking for concurrent ones',
    ] as const)('%s computes more hashes than the waits allow', async (mutant) => {
      const { assembly, remove } = await buildMutantStack(stackMutants[mutant]);
      try {
        const broken = await startGatehouse({ assembly, intercept });
        const { computed, allowed } = await attemptConcurrently(broken, 'admin', 100).finally(
          broken.stop,
        );

        expect(computed).toBeGreaterThan(allowed);
      } finally {
        remove();
      }
    });
  });
}
