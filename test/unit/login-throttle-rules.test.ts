import { describe, expect, it } from 'vitest';
import {
  clearFailures,
  confirmFailure,
  countAgainstSource,
  type Failures,
  mailboxProven,
  recordAttempt,
  requireNoWait,
  type SourceEvent,
  type SourceFailures,
  takeBackAttempt,
  waitAfter,
} from '../../lib/accounts/login-throttle-rules.ts';

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
const tooManyAttempts = (retryAfter: number) =>
  expect.objectContaining({ code: 'too-many-attempts', retryAfter });
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
  it('is counted from an unknown network under the shared counter, for a day', () => {
    expect(attempt({})).toEqual({
      writes: [
        {
          act: 'Put',
          key: keys.elsewhere,
          attributes: counted(0, SECOND + DAY),
          condition: 'attribute_not_exists(pk)',
          names: {},
          values: {},
          onConditionFailed: 'retry',
        },
      ],
      result: {
        isKnown: false,
        key: keys.elsewhere,
        failures: counted(0, SECOND + DAY),
        before: { n: 0, last: 0 },
      },
    });
  });

  it('increments the shared counter on condition that it has not changed since it was read', () => {
    const elsewhere = { n: 3, last: NOW - 5000, expires: SECOND + 10 };

    expect(attempt({ elsewhere }).writes).toEqual([
      {
        act: 'Put',
        key: keys.elsewhere,
        attributes: counted(3, SECOND + DAY, NOW - 5000),
        ...asRead(elsewhere),
      },
    ]);
  });

  it('is counted from a known network there, without extending its expiry', () => {
    const network = { n: 3, last: NOW - 5000, expires: SECOND + 10 };

    expect(attempt({ network, elsewhere: { n: 500, last: NOW, expires: SECOND + DAY } })).toEqual({
      writes: [
        {
          act: 'Put',
          key: keys.network,
          attributes: counted(3, SECOND + 10, NOW - 5000),
          ...asRead(network),
        },
      ],
      result: {
        isKnown: true,
        key: keys.network,
        failures: counted(3, SECOND + 10, NOW - 5000),
        before: { n: 3, last: NOW - 5000 },
      },
    });
  });

  it('takes back its failure and its time, unless another one has been counted since', () => {
    const { writes, result } = attempt({
      elsewhere: { n: 3, last: NOW - 5000, expires: SECOND + 10 },
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
      expect(() =>
        attempt(
          { elsewhere: counted(10, SECOND + DAY, NOW - 1) },
          { now: NOW + 1, arrivedAt: NOW + 1 },
        ),
      ).toThrow(tooManyAttempts(1));
    });

    it.each([
      ['another password', { fingerprint: 'other' }],
      ['the same password, before the latest one is counted', { arrivedAt: NOW - 100 }],
    ])('waits for the latest one as well with %s', (_, times) => {
      expect(() => attempt({ elsewhere }, times)).toThrow(tooManyAttempts(2));
    });

    it('counts again once the password is known to be wrong', () => {
      const { key, condition, names, values, update } = confirmFailure(repetition.result);
      const { undecided: _, ...confirmed } = elsewhere;

      expect([key, update]).toEqual([keys.elsewhere, 'REMOVE #undecided']);
      expect({ condition, names, values, onConditionFailed: 'retry' }).toEqual({
        ...asRead({ n: 11, last: NOW }),
        names: { '#n': 'n', '#last': 'last', '#undecided': 'undecided' },
      });
      expect(() => attempt({ elsewhere: confirmed })).toThrow(tooManyAttempts(2));
    });
  });

  it('waits for the failures of its known network only', () => {
    const failures = (n: number) => ({ n, last: NOW, expires: SECOND + DAY });

    expect(() => attempt({ network: failures(10), elsewhere: failures(2) })).toThrow(
      tooManyAttempts(1),
    );
    expect(attempt({ network: failures(2), elsewhere: failures(10) }).result.isKnown).toBe(true);
  });

  it('knows a network until it expires, even if DynamoDB has not deleted its item yet', () => {
    const network = { n: 0, last: NOW - 5000, expires: NOW / 1000 };
    const elsewhere = { n: 500, last: NOW, expires: SECOND + DAY };

    expect(attempt({ network, elsewhere }, { now: NOW - 1 }).result.isKnown).toBe(true);
    expect(attempt({ network }).result.isKnown).toBe(false);
    expect(() => attempt({ network, elsewhere })).toThrow(tooManyAttempts(900));
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
    const elsewhere = { n: 3, last: NOW, expires: SECOND + DAY };

    expect(attempt({ elsewhere }, { arrivedAt: NOW - 1000 }).writes).toHaveLength(1);
  });

  it.each([
    [10, 1],
    [11, 2],
    [20, 900],
  ])('is rejected after %i failures for %i seconds, by its time of arrival', (n, seconds) => {
    const elsewhere = { n, last: NOW, expires: SECOND + DAY };
    const end = NOW + seconds * 1000;

    expect(() => attempt({ elsewhere }, { arrivedAt: end - 1, now: end - 1 })).toThrow(
      tooManyAttempts(1),
    );
    expect(() => attempt({ elsewhere }, { arrivedAt: end - 1, now: end + 5000 })).toThrow(
      tooManyAttempts(1),
    );
    expect(() => attempt({ elsewhere })).toThrow(tooManyAttempts(seconds));
    // Retry-After starts now, even for a request that was queued, and is rounded up to a whole
    // second.
    expect(() => attempt({ elsewhere }, { arrivedAt: NOW - 5000, now: NOW + 1 })).toThrow(
      tooManyAttempts(seconds),
    );
    expect(attempt({ elsewhere }, { arrivedAt: end, now: end }).writes).toHaveLength(1);
  });

  it('waits for the later of the two limits, of the login and of the source', () => {
    const elsewhere = { n: 19, last: NOW, expires: SECOND + DAY };
    const source = (since: number) => ({ n: 70, requests: 70, since });

    expect(() => attempt({ elsewhere, source: source(NOW - 600_000) })).toThrow(
      tooManyAttempts(512),
    );
    expect(() => attempt({ elsewhere, source: source(NOW - 100_000) })).toThrow(
      tooManyAttempts(800),
    );
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

describe('a successful login', () => {
  it('resets the counters that its attempt may have incremented', () => {
    expect(clearFailures(keys, true, NOW)).toEqual([networkKnown]);
    expect(clearFailures(keys, false, NOW)).toEqual([networkKnown, elsewhereCleared]);
  });
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

  it('starts a window if an earlier release has stored no start time', () => {
    const stored = { n: -1 } as SourceFailures;

    expect(count(stored)).toMatchObject({
      condition: 'attribute_not_exists(#since)',
      values: { ':since': NOW },
    });
  });

  it.each([undefined, 3])(
    'is counted in its window while below its limits: %j requests',
    (requests) => {
      const since = NOW - 899_999;

      expect(count({ n: 2, since, ...(requests && { requests }) })).toEqual({
        act: 'Update',
        key: keys.source,
        update: 'ADD #n :failures, #requests :requests',
        condition:
          '#since = :since AND #n < :failureLimit AND (attribute_not_exists(#requests) ' +
          'OR #requests < :requestLimit)',
        names: { '#n': 'n', '#requests': 'requests', '#since': 'since' },
        values: {
          ':failures': 0,
          ':requests': 1,
          ':since': since,
          ':failureLimit': 70,
          ':requestLimit': 700,
        },
      });
    },
  );

  it('counts a failure in its window, whatever the requests, up to the limit', () => {
    const since = NOW - 1000;

    expect(count({ n: 69, requests: 700, since }, 'failure').values).toMatchObject({
      ':failures': 1,
      ':requests': 0,
    });
    expect(() => count({ n: 70, requests: 70, since }, 'failure')).toThrow(tooManyAttempts(899));
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
        (source: SourceFailures, times?: object) => attempt({ source }, times).writes[0],
      ];

      for (const operation of operations) {
        expect(() => operation({ ...full, since })).toThrow(tooManyAttempts(899));
        expect(() => operation({ ...full, since }, { arrivedAt: NOW - 5000, now: NOW })).toThrow(
          tooManyAttempts(899),
        );
        expect(() => operation({ ...full, since }, { arrivedAt: end - 1, now: end + 100 })).toThrow(
          tooManyAttempts(1),
        );
        expect(operation({ ...full, since }, { arrivedAt: end, now: end })).toBeDefined();
        expect(operation({ ...free, since })).toBeDefined();
      }
    },
  );
});
