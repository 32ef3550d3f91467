import { describe, expect, it } from 'vitest';
import {
  clearFailures,
  confirmFailure,
  type Failures,
  mailboxProven,
  recordAttempt,
  requireNoWait,
  takeBackAttempt,
  waitAfter,
} from '../../lib/throttle/login-throttle-rules.ts';
import {
  countAgainstSource,
  type SourceEvent,
  type SourceFailures,
} from '../../lib/throttle/source-throttle-rules.ts';

/** Deliberately not a whole second. */
const NOW = Date.UTC(2030, 0, 1) + 700;
const SECOND = Math.floor(NOW / 1000);
const DAY = 86_400;
const keys = {
  network: { pk: 'ATTEMPTS#login', sk: 'NETWORK#home' },
  elsewhere: { pk: 'ATTEMPTS#login', sk: 'ELSEWHERE' },
  source: { pk: 'ATTEMPTS#address', sk: 'SOURCE' },
};
const LIMITS = { failuresPerSource: 70, requestsPerSource: 700 };

/** Decides on a login attempt as the throttle does. */
const attempt = (
  counts: Partial<Failures>,
  { arrivedAt = NOW, now = NOW, fingerprint = 'guess' } = {},
) => {
  const failures = { network: undefined, elsewhere: undefined, source: undefined, ...counts };
  requireNoWait(failures, { now, arrivedAt, fingerprint }, LIMITS);
  return recordAttempt(keys, failures, { now, arrivedAt, fingerprint });
};
const count = (
  source: SourceFailures | undefined,
  event: SourceEvent = 'request',
  { arrivedAt = NOW, now = NOW } = {},
) => countAgainstSource(keys.source, event, source, { now, arrivedAt }, LIMITS);
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
/** A failure at NOW, of an attempt after these. */
const counted = (n: number, expires: number, last = 0) => ({
  n: n + 1,
  last: NOW,
  expires,
  undecided: { fingerprint: 'guess', n, last },
});
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
  it.each([
    [
      'from an unknown network under the shared counter, for a day',
      {},
      { key: keys.elsewhere, isKnown: false, count: counted(0, SECOND + DAY) },
      { condition: 'attribute_not_exists(pk)', names: {}, values: {}, onConditionFailed: 'retry' },
    ],
    [
      'on top of the count that was read',
      { elsewhere: failures(3, NOW - 5000, SECOND + 10) },
      { key: keys.elsewhere, isKnown: false, count: counted(3, SECOND + DAY, NOW - 5000) },
      asRead({ n: 3, last: NOW - 5000 }),
    ],
    [
      'from a known network there, without extending its expiry',
      { network: failures(3, NOW - 5000, SECOND + 10), elsewhere: failures(500) },
      { key: keys.network, isKnown: true, count: counted(3, SECOND + 10, NOW - 5000) },
      asRead({ n: 3, last: NOW - 5000 }),
    ],
  ])('is counted %s', (_, counts, { key, isKnown, count }, condition) => {
    const { n, last } = count.undecided;

    expect(attempt(counts)).toEqual({
      writes: [{ act: 'Put', key, attributes: count, ...condition }],
      result: { isKnown, key, failures: count, before: { n, last } },
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

  describe('with the password of the latest one', () => {
    const elsewhere = { ...counted(10, SECOND + DAY, NOW - 1000), last: NOW - 100 };
    const repetition = attempt({ elsewhere });

    it('takes its place while its outcome is unknown, and waits only for earlier ones', () => {
      const { n, undecided } = repetition.result.failures;

      expect([n, undecided]).toEqual([11, elsewhere.undecided]);
      const next = { now: NOW + 1, arrivedAt: NOW + 1 };
      expect(waitOfAttempt({ elsewhere: counted(10, SECOND + DAY, NOW - 1) }, next)).toBe(1);
    });

    it.each([
      ['another password', { fingerprint: 'other' }],
      ['the same password, before the latest one is counted', { arrivedAt: NOW - 100 }],
    ])('waits for the latest one as well with %s', (_, times) => {
      expect(waitOfAttempt({ elsewhere }, times)).toBe(2);
    });

    it('counts again once the password is known to be wrong', () => {
      const { key, condition, names, values, update } = confirmFailure(repetition.result);
      const { undecided: _, ...confirmed } = elsewhere;

      expect([key, update]).toEqual([keys.elsewhere, 'REMOVE #set0']);
      expect({ condition, names, values, onConditionFailed: 'retry' }).toEqual({
        ...asRead({ n: 11, last: NOW }),
        names: { '#n': 'n', '#last': 'last', '#set0': 'undecided' },
      });
      expect(waitOfAttempt({ elsewhere: confirmed })).toBe(2);
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
    const source = (since: number) => ({ n: 70, requests: 70, since });

    const waits = [NOW - 600_000, NOW - 100_000].map((since) =>
      waitOfAttempt({ elsewhere: failures(19), source: source(since) }),
    );

    expect(waits).toEqual([512, 800]);
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

describe('a source', () => {
  const begun = {
    act: 'Update',
    key: keys.source,
    update: 'SET #n = :failures, #requests = :requests, #since = :since, #expires = :expires',
    names: { '#n': 'n', '#requests': 'requests', '#since': 'since', '#expires': 'expires' },
  };

  it('starts a window with its first request', () => {
    expect(count(undefined)).toEqual({
      ...begun,
      condition: 'attribute_not_exists(#since)',
      values: { ':failures': 0, ':requests': 1, ':since': NOW, ':expires': SECOND + 960 },
    });
  });

  it('starts another window after 15 minutes, unless a concurrent request already has', () => {
    const since = NOW - 900_000;

    expect(count({ n: 70, requests: 700, since }, 'failure')).toEqual({
      ...begun,
      condition: '#since = :before',
      values: {
        ':failures': 1,
        ':requests': 0,
        ':since': NOW,
        ':expires': SECOND + 960,
        ':before': since,
      },
    });
  });

  it('is counted in its window while below its limits', () => {
    const since = NOW - 899_999;

    expect(count({ n: 2, requests: 3, since })).toEqual({
      act: 'Update',
      key: keys.source,
      update: 'ADD #n :failures, #requests :requests',
      condition: '#since = :since AND #n < :failureLimit AND #requests < :requestLimit',
      names: { '#n': 'n', '#requests': 'requests', '#since': 'since' },
      values: {
        ':failures': 0,
        ':requests': 1,
        ':since': since,
        ':failureLimit': 70,
        ':requestLimit': 700,
      },
    });
  });

  it('counts a failure in its window, whatever the requests, up to the limit', () => {
    const since = NOW - 1000;

    expect(count({ n: 69, requests: 700, since }, 'failure').values).toMatchObject({
      ':failures': 1,
      ':requests': 0,
    });
    expect(waitOf(() => count({ n: 70, requests: 70, since }, 'failure'))).toBe(899);
  });

  it.each([
    ['failures', { n: 70, requests: 70 }, { n: 69, requests: 69 }],
    ['requests', { n: 0, requests: 700 }, { n: 0, requests: 699 }],
  ])(
    'is rejected at its limit of %s until its window ends, by the time of arrival',
    (_, full, free) => {
      const since = NOW - 1000;
      const end = since + 900_000;
      const operations = [
        (source: SourceFailures, times?: object) => count(source, 'request', times),
        (source: SourceFailures, times?: object) => attempt({ source }, times),
      ];

      for (const operation of operations) {
        const waits = [
          {},
          { arrivedAt: NOW - 5000, now: NOW },
          { arrivedAt: end - 1, now: end + 100 },
          { arrivedAt: end, now: end },
        ].map((times) => waitOf(() => operation({ ...full, since }, times)));
        expect(waits).toEqual([899, 899, 1, 0]);
        expect(waitOf(() => operation({ ...free, since }))).toBe(0);
      }
    },
  );
});

it('a right recovery code keeps the marks of the networks that were audited', () => {
  const of = (...audited: string[]) => ({ ...failures(1), audited });
  const counts = {
    network: undefined,
    source: undefined,
    elsewhere: of('a'),
    recovery: of('b', 'a'),
  };
  const timed = { now: NOW, arrivedAt: NOW, fingerprint: 'code', hasRecoveryCode: true } as const;

  const { result } = recordAttempt(keys, counts, timed);

  expect([...(result.failures.audited ?? [])].sort()).toEqual(['a', 'b']);
});
