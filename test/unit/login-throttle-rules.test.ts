import { describe, expect, it } from 'vitest';
import {
  clearFailures,
  type Failures,
  mailboxProven,
  recordAttempt,
  recordRequest,
  takeBackFailure,
  waitAfter,
} from '../../lib/accounts/login-throttle-rules.ts';
import { machineOf, networkOf } from '../../lib/contract/source.ts';

const NOW = Date.UTC(2030, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const keys = {
  network: { pk: 'ATTEMPTS#login', sk: 'NETWORK#home' },
  elsewhere: { pk: 'ATTEMPTS#login', sk: 'ELSEWHERE' },
  source: { pk: 'ATTEMPTS#address', sk: 'SOURCE' },
};
const LIMITS = { failuresPerSource: 100, requestsPerSource: 1000 };
const noFailures: Failures = { network: undefined, elsewhere: undefined, source: undefined };
const failures = (n: number, ago = 0, knownFor = DAY) => ({ n, last: NOW - ago, expires: (NOW + knownFor) / 1000 });

const attempt = (counts: Partial<Failures>, arrivedAt = NOW) =>
  recordAttempt(keys, { ...noFailures, ...counts }, { now: NOW, arrivedAt, ...LIMITS });
const writtenBy = (counts: Partial<Failures>) =>
  attempt(counts).writes.map(({ key, attributes, values }) => ({ key, ...attributes, ...values }));
const tooManyAttempts = (retryAfter: number) => expect.objectContaining({ code: 'too-many-attempts', retryAfter });

describe('the wait before the next login attempt', () => {
  it('doubles from the tenth failure on, up to 900 seconds', () => {
    const failures = [0, 9, 10, 11, 12, 19, 20, 1000, 5000];

    expect(failures.map(waitAfter)).toEqual([0, 0, 1, 2, 4, 512, 900, 900, 900]);
  });

  it('starts at the last failure and is reported in whole seconds', () => {
    expect(() => attempt({ elsewhere: failures(13, 1) })).toThrow(tooManyAttempts(8));
    expect(() => attempt({ elsewhere: failures(13, 7999) })).toThrow(tooManyAttempts(1));
    expect(attempt({ elsewhere: failures(13, 8000) }).result).toBe(false);
  });

  it('applies to a request that arrived before its end, even if it is processed later', () => {
    expect(() => attempt({ elsewhere: failures(13, 8000) }, NOW - 1)).toThrow(tooManyAttempts(1));
  });

  it('does not delay a request that arrived before a concurrent attempt was counted', () => {
    expect(writtenBy({ elsewhere: failures(3, 0) })[0]).toMatchObject({ key: keys.elsewhere, n: 4 });
    expect(attempt({ elsewhere: failures(3, 0) }, NOW - 1000).writes).toHaveLength(1);
  });

  it('starts over a day after the last failure', () => {
    expect(() => attempt({ elsewhere: { ...failures(500), last: NOW + 1 - DAY } }, NOW - DAY)).toThrow(
      tooManyAttempts(1),
    );
    expect(writtenBy({ elsewhere: failures(500, DAY) })[0]).toMatchObject({ n: 1, last: NOW });
    expect(writtenBy({ network: failures(500, DAY) })[0]).toMatchObject({ n: 1, last: NOW });
  });
});

describe('a known network', () => {
  it('has its own failure count', () => {
    const [counted] = writtenBy({ network: failures(2, 0, 20 * DAY), elsewhere: failures(500) });

    expect(counted).toMatchObject({ key: keys.network, n: 3, expires: (NOW + 20 * DAY) / 1000 });
    expect(() => attempt({ network: failures(10), elsewhere: failures(2) })).toThrow(tooManyAttempts(1));
  });

  it('is known for 30 days after a login, even if DynamoDB has not deleted its expired item yet', () => {
    const [remembered] = clearFailures(keys, true, NOW);
    expect(remembered).toMatchObject({
      key: keys.network,
      attributes: { n: 0, last: NOW, expires: (NOW + 30 * DAY) / 1000 },
    });

    expect(() => attempt({ network: failures(2, 0, 0), elsewhere: failures(500) })).toThrow(tooManyAttempts(900));
  });
});

describe('a successful login', () => {
  it('clears the failure count that applied to it and takes back the failure of its source', () => {
    const reset = (isKnown: boolean) => clearFailures(keys, isKnown, NOW).map(({ key }) => key);

    expect(reset(true)).toEqual([keys.network]);
    expect(reset(false)).toEqual([keys.network, keys.elsewhere]);
    expect(takeBackFailure(keys.source, NOW)).toMatchObject({ key: keys.source, values: { ':one': 1 } });
  });

  it('leaves a source count that expires, even if an operator has deleted it in the meantime', () => {
    const takenBack = takeBackFailure(keys.source, NOW);

    expect(takenBack.update).toContain('#expires = if_not_exists(#expires, :expires)');
    expect(takenBack.values).toMatchObject({ ':since': NOW, ':expires': NOW / 1000 + 15 * 60 + 60 });
  });
});

describe('a password set with a mailed reset key', () => {
  it('clears the failures of the login and makes the network known, but keeps the failures of the source', () => {
    expect(mailboxProven(keys, NOW).map(({ key, attributes }) => [key, attributes])).toEqual([
      [keys.network, { n: 0, last: NOW, expires: (NOW + 30 * DAY) / 1000 }],
      [keys.elsewhere, { n: 0, last: NOW, expires: (NOW + DAY) / 1000 }],
    ]);
  });
});

describe('a source', () => {
  const sourceFailures = (n: number, ago: number, requests = n) => ({ n, requests, since: NOW - ago, expires: 0 });

  const count = (source: Failures['source'], failures: 0 | 1 = 1, arrivedAt = NOW) =>
    recordRequest(keys.source, source, failures, { now: NOW, arrivedAt, ...LIMITS });

  it('is rejected after its limit of failures until the 15-minute window ends', () => {
    expect(count(sourceFailures(99, HOUR / 4 - 1)).values).toMatchObject({
      ':failures': 1,
      ':one': 1,
      ':failureLimit': 100,
    });
    for (const act of [attempt, ({ source }: Partial<Failures>) => count(source)]) {
      expect(() => act({ source: sourceFailures(100, 60_000) })).toThrow(tooManyAttempts(840));
    }
  });

  it('is rejected after its limit of requests, successful or not, until the 15-minute window ends', () => {
    expect(count(sourceFailures(0, HOUR / 4 - 1, 999), 0).values).toMatchObject({
      ':failures': 0,
      ':requestLimit': 1000,
    });
    for (const act of [attempt, ({ source }: Partial<Failures>) => count(source)]) {
      expect(() => act({ source: sourceFailures(0, 60_000, 1000) })).toThrow(tooManyAttempts(840));
    }
    expect(() => count(sourceFailures(0, HOUR / 4, 1000), 0, NOW - 1)).toThrow(tooManyAttempts(1));
  });

  it('starts a new window when the last one is over or there is none', () => {
    for (const source of [sourceFailures(5000, HOUR / 4), undefined]) {
      const { update, values } = count(source);

      expect(update).toMatch(/^SET #n = :failures, #requests = :one/);
      expect(values).toMatchObject({ ':failures': 1, ':one': 1, ':since': NOW });
    }
  });

  it('is counted from an item of an earlier release that lacks its requests or its start time', () => {
    const { requests: _, ...withoutRequests } = sourceFailures(5, 1000);
    const timeless = { n: -1 } as unknown as Failures['source'];

    expect(count(withoutRequests).condition).toContain('attribute_not_exists(#requests) OR');
    expect(count(timeless)).toMatchObject({ condition: 'attribute_not_exists(#since)', values: { ':since': NOW } });
  });

  it('waits for the longer of its own wait and that of the login', () => {
    expect(() => attempt({ source: sourceFailures(100, HOUR / 4 - 1000), elsewhere: failures(20) })).toThrow(
      tooManyAttempts(900),
    );
    expect(() => attempt({ source: sourceFailures(100, 0), elsewhere: failures(10) })).toThrow(tooManyAttempts(900));
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
  ])('with the address %s has the network %s and the machine %s', (address, network, machine) => {
    expect([networkOf(address), machineOf(address)]).toEqual([network, machine]);
  });

  it('with an unreadable address is handled like any other', () => {
    expect(() => [networkOf(''), machineOf('nowhere'), networkOf('a::b::c')]).not.toThrow();
  });
});
