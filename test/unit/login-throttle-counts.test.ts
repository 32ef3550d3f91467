import { describe, expect, it } from 'vitest';
import {
  clearFailures,
  type Failures,
  recordAttempt,
  recordRequest,
  type SourceFailures,
  takeBackFailure,
} from '../../lib/accounts/login-throttle-rules.ts';
import { machineOf, networkOf } from '../../lib/contract/source.ts';

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

const attempt = (counts: Partial<Failures>, { arrivedAt = NOW, now = NOW } = {}) =>
  recordAttempt(
    keys,
    { network: undefined, elsewhere: undefined, source: undefined, ...counts },
    { now, arrivedAt, ...LIMITS },
  );
const count = (source: SourceFailures | undefined, failures: 0 | 1 = 1, { arrivedAt = NOW, now = NOW } = {}) =>
  recordRequest(keys.source, source, failures, { now, arrivedAt, ...LIMITS });
const tooManyAttempts = (retryAfter: number) => expect.objectContaining({ code: 'too-many-attempts', retryAfter });
const asRead = ({ n, last }: { n: number; last: number }) => ({
  condition: '#n = :n AND #last = :last',
  names: { '#n': 'n', '#last': 'last' },
  values: { ':n': n, ':last': last },
  onConditionFailed: 'retry',
});

describe('recordAttempt', () => {
  it('counts an attempt from an unknown network under the shared counter, for a day', () => {
    expect(attempt({})).toEqual({
      writes: [
        {
          act: 'Put',
          key: keys.elsewhere,
          attributes: { n: 1, last: NOW, expires: SECOND + DAY },
          condition: 'attribute_not_exists(pk)',
          names: {},
          values: {},
          onConditionFailed: 'retry',
        },
      ],
      result: false,
    });
  });

  it('increments the shared counter on condition that it has not changed since it was read', () => {
    const elsewhere = { n: 3, last: NOW - 5000, expires: SECOND + 10 };

    expect(attempt({ elsewhere }).writes).toEqual([
      {
        act: 'Put',
        key: keys.elsewhere,
        attributes: { n: 4, last: NOW, expires: SECOND + DAY },
        ...asRead(elsewhere),
      },
    ]);
  });

  it('counts an attempt from a known network there, without extending its expiry', () => {
    const network = { n: 3, last: NOW - 5000, expires: SECOND + 10 };

    expect(attempt({ network, elsewhere: { n: 500, last: NOW, expires: SECOND + DAY } })).toEqual({
      writes: [
        {
          act: 'Put',
          key: keys.network,
          attributes: { n: 4, last: NOW, expires: SECOND + 10 },
          ...asRead(network),
        },
      ],
      result: true,
    });
  });

  it.each([
    ['one millisecond before', 0, NOW - 1, true],
    ['at its expiry', 0, NOW, false],
  ])('knows a network until it expires: %s', (_, __, now, known) => {
    const network = { n: 0, last: NOW - 5000, expires: NOW / 1000 };

    expect(attempt({ network }, { now }).result).toBe(known);
  });

  it.each([
    ['one millisecond less', DAY * 1000 - 1, 6],
    ['exactly a day', DAY * 1000, 1],
  ])('forgets earlier failures after a day: %s', (_, ago, n) => {
    const elsewhere = { n: 5, last: NOW - ago, expires: SECOND + 10 };

    expect(attempt({ elsewhere }).writes[0]?.attributes).toMatchObject({ n });
  });

  it.each([
    [10, 1],
    [11, 2],
    [19, 512],
    [20, 900],
    [30, 900],
  ])('rejects an attempt after %i failures for %i seconds, by its time of arrival', (n, seconds) => {
    const elsewhere = { n, last: NOW, expires: SECOND + DAY };
    const end = NOW + seconds * 1000;

    expect(() => attempt({ elsewhere }, { arrivedAt: end - 1, now: end - 1 })).toThrow(tooManyAttempts(1));
    expect(() => attempt({ elsewhere }, { arrivedAt: end - 1, now: end + 5000 })).toThrow(tooManyAttempts(1));
    expect(() => attempt({ elsewhere })).toThrow(tooManyAttempts(seconds));
    // Retry-After is rounded up to a whole second.
    expect(() => attempt({ elsewhere }, { now: NOW + 1 })).toThrow(tooManyAttempts(seconds));
    expect(attempt({ elsewhere }, { arrivedAt: end, now: end }).writes).toHaveLength(1);
  });

  it('waits for the later of the two limits, of the login and of the source', () => {
    const elsewhere = { n: 19, last: NOW, expires: SECOND + DAY };
    const source = (since: number) => ({ n: 70, requests: 70, since });

    expect(() => attempt({ elsewhere, source: source(NOW - 600_000) })).toThrow(tooManyAttempts(512));
    expect(() => attempt({ elsewhere, source: source(NOW - 100_000) })).toThrow(tooManyAttempts(800));
  });
});

describe('a successful login', () => {
  it('resets the counters that its attempt may have incremented', () => {
    const known = [{ act: 'Put', key: keys.network, attributes: { n: 0, last: NOW, expires: SECOND + 30 * DAY } }];
    const elsewhere = { act: 'Put', key: keys.elsewhere, attributes: { n: 0, last: NOW, expires: SECOND + DAY } };

    expect(clearFailures(keys, true, NOW)).toEqual(known);
    expect(clearFailures(keys, false, NOW)).toEqual([...known, elsewhere]);
  });

  it('takes back its failure, even when the counter has been deleted', () => {
    expect(takeBackFailure(keys.source, NOW)).toEqual({
      act: 'Update',
      key: keys.source,
      update:
        'SET #n = if_not_exists(#n, :one) - :one, #since = if_not_exists(#since, :since), #expires = if_not_exists(#expires, :expires)',
      names: { '#n': 'n', '#since': 'since', '#expires': 'expires' },
      values: { ':one': 1, ':since': NOW, ':expires': SECOND + 960 },
    });
  });
});

describe('a source', () => {
  const begun = {
    act: 'Update',
    key: keys.source,
    update: 'SET #n = :failures, #requests = :one, #since = :since, #expires = :expires',
    names: { '#n': 'n', '#requests': 'requests', '#since': 'since', '#expires': 'expires' },
  };

  it('starts a window with its first request', () => {
    expect(count(undefined, 0)).toEqual({
      ...begun,
      condition: 'attribute_not_exists(#since)',
      values: { ':failures': 0, ':one': 1, ':since': NOW, ':expires': SECOND + 960 },
    });
  });

  it('starts another window after 15 minutes, unless a concurrent request already has', () => {
    const since = NOW - 900_000;

    expect(count({ n: 70, requests: 700, since })).toEqual({
      ...begun,
      condition: '#since = :before',
      values: { ':failures': 1, ':one': 1, ':since': NOW, ':expires': SECOND + 960, ':before': since },
    });
  });

  it.each([undefined, 3])('is counted in its window while below its limits: %j requests', (requests) => {
    const since = NOW - 899_999;

    expect(count({ n: 2, since, ...(requests && { requests }) })).toEqual({
      act: 'Update',
      key: keys.source,
      update: 'ADD #n :failures, #requests :one',
      condition:
        '#since = :since AND #n < :failureLimit AND (attribute_not_exists(#requests) OR #requests < :requestLimit)',
      names: { '#n': 'n', '#requests': 'requests', '#since': 'since' },
      values: { ':failures': 1, ':one': 1, ':since': since, ':failureLimit': 70, ':requestLimit': 700 },
    });
  });

  it.each([
    ['failures', { n: 70, requests: 70 }, { n: 69, requests: 69 }],
    ['requests', { n: 0, requests: 700 }, { n: 0, requests: 699 }],
  ])('is rejected at its limit of %s until its window ends, by the time of arrival', (_, full, free) => {
    const since = NOW - 1000;
    const end = since + 900_000;
    const operations = [
      (source: SourceFailures, times?: object) => count(source, 0, times),
      (source: SourceFailures, times?: object) => attempt({ source }, times).writes[0],
    ];

    for (const operation of operations) {
      expect(() => operation({ ...full, since })).toThrow(tooManyAttempts(899));
      expect(() => operation({ ...full, since }, { arrivedAt: end - 1, now: end + 100 })).toThrow(tooManyAttempts(1));
      expect(operation({ ...full, since }, { arrivedAt: end, now: end })).toBeDefined();
      expect(operation({ ...free, since })).toBeDefined();
    }
  });
});

describe('an IP address', () => {
  // biome-ignore format: a table is read by its columns
  it.each([
    ['203.0.113.7', '203.0.113', '203.0.113.7'],
    ['203.0.113.255', '203.0.113', '203.0.113.255'],
    ['203.0.114.7', '203.0.114', '203.0.114.7'],
    ['::ffff:203.0.113.7', '203.0.113', '203.0.113.7'],
    ['::FFFF:203.0.113.7', '203.0.113', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2', '2001:db8:1:2'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2', '2001:db8:1:2'],
    ['2001:db8:1:3:3:4:5:6', '2001:db8:1:3', '2001:db8:1:3'],
    ['2001:DB8:0001:00AB::', '2001:db8:1:ab', '2001:db8:1:ab'],
    ['2001:db8::ab:0:0:0:1', '2001:db8:0:ab', '2001:db8:0:ab'],
    ['::', '0:0:0:0', '0:0:0:0'],
    ['fe80::1', 'fe80:0:0:0', 'fe80:0:0:0'],
    ['1::2:3:4:5:6:7', '1:0:2:3', '1:0:2:3'],
  ])('%s belongs to network %s and identifies machine %s', (address, network, machine) => {
    expect([networkOf(address), machineOf(address)]).toEqual([network, machine]);
  });
});
