import { beforeAll, describe, expect, it } from 'vitest';
import { untilEarlyInWindow } from '../support/doubles/time.ts';
import {
  AWAY,
  HOME,
  lastFailedAgo,
  NEIGHBOUR,
  statusAndWait,
  statuses,
  useAttempts,
} from '../support/instance/attempts.ts';

/* How long attempts at a login wait, and what they reveal and cost. */

const {
  addFailures,
  changePassword,
  deleteCounts,
  finishReset,
  gatehouse,
  hashes,
  logIn,
  rewrite,
  stored,
  tryWrongPassword,
  watched,
} = await useAttempts();

const deactivate = async (user: object) =>
  gatehouse.call('PUT', '/api/users', {
    token: await gatehouse.adminToken(),
    body: { ...user, activated: false },
  });

describe('login attempts at one account', () => {
  beforeAll(async () => {
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

  it('compute no more hashes than the waits allow when they are concurrent', async () => {
    watched.calls = [];
    const started = Date.now();

    const responses = statuses(
      await Promise.all(Array.from({ length: 40 }, () => tryWrongPassword('fast', { from: AWAY }))),
    );

    const computed = hashes();
    // Waits that end meanwhile allow more.
    const allowed = 10 + Math.floor(Math.log2(1 + (Date.now() - started) / 1000));
    expect(computed).toBeGreaterThanOrEqual(10);
    expect(computed).toBeLessThanOrEqual(allowed);
    expect(responses.filter((status) => status === 401)).toHaveLength(computed);
    expect(responses.filter((status) => status === 429)).toHaveLength(40 - computed);
  });
});

it('the right password is not delayed in a known network by failures elsewhere', async () => {
  await deleteCounts();
  await gatehouse.makeUser('boss');
  await gatehouse.logIn('boss');
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
    watched.calls = [];

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
    watched.calls = [];

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
    await untilEarlyInWindow();
    for (const [login, password] of credentials) {
      const responses: unknown[] = [];
      for (let n = 0; n < 4; n++) {
        if (n === 1) await rewrite(/ELSEWHERE/, () => ({ n: 9 }));
        if (n >= 2) await lastFailedAgo(gatehouse, -60);
        watched.calls = [];
        const { status, body, headers } = await logIn(login, password, { from: AWAY });
        expect(headers).not.toHaveProperty('authorization');
        // Some calls are concurrent.
        responses.push([status, headers['www-authenticate'], body, watched.calls.toSorted()]);
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
