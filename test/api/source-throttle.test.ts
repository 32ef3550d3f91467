import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { untilEarlyInWindow } from '../support/doubles/time.ts';
import { statusAndWait, statuses, useAttempts } from '../support/instance/attempts.ts';
import type { Received } from '../support/instance/launch.ts';
import { RELEASE } from '../support/instance/run-variables.ts';

/* What one IP address may do, over all logins. */

const {
  changePassword,
  deleteCounts,
  finishReset,
  gatehouse,
  hashes,
  logIn,
  rewrite,
  tryWrongPassword,
  watched,
} = await useAttempts();

const requestReset = (from: string, email = 'nobody@example.com') =>
  gatehouse.call('POST', '/api/account/reset-password/init', { body: { email }, from });

describe('a source over its limit', () => {
  beforeAll(async () => {
    await deleteCounts();
    await gatehouse.makeCaller('limited');
  });
  beforeEach(untilEarlyInWindow);
  const LIMIT = 10_000;
  const BLOCKED = '127.0.20.1';

  it('is rejected for every login, whatever its headers claim; other sources are not', async () => {
    await rewrite(/SOURCE/, () => ({ n: 0 }));
    await tryWrongPassword('anyone', { from: BLOCKED });
    await rewrite(/SOURCE/, ({ n }) => (n === 1 ? { n: LIMIT - 1 } : {}));
    const last = await tryWrongPassword('one-more', { from: BLOCKED });
    watched.calls = [];

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
    watched.delayed = { operation: 'UpdateItem', ms: 300 };

    const logins = Array.from({ length: 8 }, (_, n) => `keen-${n}`);
    const responses = await Promise.all(
      logins.map((login) => tryWrongPassword(login, { from: KEEN })),
    ).finally(() => {
      watched.delayed = undefined;
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
    [
      'keys of addresses',
      /RESETS/,
      (from) => gatehouse.call('POST', '/api/account/confirm-email', { body: { key: 'k' }, from }),
    ],
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
      watched.calls = [];

      for (let n = 0; n < 4; n++) rejected.push(await send(BUSY));
      const callsOfRejected = new Set(watched.calls);
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
});

it.skipIf(RELEASE)('a request for a reset makes the same calls for every address', async () => {
  await gatehouse.makeUser('known');
  await gatehouse.makeUser('asleep', { activated: false });

  const calls = [];
  for (const name of ['nobody', 'nobody', 'known', 'asleep']) {
    watched.calls = [];
    await requestReset('127.0.26.1', `${name}@example.com`);
    calls.push(watched.calls);
  }

  // The first one may start its function.
  for (const made of calls.slice(1))
    expect(made).toEqual(['BatchGetItem', 'UpdateItem', 'TransactWriteItems']);
});
