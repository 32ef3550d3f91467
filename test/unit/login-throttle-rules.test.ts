import { describe, expect, it } from 'vitest';
import {
  clearFailures,
  type Failures,
  mailboxProven,
  recordAttempt,
  requireNoWait,
  takeBackAttempt,
  waitAfter,
} from '../../lib/throttle/login-throttle-rules.ts';

/** Deliberately not a whole second. */
const NOW = Date.UTC(2030, 0, 1) + 700;
const SECOND = Math.floor(NOW / 1000);
const DAY = 86_400;
const keys = {
  network: { pk: 'ATTEMPTS#login', sk: 'NETWORK#home' },
  elsewhere: { pk: 'ATTEMPTS#login', sk: 'ELSEWHERE' },
  recovery: { pk: 'ATTEMPTS#login', sk: 'RECOVERY' },
  source: { pk: 'ATTEMPTS#address', sk: 'SOURCE' },
};
const LIMITS = { failuresPerSource: 70, requestsPerSource: 700 };

/** Decides on a login attempt as the throttle does. */
const attempt = (counts: Partial<Failures>, { arrivedAt = NOW, now = NOW } = {}) => {
  const failures = { network: undefined, elsewhere: undefined, ...counts };
  requireNoWait(failures, { now, arrivedAt }, LIMITS);
  return recordAttempt(keys, failures, { now, arrivedAt });
};
/** For how many seconds this is rejected; 0 if it is not. */
function waitOf(act: () => unknown): number {
  try {
    act();
    return 0;
  } catch (error) {
    const { code, retryAfter } = error as { code: string; retryAfter: number };
    expect(code).toBe('too-many-attempts');
    return retryAfter;
  }
}
const waitOfAttempt = (counts: Partial<Failures>, times?: Parameters<typeof attempt>[1]) =>
  waitOf(() => attempt(counts, times));
/** A stored count of failures, the last of them now unless given. */
const failures = (n: number, last = NOW, expires = SECOND + DAY) => ({ n, last, expires });
const asRead = ({ n, last }: { n: number; last: number }) => ({
  condition: '#n = :n AND #last = :last',
  names: { '#n': 'n', '#last': 'last' },
  values: { ':n': n, ':last': last },
  onConditionFailed: 'retry',
});

describe('waitAfter', () => {
  it('doubles from the tenth failure on, up to 900 seconds', () => {
    const failures = [0, 9, 10, 11, 12, 19, 20, 1000, 5000];

    expect(failures.map(waitAfter)).toEqual([0, 0, 1, 2, 4, 512, 900, 900, 900]);
  });
});

describe('a login attempt', () => {
  const earlier = failures(3, NOW - 5000, SECOND + 10);

  it.each([
    [
      'from an unknown network under the shared counter, for a day',
      {},
      { key: keys.elsewhere, isKnown: false, before: { n: 0, last: 0 }, expires: SECOND + DAY },
      { condition: 'attribute_not_exists(pk)', names: {}, values: {}, onConditionFailed: 'retry' },
    ],
    [
      'on top of the count that was read',
      { elsewhere: earlier },
      {
        key: keys.elsewhere,
        isKnown: false,
        before: { n: 3, last: NOW - 5000 },
        expires: SECOND + DAY,
      },
      asRead(earlier),
    ],
    [
      'from a known network there, without extending its expiry',
      { network: earlier, elsewhere: failures(500) },
      {
        key: keys.network,
        isKnown: true,
        before: { n: 3, last: NOW - 5000 },
        expires: SECOND + 10,
      },
      asRead(earlier),
    ],
  ])('is counted %s', (_, counts, { key, isKnown, before, expires }, condition) => {
    const counted = failures(before.n + 1, NOW, expires);

    expect(attempt(counts)).toEqual({
      writes: [{ act: 'Put', key, attributes: counted, ...condition }],
      result: { isKnown, key, failures: counted, before },
    });
  });

  it('takes back its failure and its time, unless another one has been counted since', () => {
    const { writes, result } = attempt({
      elsewhere: failures(3, NOW - 5000, SECOND + 10),
    });

    expect(takeBackAttempt(result)).toEqual({
      act: 'Put',
      key: writes[0]?.key,
      attributes: { n: 3, last: NOW - 5000, expires: SECOND + DAY },
      ...asRead({ n: 4, last: NOW }),
    });
  });

  it('waits for the failures of its known network only', () => {
    const waits = [
      waitOfAttempt({ network: failures(10), elsewhere: failures(2) }),
      waitOfAttempt({ network: failures(2), elsewhere: failures(10) }),
    ];

    expect(waits).toEqual([1, 0]);
  });

  it('knows a network until it expires, even if DynamoDB has not deleted its item yet', () => {
    const network = { n: 0, last: NOW - 5000, expires: NOW / 1000 };
    const elsewhere = failures(500);

    expect(attempt({ network, elsewhere }, { now: NOW - 1 }).result.isKnown).toBe(true);
    expect(attempt({ network }).result.isKnown).toBe(false);
    expect(waitOfAttempt({ network, elsewhere })).toBe(900);
  });

  it.each(['network', 'elsewhere'])(
    'forgets the failures of %s a day after the last one',
    (counter) => {
      const counted = (ago: number) =>
        attempt({ [counter]: { n: 5, last: NOW - ago, expires: SECOND + 10 } }).writes[0]
          ?.attributes;

      expect(counted(DAY * 1000 - 1)).toMatchObject({ n: 6 });
      expect(counted(DAY * 1000)).toMatchObject({ n: 1, last: NOW });
    },
  );

  it('is not delayed if it arrived before a concurrent attempt was counted', () => {
    expect(waitOfAttempt({ elsewhere: failures(3) }, { arrivedAt: NOW - 1000 })).toBe(0);
  });

  it.each([
    [10, 1],
    [11, 2],
    [20, 900],
  ])('is rejected after %i failures for %i seconds, by its time of arrival', (n, seconds) => {
    const elsewhere = failures(n);
    const end = NOW + seconds * 1000;

    const waits = [
      { arrivedAt: end - 1, now: end - 1 },
      { arrivedAt: end - 1, now: end + 5000 },
      {},
      // Retry-After starts now, even for a request that was queued, and is rounded up to a whole
      // second.
      { arrivedAt: NOW - 5000, now: NOW + 1 },
      { arrivedAt: end, now: end },
    ].map((times) => waitOfAttempt({ elsewhere }, times));

    expect(waits).toEqual([1, 1, seconds, seconds, 0]);
  });

  it('waits for the later of the two limits, of the login and of the source', () => {
    const source = { n: 70, requests: 70 };
    // The window of the source ends 900 seconds after the full hour.
    const at = (second: number) => ({ arrivedAt: NOW + second * 1000, now: NOW + second * 1000 });

    const waits = [at(0), at(600)].map((times) =>
      waitOfAttempt({ elsewhere: failures(19, times.now), source }, times),
    );

    expect(waits).toEqual([900, 512]);
  });
});

const networkKnown = {
  act: 'Put',
  key: keys.network,
  attributes: { n: 0, last: NOW, expires: SECOND + 30 * DAY },
};
const elsewhereCleared = {
  act: 'Put',
  key: keys.elsewhere,
  attributes: { n: 0, last: NOW, expires: SECOND + DAY },
};

it('a successful login resets the counters that its attempt may have incremented', () => {
  expect(clearFailures(keys, true, NOW)).toEqual([networkKnown]);
  expect(clearFailures(keys, false, NOW)).toEqual([networkKnown, elsewhereCleared]);
});

it('a reset with a mailed key clears the failures and makes the network known', () => {
  expect(mailboxProven(keys, NOW)).toEqual([networkKnown, elsewhereCleared]);
});

it('a right recovery code keeps the marks of the networks that were audited', () => {
  const of = (...audited: string[]) => ({ ...failures(1), audited });
  const counts = {
    network: undefined,
    elsewhere: of('a'),
    recovery: of('b', 'a'),
  };
  const timed = { now: NOW, arrivedAt: NOW, hasRecoveryCode: true } as const;

  const { result } = recordAttempt(keys, counts, timed);

  expect([...(result.failures.audited ?? [])].sort()).toEqual(['a', 'b']);
});
