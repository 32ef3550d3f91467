import { describe, expect, it } from 'vitest';
import {
  clearFailures,
  type Failures,
  mailboxProven,
  recordAttempt,
  recordRequest,
  takeBackFailure,
  waitAfter,
} from '../lib/accounts/login-throttle-rules.ts';
import { machineOf, networkOf } from '../lib/contract/source.ts';

const NOW = Date.UTC(2030, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const keys = {
  network: { pk: 'ATTEMPTS#login', sk: 'NETWORK#home' },
  elsewhere: { pk: 'ATTEMPTS#login', sk: 'ELSEWHERE' },
  source: { pk: 'ATTEMPTS#address', sk: 'SOURCE' },
};
const LIMITS = { failuresPerSource: 100, requestsPerSource: 1000 };
const nothing: Failures = { network: undefined, elsewhere: undefined, source: undefined };
const failures = (n: number, ago = 0, known = DAY) => ({ n, last: NOW - ago, expires: (NOW + known) / 1000 });

const reserve = (counts: Partial<Failures>, arrivedAt = NOW) =>
  recordAttempt(keys, { ...nothing, ...counts }, { now: NOW, arrivedAt, ...LIMITS });
const writtenBy = (counts: Partial<Failures>) =>
  reserve(counts).writes.map(({ key, attributes, values }) => ({ key, ...attributes, ...values }));
const refused = (retryAfter: number) => expect.objectContaining({ code: 'too-many-attempts', retryAfter });

describe('the wait for the next guess', () => {
  it('doubles from the tenth failure on, up to a quarter of an hour', () => {
    const failures = [0, 9, 10, 11, 12, 19, 20, 1000, 5000];

    expect(failures.map(waitAfter)).toEqual([0, 0, 1, 2, 4, 512, 900, 900, 900]);
  });

  it('begins with the last failure, and is told in whole seconds', () => {
    expect(() => reserve({ elsewhere: failures(13, 1) })).toThrow(refused(8));
    expect(() => reserve({ elsewhere: failures(13, 7999) })).toThrow(refused(1));
    expect(reserve({ elsewhere: failures(13, 8000) }).result).toBe(false);
  });

  it('is not over for who came before its end and stood in line', () => {
    expect(() => reserve({ elsewhere: failures(13, 8000) }, NOW - 1)).toThrow(refused(1));
  });

  it('does not turn away who came before another guess was counted', () => {
    expect(writtenBy({ elsewhere: failures(3, 0) })[0]).toMatchObject({ key: keys.elsewhere, n: 4 });
    expect(reserve({ elsewhere: failures(3, 0) }, NOW - 1000).writes).toHaveLength(1);
  });

  it('is forgotten a day after the last failure', () => {
    expect(() => reserve({ elsewhere: { ...failures(500), last: NOW + 1 - DAY } }, NOW - DAY)).toThrow(refused(1));
    expect(writtenBy({ elsewhere: failures(500, DAY) })[0]).toMatchObject({ n: 1, last: NOW });
    expect(writtenBy({ network: failures(500, DAY) })[0]).toMatchObject({ n: 1, last: NOW });
  });
});

describe('a network that is known', () => {
  it('has a count of its own', () => {
    const [counted] = writtenBy({ network: failures(2, 0, 20 * DAY), elsewhere: failures(500) });

    expect(counted).toMatchObject({ key: keys.network, n: 3, expires: (NOW + 20 * DAY) / 1000 });
    expect(() => reserve({ network: failures(10), elsewhere: failures(2) })).toThrow(refused(1));
  });

  it('is known for 30 days after a login, whenever the table forgets it', () => {
    const [remembered] = clearFailures(keys, true, NOW);
    expect(remembered).toMatchObject({
      key: keys.network,
      attributes: { n: 0, last: NOW, expires: (NOW + 30 * DAY) / 1000 },
    });

    expect(() => reserve({ network: failures(2, 0, 0), elsewhere: failures(500) })).toThrow(refused(900));
  });
});

describe('a right guess', () => {
  it('resets the count that it fell under, and gives back what it took from the source', () => {
    const reset = (isKnown: boolean) => clearFailures(keys, isKnown, NOW).map(({ key }) => key);

    expect(reset(true)).toEqual([keys.network]);
    expect(reset(false)).toEqual([keys.network, keys.elsewhere]);
    expect(takeBackFailure(keys.source, NOW)).toMatchObject({ key: keys.source, values: { ':one': 1 } });
  });

  it('leaves a count that expires where an operator has removed it meanwhile', () => {
    const giveBack = takeBackFailure(keys.source, NOW);

    expect(giveBack.update).toContain('#expires = if_not_exists(#expires, :expires)');
    expect(giveBack.values).toMatchObject({ ':since': NOW, ':expires': NOW / 1000 + 15 * 60 + 60 });
  });
});

describe('a password that was set by a mailed key', () => {
  it('forgets the failures of the login and makes the network known, and gives nothing back to the source', () => {
    expect(mailboxProven(keys, NOW).map(({ key, attributes }) => [key, attributes])).toEqual([
      [keys.network, { n: 0, last: NOW, expires: (NOW + 30 * DAY) / 1000 }],
      [keys.elsewhere, { n: 0, last: NOW, expires: (NOW + DAY) / 1000 }],
    ]);
  });
});

describe('a source', () => {
  const flood = (n: number, ago: number, requests = n) => ({ n, requests, since: NOW - ago, expires: 0 });

  const count = (source: Failures['source'], failures: 0 | 1 = 1, arrivedAt = NOW) =>
    recordRequest(keys.source, source, failures, { now: NOW, arrivedAt, ...LIMITS });

  it('may fail so often in a quarter of an hour, then waits for its end', () => {
    expect(count(flood(99, HOUR / 4 - 1)).values).toMatchObject({ ':failures': 1, ':one': 1, ':failureLimit': 100 });
    for (const act of [reserve, ({ source }: Partial<Failures>) => count(source)]) {
      expect(() => act({ source: flood(100, 60_000) })).toThrow(refused(840));
    }
  });

  it('may send so many requests in a quarter of an hour, however they end, then waits for its end', () => {
    expect(count(flood(0, HOUR / 4 - 1, 999), 0).values).toMatchObject({ ':failures': 0, ':requestLimit': 1000 });
    for (const act of [reserve, ({ source }: Partial<Failures>) => count(source)]) {
      expect(() => act({ source: flood(0, 60_000, 1000) })).toThrow(refused(840));
    }
    expect(() => count(flood(0, HOUR / 4, 1000), 0, NOW - 1)).toThrow(refused(1));
  });

  it('begins anew when the quarter of an hour is over, and when nothing is known of it', () => {
    for (const source of [flood(5000, HOUR / 4), undefined]) {
      const { update, values } = count(source);

      expect(update).toMatch(/^SET #n = :failures, #requests = :one/);
      expect(values).toMatchObject({ ':failures': 1, ':one': 1, ':since': NOW });
    }
  });

  it('is counted on whatever an earlier release has left: no requests, or no time', () => {
    const { requests: _, ...withoutRequests } = flood(5, 1000);
    const timeless = { n: -1 } as unknown as Failures['source'];

    expect(count(withoutRequests).condition).toContain('attribute_not_exists(#requests) OR');
    expect(count(timeless)).toMatchObject({ condition: 'attribute_not_exists(#since)', values: { ':since': NOW } });
  });

  it('and a login wait together: the longer wait counts', () => {
    expect(() => reserve({ source: flood(100, HOUR / 4 - 1000), elsewhere: failures(20) })).toThrow(refused(900));
    expect(() => reserve({ source: flood(100, 0), elsewhere: failures(10) })).toThrow(refused(900));
  });

  it.each([
    ['203.0.113.7', '203.0.113', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::6', '2001:db8:1:2', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0', '2001:db8:0:0'],
    ['2001:db8::3:4:5:6', '2001:db8:0:0', '2001:db8:0:0'],
    ['::1', '0:0:0:0', '0:0:0:0'],
    ['2001:db8:1:2::', '2001:db8:1:2', '2001:db8:1:2'],
  ])('%s lies in the network %s and is the machine %s', (address, network, machine) => {
    expect([networkOf(address), machineOf(address)]).toEqual([network, machine]);
  });

  it('that cannot be read is a source like any other', () => {
    expect(() => [networkOf(''), machineOf('nowhere'), networkOf('a::b::c')]).not.toThrow();
  });
});
