import { describe, expect, it } from 'vitest';
import { type Counts, forgiveness, reservation, waitAfter } from '../lib/accounts/attempts.ts';
import { machineOf, networkOf } from '../lib/accounts/source.ts';

const NOW = Date.UTC(2030, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const keys = {
  network: { pk: 'ATTEMPTS#login', sk: 'NETWORK#home' },
  elsewhere: { pk: 'ATTEMPTS#login', sk: 'ELSEWHERE' },
  source: { pk: 'ATTEMPTS#address', sk: 'SOURCE' },
};
const nothing: Counts = { network: undefined, elsewhere: undefined, source: undefined };
const failures = (n: number, ago = 0, known = DAY) => ({ n, last: NOW - ago, expires: (NOW + known) / 1000 });

const reserve = (counts: Partial<Counts>, arrivedAt = NOW) =>
  reservation(keys, { ...nothing, ...counts }, { now: NOW, arrivedAt, failuresPerSource: 100 });
const writtenBy = (counts: Partial<Counts>) =>
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
    expect(reserve({ elsewhere: failures(3, 0) }, NOW - 1000).writes).toHaveLength(2);
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
    const [remembered] = forgiveness(keys, true, NOW);
    expect(remembered).toMatchObject({
      key: keys.network,
      attributes: { n: 0, last: NOW, expires: (NOW + 30 * DAY) / 1000 },
    });

    expect(() => reserve({ network: failures(2, 0, 0), elsewhere: failures(500) })).toThrow(refused(900));
  });
});

describe('a right guess', () => {
  it('resets the count that it fell under, and gives back what it took from the source', () => {
    const reset = (isKnown: boolean) => forgiveness(keys, isKnown, NOW).map(({ key }) => key);

    expect(reset(true)).toEqual([keys.network, keys.source]);
    expect(reset(false)).toEqual([keys.network, keys.elsewhere, keys.source]);
  });
});

describe('a source', () => {
  const flood = (n: number, ago: number) => ({ n, since: NOW - ago, expires: 0 });

  it('may fail so often in a quarter of an hour, then waits for its end', () => {
    expect(writtenBy({ source: flood(99, HOUR / 4 - 1) })[1]).toMatchObject({ key: keys.source, ':amount': 1 });
    expect(() => reserve({ source: flood(100, 60_000) })).toThrow(refused(840));
    expect(writtenBy({ source: flood(5000, HOUR / 4) })[1]).toMatchObject({ n: 1, since: NOW });
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
