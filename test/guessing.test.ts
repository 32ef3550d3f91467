import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openFaults, type Rule } from '../infra/local/aws/faults.ts';
import type { Interceptor } from '../infra/local/calls/aws-call.ts';
import type { Item } from '../lib/table/table.ts';
import { put, remove } from '../lib/table/write.ts';
import { type Gatehouse, type Received, startGatehouse, useGatehouse } from './support/gatehouse.ts';
import { itemsOf } from './support/items.ts';
import { LONG } from './support/long.ts';
import { type Mutation, mutant } from './support/mutant.ts';

/* Every network 127.0.n is another source on the loopback device; whoever says nothing comes from HOME. */

const HOME = '127.0.0.1';
const NEIGHBOUR = '127.0.0.99';
const AWAY = '127.0.7.1';

const faults = openFaults();
let calls: string[] = [];
let onlyForgiving = false;
let delayUpdates = 0;
let beforeForgiving: (() => Promise<void>) | undefined;

/** A password's hash is the one thing of 32 bytes that a MAC is made of. */
const isHash = (operation: string, input: Record<string, unknown>): boolean =>
  operation === 'GenerateMac' && Buffer.from(String(input.Message), 'base64').length === 32;
const intercept: Interceptor = (call, make) => {
  const { operation, input, functionName } = call;
  if (beforeForgiving && JSON.stringify(input).includes('if_not_exists(#n')) {
    const prepare = beforeForgiving;
    beforeForgiving = undefined;
    return prepare().then(() => faults.intercept(call, make));
  }
  if (functionName && operation === 'UpdateItem' && delayUpdates > 0) {
    return wait(delayUpdates).then(() => faults.intercept(call, make));
  }
  if (functionName) calls.push(isHash(operation, input) ? 'hash' : operation);
  if (onlyForgiving && !JSON.stringify(input).includes('if_not_exists(#n')) return make();
  return faults.intercept(call, make);
};
const gatehouse = useGatehouse({ intercept });
const hashes = () => calls.filter((call) => call === 'hash').length;

afterEach(() => {
  faults.inject([]);
  onlyForgiving = false;
});

type Options = { from?: string; headers?: Record<string, string>; on?: Gatehouse };
const logIn = (username: string, password: string, { on = gatehouse, ...sent }: Options = {}) =>
  on.call('POST', '/api/authenticate', { body: { username, password }, ...sent });
const guess = (username: string, options?: Options) => logIn(username, 'wrong', options);

const stored = async () =>
  [...(await itemsOf(gatehouse.cloud)).values()].filter(({ pk }) => pk.startsWith('ATTEMPTS#'));

/** Forgets all counts: each test that rewrites them rewrites all that there are. */
async function forgetAll(): Promise<void> {
  for (const { pk, sk } of await stored()) {
    await gatehouse.table.transact([{ act: 'Delete', key: { pk, sk } }], randomUUID());
  }
}
/** Sets attributes of all counts with this kind of sort key. */
async function rewrite(sk: RegExp, change: (item: Item) => Record<string, unknown>): Promise<void> {
  for (const { pk, sk: kind, ...rest } of (await stored()).filter((item) => sk.test(item.sk))) {
    const attributes = { ...rest, ...change({ pk, sk: kind, ...rest }) };
    await gatehouse.table.transact([put({ pk, sk: kind }, attributes)], randomUUID());
  }
}
/** So many failures: one guess, and the rest by its count, since every guess costs a hash. */
async function fail(username: string, times: number, options?: Options): Promise<void> {
  const before = new Map((await stored()).map(({ pk, sk, last }) => [`${pk} ${sk}`, last]));
  expect((await guess(username, options)).status).toBe(401);
  const [counted] = (await stored()).filter(
    ({ pk, sk, last }) => sk !== 'SOURCE' && before.get(`${pk} ${sk}`) !== last,
  );
  const { pk, sk, ...attributes } = counted as Item;
  await gatehouse.table.transact(
    [put({ pk, sk }, { ...attributes, n: Number(attributes.n) + times - 1 })],
    randomUUID(),
  );
}
/** Time passes, as far as logins are concerned: the last failures were so many seconds ago. */
const lastFailure = (seconds: number) => rewrite(/NETWORK|ELSEWHERE/, () => ({ last: Date.now() - seconds * 1000 }));

const shown = ({ status, headers }: Received) => [status, headers['retry-after']];
const statuses = (answers: readonly Received[]) => answers.map(({ status }) => status);

describe('guessing at one account', () => {
  beforeAll(async () => {
    for (const login of ['target', 'patient', 'lucky', 'fast']) await gatehouse.makeUser(login);
  });

  it('costs nothing ten times, then doubles the wait each time', async () => {
    for (let n = 0; n < 10; n++) expect((await guess('target', { from: AWAY })).status).toBe(401);

    for (const wait of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
      await lastFailure(0);
      expect(shown(await guess('target', { from: AWAY })), `${wait}`).toEqual([429, String(wait)]);
      await lastFailure(wait);
      expect((await guess('target', { from: AWAY })).status, `after ${wait}`).toBe(401);
    }
  });

  it('is told as a problem', async () => {
    await lastFailure(0);

    const { body, headers } = await guess('target', { from: AWAY });

    expect(body).toEqual({
      type: 'https://www.jhipster.tech/problem/problem-with-message',
      title: 'Too Many Requests',
      status: 429,
      detail:
        'Too many wrong passwords, or too many requests from one address: try again after the seconds in Retry-After',
      path: '/api/authenticate',
      message: 'error.http.429',
    });
    expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
  });

  it('while there is a wait computes nothing, changes nothing and prolongs nothing, with the right password too', async () => {
    await fail('patient', 10, { from: AWAY });
    await lastFailure(-5);
    const before = await stored();
    calls = [];

    const answers = [await guess('patient', { from: AWAY }), await logIn('patient', 'patient', { from: AWAY })];

    expect(statuses(answers)).toEqual([429, 429]);
    expect(calls).toEqual(['BatchGetItem', 'BatchGetItem']);
    expect(await stored()).toEqual(before);
  });

  it('ends with the right password, and begins anew', async () => {
    await fail('lucky', 10, { from: AWAY });
    await lastFailure(1);
    const right = await logIn('lucky', 'lucky', { from: AWAY });

    await fail('lucky', 10, { from: AWAY });
    await lastFailure(0);

    expect(right.status).toBe(200);
    expect((await guess('lucky', { from: AWAY })).status).toBe(429);
  });

  it('many times at once computes no more hashes than waits are over', { timeout: 60_000 }, async () => {
    const { computed, allowed, answers } = await guessAtOnce(gatehouse, 'fast', 40);

    expect(computed).toBeGreaterThanOrEqual(10);
    expect(computed).toBeLessThanOrEqual(allowed);
    expect(answers.filter((status) => status === 401)).toHaveLength(computed);
    expect(answers.filter((status) => status === 429)).toHaveLength(40 - computed);
  });
});

/** So many guesses in parallel: how many hashes they cost, and how many they may cost, if it takes longer than the first waits. */
async function guessAtOnce(on: Gatehouse, login: string, times: number) {
  calls = [];
  const started = Date.now();
  const answers = statuses(await Promise.all(Array.from({ length: times }, () => guess(login, { from: AWAY, on }))));
  const seconds = (Date.now() - started) / 1000;
  return { computed: hashes(), allowed: 10 + Math.floor(Math.log2(1 + seconds)), answers };
}

describe('who knows the password', () => {
  beforeAll(async () => {
    await forgetAll();
    for (const login of ['boss', 'moved']) {
      await gatehouse.makeUser(login);
      await gatehouse.logIn(login);
    }
  });

  it('is not kept out of a network of earlier logins by whoever guesses elsewhere', async () => {
    for (let n = 0; n < 10; n++) await guess('boss', { from: n < 5 ? AWAY : '127.0.8.1' });
    await lastFailure(-5);

    const away = [AWAY, '127.0.8.1', '127.0.9.1'].map((from) => logIn('boss', 'boss', { from }));
    const home = [HOME, NEIGHBOUR].map((from) => logIn('boss', 'boss', { from }));

    expect(statuses(await Promise.all(away))).toEqual([429, 429, 429]);
    expect(statuses(await Promise.all(home))).toEqual([200, 200]);
    expect((await logIn('boss', 'boss', { from: AWAY })).status, 'a success at home frees nobody else').toBe(429);
  });

  it('waits at home for guesses at home, and nowhere else', async () => {
    await rewrite(/ELSEWHERE/, () => ({ n: 0 }));
    await fail('boss', 10, { from: NEIGHBOUR });
    await lastFailure(-5);

    const answers = [await logIn('boss', 'boss'), await logIn('boss', 'boss', { from: AWAY })];

    expect(statuses(answers)).toEqual([429, 200]);
  });

  it('is at home for 30 days', async () => {
    await fail('moved', 10, { from: AWAY });
    await lastFailure(-5);
    const known = await logIn('moved', 'moved');

    await rewrite(/NETWORK/, () => ({ expires: Math.floor(Date.now() / 1000) }));

    expect(statuses([known, await logIn('moved', 'moved')])).toEqual([200, 429]);
  });

  it('logs in where only the reset of the count fails', async () => {
    onlyForgiving = true;
    faults.inject([{ item: 'ATTEMPTS#*', fault: 'error-before' }]);

    expect((await logIn('boss', 'boss', { from: '127.0.10.1' })).status).toBe(200);
  });
});

describe('who sets a new password by a mailed key', () => {
  beforeAll(forgetAll);
  const FINISH = '/api/account/reset-password/finish';

  it.each([
    ['newcomer', async () => undefined],
    [
      'travelling',
      async () => {
        await gatehouse.makeUser('travelling');
        await gatehouse.call('POST', '/api/account/reset-password/init', { body: { email: 'travelling@example.com' } });
      },
    ],
  ])('logs in at once, whoever guesses elsewhere: %s', async (login, prepare) => {
    await prepare();
    const email = `${login}@example.com`;
    if (login === 'newcomer') {
      const token = await gatehouse.logIn('admin');
      await gatehouse.call('POST', '/api/users', { token, body: { login, email } });
    }
    await fail(login, 10, { from: AWAY });
    await lastFailure(-5);
    const before = await logIn(login, login);
    const body = { key: gatehouse.keyMailedTo(email), newPassword: 'fresh' };

    const { status } = await gatehouse.call('POST', FINISH, { body, from: HOME });
    // A waiting time for everywhere else begins anew, and is kept up by one guess after the other.
    await fail(login, 10, { from: AWAY });
    await lastFailure(-5);
    const away = await logIn(login, 'fresh', { from: AWAY });
    const home = [];
    for (let n = 0; n < 5; n++) home.push(await logIn(login, 'fresh', { from: n % 2 ? HOME : NEIGHBOUR }));

    expect([before.status, status, away.status]).toEqual([429, 200, 429]);
    expect(statuses(home)).toEqual(Array(5).fill(200));
  });

  it('by a wrong key ends no wait', async () => {
    await gatehouse.makeUser('unproved');
    await fail('unproved', 10, { from: HOME });
    await lastFailure(-5);

    const { status } = await gatehouse.call('POST', FINISH, { body: { key: 'wrong', newPassword: 'fresh' } });

    expect([status, (await logIn('unproved', 'unproved')).status]).toEqual([400, 429]);
  });
});

describe('changing a password', () => {
  beforeAll(forgetAll);
  const changePassword = (token: string, currentPassword: string, from = HOME) =>
    gatehouse.call('POST', '/api/account/change-password', {
      token,
      from,
      body: { currentPassword, newPassword: 'fresh' },
    });

  it('counts a wrong current one as a wrong login, and waits like one', async () => {
    await gatehouse.makeUser('second');
    const token = await gatehouse.logIn('second');
    const wrong = await Promise.all(Array.from({ length: 5 }, () => changePassword(token, 'wrong', AWAY)));
    await fail('second', 5, { from: AWAY });
    await lastFailure(-5);
    calls = [];

    const answers = [await changePassword(token, 'second', AWAY), await logIn('second', 'second', { from: AWAY })];

    expect(statuses(wrong)).toEqual(Array(5).fill(400));
    expect(answers.map(({ body }) => body.message)).toEqual(['error.http.429', 'error.http.429']);
    expect(answers.map(shown)).toEqual(Array(2).fill([429, expect.stringMatching(/^[56]$/)]));
    expect(hashes()).toBe(0);
    expect((await changePassword(token, 'second')).status).toBe(200);
  });

  it('begins anew with the right one', async () => {
    await gatehouse.makeUser('third');
    const token = await gatehouse.logIn('third');
    await fail('third', 9);

    expect((await changePassword(token, 'third')).status).toBe(200);

    // The tenth failure would be the first to wait for.
    expect(statuses([await guess('third'), await guess('third')])).toEqual([401, 401]);
  });

  it('counts nothing where the caller may not change anything', async () => {
    const user = await gatehouse.makeUser('fourth');
    const token = await gatehouse.logIn('fourth');
    const admin = await gatehouse.logIn('admin');
    await gatehouse.call('PUT', '/api/users', { token: admin, body: { ...user, activated: false } });
    const before = await stored();
    calls = [];

    const answers = [];
    for (let n = 0; n < 11; n++) answers.push(await changePassword(token, 'wrong'));

    expect(statuses(answers)).toEqual(Array(11).fill(403));
    expect(await stored()).toEqual(before);
    expect(hashes()).toBe(0);
  });
});

describe('guesses that cannot succeed', () => {
  beforeAll(async () => {
    await forgetAll();
    await gatehouse.makeUser('exists');
    const asleep = await gatehouse.makeUser('asleep');
    const token = await gatehouse.logIn('admin');
    await gatehouse.call('PUT', '/api/users', { token, body: { ...asleep, activated: false } });
  });

  it('look alike, before the wait and in it: of unknown, wrong, deactivated, empty and impossible', async () => {
    const tried = [
      ['exists', 'wrong'],
      ['nobody', 'wrong'],
      ['asleep', 'asleep'],
      ['asleep', 'wrong'],
      ['Exists', ''],
      ['a'.repeat(10_000), 'wrong'],
      ['\uD800', 'wrong'],
    ] as const;

    const seen = [];
    for (const [login, password] of tried) {
      const answers: unknown[] = [];
      for (let n = 0; n < 3; n++) {
        if (n === 1) await rewrite(/ELSEWHERE/, () => ({ n: 9 }));
        if (n === 2) await lastFailure(0);
        calls = [];
        const { status, body } = await logIn(login, password, { from: AWAY });
        answers.push([status, body, calls]);
      }
      seen.push(answers);
      await rewrite(/ELSEWHERE/, () => ({ n: 0 }));
    }

    const counted = ['BatchGetItem', 'TransactWriteItems', 'UpdateItem', 'GetItem', 'GetItem', 'hash'];
    expect(seen[0]?.map((answer) => (answer as unknown[])[2])).toEqual([counted, counted, ['BatchGetItem']]);
    for (const answers of seen) expect(answers).toEqual(seen[0]);
  });

  it('leave no name and no address in the table', async () => {
    await guess('somebody-famous', { from: '127.0.11.12' });

    const text = JSON.stringify(await stored());

    expect(text).toContain('ELSEWHERE');
    expect(text).not.toMatch(/somebody|127\.0/);
  });
});

describe('a source that fails too often', () => {
  beforeAll(forgetAll);
  const LIMIT = 10_000;
  const FLOOD = '127.0.20.1';

  it('waits with every name, whatever its headers say, and nobody else does', async () => {
    await rewrite(/SOURCE/, () => ({ n: 0 }));
    await guess('anyone', { from: FLOOD });
    await rewrite(/SOURCE/, ({ n }) => (n === 1 ? { n: LIMIT - 1, since: Date.now() } : {}));
    const last = await guess('one-more', { from: FLOOD });
    calls = [];

    const headers = { 'X-Forwarded-For': '203.0.113.7', Forwarded: 'for=203.0.113.7', 'X-Real-IP': '203.0.113.7' };
    const refused = [await guess('anyone', { from: FLOOD }), await logIn('admin', 'admin', { from: FLOOD, headers })];

    expect(last.status).toBe(401);
    expect(refused.map(shown)).toEqual(Array(2).fill([429, expect.stringMatching(/^(900|89\d)$/)]));
    expect(hashes()).toBe(0);
    expect((await guess('anyone', { from: '127.0.20.2' })).status).toBe(401);
  });

  it('is free again when the window is over', async () => {
    await rewrite(/SOURCE/, ({ since }) => ({ since: Number(since) - 15 * 60 * 1000 }));

    expect((await guess('anyone', { from: FLOOD })).status).toBe(401);
  });

  it('is counted from the start when an operator removes its count in the middle of a login', async () => {
    await rewrite(/SOURCE/, () => ({ n: 0 }));
    await guess('anyone', { from: FLOOD });
    await rewrite(/SOURCE/, ({ n }) => (n === 1 ? { n: -1, since: undefined, expires: undefined } : {}));

    const answers = [await guess('anyone', { from: FLOOD }), await guess('anyone', { from: FLOOD })];

    expect(statuses(answers)).toEqual([401, 401]);
  });

  it('leaves a count that expires when an operator removes it in the middle of a login', async () => {
    const KEEN = '127.0.22.1';
    await gatehouse.makeUser('keen');
    await rewrite(/SOURCE/, () => ({ n: 7 }));
    beforeForgiving = async () => {
      for (const { pk, sk, n } of await stored()) {
        const gone = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
        if (sk === 'SOURCE' && n === 1) await gatehouse.table.transact([remove({ pk, sk }, gone)], randomUUID());
      }
    };

    expect((await logIn('keen', 'keen', { from: KEEN })).status).toBe(200);

    const left = (await stored()).filter(({ sk, n }) => sk === 'SOURCE' && n !== 7);
    expect(left).toEqual([expect.objectContaining({ n: 0, since: expect.any(Number), expires: expect.any(Number) })]);
  });

  it.each([
    ['logs in', '/api/authenticate', { username: 'admin', password: 'admin' }],
    ['asks for reset keys', '/api/account/reset-password/init', { email: 'nobody@example.com' }],
    ['tries reset keys', '/api/account/reset-password/finish', { key: 'wrong', newPassword: 'fresh' }],
  ])(
    'is rejected before any hash and any call to KMS when it %s too often, and nobody else is',
    async (_, path, body) => {
      const BUSY = '127.0.23.1';
      const send = (from: string) => gatehouse.call('POST', path, { body, from });
      await rewrite(/SOURCE/, () => ({ n: 0, requests: 0 }));
      await send(BUSY);
      await rewrite(/SOURCE/, ({ requests }) => (requests === 1 ? { requests: 100_000, since: Date.now() } : {}));
      calls = [];

      const answers = [];
      for (let n = 0; n < 5; n++) answers.push(await send(BUSY));

      expect(answers.map(shown)).toEqual(Array(5).fill([429, expect.stringMatching(/^(900|89\d)$/)]));
      expect(calls.filter((call) => call !== 'BatchGetItem' && call !== 'GetItem')).toEqual([]);
      expect((await send('127.0.24.1')).status).not.toBe(429);
    },
  );

  it.each([
    ['logins', () => guess('anyone', { from: '127.0.25.1' })],
    [
      'changes of a password',
      async () => {
        const body = { currentPassword: 'wrong', newPassword: 'fresh' };
        const token = await gatehouse.logIn('boss');
        return gatehouse.call('POST', '/api/account/change-password', { token, body, from: '127.0.26.1' });
      },
    ],
    [
      'reset requests',
      () => {
        const body = { email: 'nobody@example.com' };
        return gatehouse.call('POST', '/api/account/reset-password/init', { body, from: '127.0.27.1' });
      },
    ],
    [
      'reset keys',
      () => {
        const body = { key: 'wrong', newPassword: 'fresh' };
        return gatehouse.call('POST', '/api/account/reset-password/finish', { body, from: '127.0.28.1' });
      },
    ],
  ])('is counted for each of several %s that all find no count at first', async (_, send) => {
    await rewrite(/SOURCE/, () => ({ requests: 0 }));
    // All have read before the first one writes.
    delayUpdates = 150;

    await Promise.all(Array.from({ length: 3 }, send)).finally(() => {
      delayUpdates = 0;
    });

    const requests = (await stored()).filter(({ sk }) => sk === 'SOURCE').map((item) => item.requests);
    expect(requests).toContain(3);
  });

  it('is known by its failures, not by its successes', async () => {
    const FRESH = '127.0.21.1';
    const failures = async () => (await stored()).filter(({ sk }) => sk === 'SOURCE').map(({ n }) => n);
    await rewrite(/SOURCE/, () => ({ n: 0 }));

    for (let n = 0; n < 3; n++) await logIn('admin', 'admin', { from: FRESH });
    const afterSuccesses = await failures();
    await guess('admin', { from: FRESH });

    expect(afterSuccesses.filter((n) => n !== 0)).toEqual([]);
    expect((await failures()).filter((n) => n !== 0)).toEqual([1]);
  });
});

/** Each of these takes the five seconds for which a change is tried. */
const UNTIL_IT_GIVES_UP: [string, Rule][] = [
  ['the counts are always busy', { operation: 'TransactWriteItems', item: 'ATTEMPTS#*', fault: 'conflict' }],
  ['the count of the source is always busy', { operation: 'UpdateItem', item: 'ATTEMPTS#*', fault: 'conflict' }],
  ['nobody knows whether it was counted', { operation: 'TransactWriteItems', item: 'ATTEMPTS#*', fault: 'lost' }],
];

describe('a guess that cannot be counted', () => {
  beforeAll(forgetAll);
  it.each<[string, Rule]>([
    ['the counts cannot be read', { operation: 'BatchGetItem', fault: 'error-before' }],
    ['the counts cannot be written', { operation: 'TransactWriteItems', item: 'ATTEMPTS#*', fault: 'reset' }],
    ['the count of the source cannot be written', { operation: 'UpdateItem', item: 'ATTEMPTS#*', fault: 'reset' }],
    ['its name cannot be hidden', { service: 'KMS', fault: 'throttle' }],
    ...(LONG ? UNTIL_IT_GIVES_UP : []),
  ])('is not made: %s', { timeout: 20_000 }, async (_, rule) => {
    // What hides names is derived once for an instance.
    if (rule.service === 'KMS') gatehouse.cloud.recycle();
    faults.inject([{ ...rule, function: 'POST /api/authenticate' }]);
    calls = [];

    const { status, headers, body } = await logIn('admin', 'admin');

    expect([status, headers['retry-after'], body.message]).toEqual([503, '1', 'error.http.503']);
    expect(hashes()).toBe(0);
  });
});

if (LONG) {
  describe('a mutant', () => {
    const reserving = 'reservation(keys, counts, { now: Date.now(), arrivedAt, ...limits })';
    const counting = reserving.replace('arrivedAt', 'arrivedAt: Infinity');

    it.each<[string, Mutation[]]>([
      [
        'checks first and counts afterwards',
        [
          { file: 'lib/accounts/login-throttle.ts', from: reserving, to: `({ ...${reserving}, writes: [] })` },
          {
            file: 'lib/accounts/login-throttle.ts',
            from: 'async forgive() {',
            to: `count: () => change(table, () => load(keys), (counts) => ${counting}), async forgive() {`,
          },
          {
            file: 'lib/accounts/log-in.ts',
            from: 'if (!user?.passwordHash || !matches',
            to: 'if (!matches) await attempt.count();\n  if (!user?.passwordHash || !matches',
          },
        ],
      ],
      [
        'counts whatever was counted meanwhile',
        [
          {
            file: 'lib/accounts/login-throttle-rules.ts',
            from: 'asRead(elsewhere)',
            to: "{ condition: 'attribute_exists(pk) OR attribute_not_exists(pk)', onConditionFailed: 'retry' }",
          },
        ],
      ],
    ])('that %s computes more hashes in the same time', { timeout: 60_000 }, async (_, mutations) => {
      const { assembly, remove } = await mutant(mutations);
      try {
        const broken = await startGatehouse({ assembly, intercept });
        const { computed, allowed } = await guessAtOnce(broken, 'admin', 100).finally(broken.stop);

        expect(computed).toBeGreaterThan(allowed);
      } finally {
        remove();
      }
    });
  });
}
