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

/** Not a whole second. */
const NOW = Date.UTC(2030, 0, 1) + 700;
const SECOND = Math.floor(NOW / 1000);
const DAY = 86_400;
const keys = {
  network: { pk: 'ATTEMPTS#login', sk: 'NETWORK#home' },
  elsewhere: { pk: 'ATTEMPTS#login', sk: 'ELSEWHERE' },
  source: { pk: 'ATTEMPTS#address', sk: 'SOURCE' },
};
const LIMITS = { failuresPerSource: 70, requestsPerSource: 700 };

const reserve = (counts: Partial<Failures>, { arrivedAt = NOW, now = NOW } = {}) =>
  recordAttempt(
    keys,
    { network: undefined, elsewhere: undefined, source: undefined, ...counts },
    { now, arrivedAt, ...LIMITS },
  );
const count = (source: SourceFailures | undefined, failures: 0 | 1 = 1, { arrivedAt = NOW, now = NOW } = {}) =>
  recordRequest(keys.source, source, failures, { now, arrivedAt, ...LIMITS });
const refused = (retryAfter: number) => expect.objectContaining({ code: 'too-many-attempts', retryAfter });
const asRead = ({ n, last }: { n: number; last: number }) => ({
  condition: '#n = :n AND #last = :last',
  names: { '#n': 'n', '#last': 'last' },
  values: { ':n': n, ':last': last },
  onConditionFailed: 'retry',
});

describe('a guess', () => {
  it('is counted elsewhere where nothing is known, for a day', () => {
    expect(reserve({})).toEqual({
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

  it('is counted elsewhere as long as nobody else was counted there meanwhile', () => {
    const elsewhere = { n: 3, last: NOW - 5000, expires: SECOND + 10 };

    expect(reserve({ elsewhere }).writes).toEqual([
      {
        act: 'Put',
        key: keys.elsewhere,
        attributes: { n: 4, last: NOW, expires: SECOND + DAY },
        ...asRead(elsewhere),
      },
    ]);
  });

  it('is counted in a known network, which stays known for as long as it was', () => {
    const network = { n: 3, last: NOW - 5000, expires: SECOND + 10 };

    expect(reserve({ network, elsewhere: { n: 500, last: NOW, expires: SECOND + DAY } })).toEqual({
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
    ['to the end of its last second', 0, NOW - 1, true],
    ['no longer from then on', 0, NOW, false],
  ])('counts in a network that is known %s', (_, __, now, known) => {
    const network = { n: 0, last: NOW - 5000, expires: NOW / 1000 };

    expect(reserve({ network }, { now }).result).toBe(known);
  });

  it.each([
    ['a millisecond before a day is over', DAY * 1000 - 1, 6],
    ['after a day', DAY * 1000, 1],
  ])('is counted on what was before, %s', (_, ago, n) => {
    const elsewhere = { n: 5, last: NOW - ago, expires: SECOND + 10 };

    expect(reserve({ elsewhere }).writes[0]?.attributes).toMatchObject({ n });
  });

  it.each([
    [10, 1],
    [11, 2],
    [19, 512],
    [20, 900],
    [30, 900],
  ])('after %i failures waits for %i seconds, by the time when it came', (n, seconds) => {
    const elsewhere = { n, last: NOW, expires: SECOND + DAY };
    const end = NOW + seconds * 1000;

    expect(() => reserve({ elsewhere }, { arrivedAt: end - 1, now: end - 1 })).toThrow(refused(1));
    expect(() => reserve({ elsewhere }, { arrivedAt: end - 1, now: end + 5000 })).toThrow(refused(1));
    expect(() => reserve({ elsewhere })).toThrow(refused(seconds));
    // The rest of a second counts as one.
    expect(() => reserve({ elsewhere }, { now: NOW + 1 })).toThrow(refused(seconds));
    expect(reserve({ elsewhere }, { arrivedAt: end, now: end }).writes).toHaveLength(1);
  });

  it('waits for the later of the ends: of its login and of its source', () => {
    const elsewhere = { n: 19, last: NOW, expires: SECOND + DAY };
    const source = (since: number) => ({ n: 70, requests: 70, since });

    expect(() => reserve({ elsewhere, source: source(NOW - 600_000) })).toThrow(refused(512));
    expect(() => reserve({ elsewhere, source: source(NOW - 100_000) })).toThrow(refused(800));
  });
});

describe('a right guess', () => {
  it('is forgiven with the exact counts that it began', () => {
    const known = [{ act: 'Put', key: keys.network, attributes: { n: 0, last: NOW, expires: SECOND + 30 * DAY } }];
    const elsewhere = { act: 'Put', key: keys.elsewhere, attributes: { n: 0, last: NOW, expires: SECOND + DAY } };

    expect(clearFailures(keys, true, NOW)).toEqual(known);
    expect(clearFailures(keys, false, NOW)).toEqual([...known, elsewhere]);
  });

  it('gets its failure back, also where the count has been removed', () => {
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

  it('begins a window with its first request', () => {
    expect(count(undefined, 0)).toEqual({
      ...begun,
      condition: 'attribute_not_exists(#since)',
      values: { ':failures': 0, ':one': 1, ':since': NOW, ':expires': SECOND + 960 },
    });
  });

  it('begins another one a quarter of an hour later, unless somebody else did', () => {
    const since = NOW - 900_000;

    expect(count({ n: 70, requests: 700, since })).toEqual({
      ...begun,
      condition: '#since = :before',
      values: { ':failures': 1, ':one': 1, ':since': NOW, ':expires': SECOND + 960, ':before': since },
    });
  });

  it.each([undefined, 3])('goes on in its window while it has not had its share: %j requests', (requests) => {
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
  ])(
    'that has had its share of %s waits for the end of its window, by the time when the request came',
    (_, full, free) => {
      const since = NOW - 1000;
      const end = since + 900_000;
      const acts = [
        (source: SourceFailures, times?: object) => count(source, 0, times),
        (source: SourceFailures, times?: object) => reserve({ source }, times).writes[0],
      ];

      for (const act of acts) {
        expect(() => act({ ...full, since })).toThrow(refused(899));
        expect(() => act({ ...full, since }, { arrivedAt: end - 1, now: end + 100 })).toThrow(refused(1));
        expect(act({ ...full, since }, { arrivedAt: end, now: end })).toBeDefined();
        expect(act({ ...free, since })).toBeDefined();
      }
    },
  );
});

describe('an address', () => {
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
  ])('%s lies in the network %s and is the machine %s', (address, network, machine) => {
    expect([networkOf(address), machineOf(address)]).toEqual([network, machine]);
  });
});
