import { beforeEach, expect, it, vi } from 'vitest';
import { loginKeys } from '../../lib/throttle/attempt-items.ts';
import {
  clearFailures,
  countFor,
  type LoginCounts,
  mayAdmit,
  ownerAdmitted,
  recordAttempt,
  takeBackAttempt,
} from '../../lib/throttle/login-throttle-rules.ts';
import {
  sourceBlockedUntil,
  sourceCounts,
  tooManyAttempts,
} from '../../lib/throttle/source-throttle.ts';

/* How attempts and sources are counted, decision by decision. */

/** Deliberately not a whole second; an hour and a window of sources have just begun. */
const NOW = Date.UTC(2030, 0, 1) + 700;
const SECOND = Math.floor(NOW / 1000);
const DAY = 86_400;
const HOUR = `${(NOW - 700) / 3_600_000} `;
const keys = loginKeys('ada', '203.0.113.7', (text) => text.replace('203.0.113 ', 'net-home-'));
const MARK = `${HOUR}net-home`;
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }));

/** A stored count of failures, the last of them now unless given. */
const failures = (n: number, last = NOW, expires = SECOND + DAY) => ({ n, last, expires });
const marked = (mark: string) => ({ ...failures(1), audited: [HOUR + mark] });
const countAt = (counts: LoginCounts, hasRecoveryCode = false) =>
  countFor(keys, counts, NOW, hasRecoveryCode);

const elsewhere = failures(20);
const byMail = true as const;
const [HOME, AWAY] = ['NETWORK#net-home-ada', 'ELSEWHERE'];
it.each<[string, LoginCounts, sk: string, n: number, waitSeconds: number]>([
  ['no failure', {}, AWAY, 0, 0],
  ['nine failures', { elsewhere: failures(9) }, AWAY, 9, 0],
  ['ten failures', { elsewhere: failures(10) }, AWAY, 10, 1],
  ['nineteen failures', { elsewhere: failures(19) }, AWAY, 19, 512],
  ['twenty failures', { elsewhere }, AWAY, 20, 900],
  ['very many failures', { elsewhere: failures(5000) }, AWAY, 5000, 900],
  ['less than a day', { elsewhere: failures(5, NOW - DAY * 1000 + 1) }, AWAY, 5, 0],
  ['a day', { elsewhere: failures(5, NOW - DAY * 1000) }, AWAY, 0, 0],
  ['a day at home', { network: failures(30, NOW - DAY * 1000) }, HOME, 0, 0],
  ['two failures in a known network', { network: failures(2), elsewhere }, HOME, 2, 0],
  [
    'the end of a known network',
    { network: failures(2, NOW, NOW / 1000), elsewhere },
    AWAY,
    20,
    900,
  ],
  ['the last of it', { network: failures(2, NOW, NOW / 1000 + 0.001), elsewhere }, HOME, 2, 0],
  ['nine failures after a reset', { network: { ...failures(9), byMail }, elsewhere }, HOME, 9, 0],
  [
    'ten failures after a reset',
    { network: { ...failures(10), byMail }, elsewhere },
    AWAY,
    20,
    900,
  ],
  ['four recovery codes', { elsewhere, recovery: failures(4) }, 'RECOVERY', 4, 0],
  ['five recovery codes', { elsewhere, recovery: failures(5) }, 'RECOVERY', 5, DAY],
])('an attempt after %s is counted and waits', (_, counts, sk, n, waitSeconds) => {
  const { key, before, blockedUntil } = countAt(counts, 'recovery' in counts);

  expect([key, before.n]).toEqual([{ pk: 'ATTEMPTS#ada', sk }, n]);
  expect(blockedUntil).toBe(waitSeconds && before.last + waitSeconds * 1000);
});

const CONDITION = { names: { '#n': 'n', '#last': 'last' }, onConditionFailed: 'retry' };
const unchanged = (n: number, last: number) => ({
  ...CONDITION,
  condition: '#n = :n AND #last = :last',
  values: { ':n': n, ':last': last },
});

it.each<[string, LoginCounts, number, object]>([
  [
    'a day after the attempt elsewhere',
    {},
    SECOND + DAY,
    { condition: 'attribute_not_exists(pk)' },
  ],
  [
    'a day after the last of several attempts elsewhere',
    { elsewhere: failures(3, NOW - 5000, SECOND + 10) },
    SECOND + DAY,
    unchanged(3, NOW - 5000),
  ],
  [
    'as before in a known network',
    { network: failures(3, NOW - 5000, SECOND + 10) },
    SECOND + 10,
    unchanged(3, NOW - 5000),
  ],
])('an attempt is a failure of a count that expires %s, unless another was counted', (...row) => {
  const [, counts, expires, condition] = row;
  const count = countAt(counts);

  const { writes, result } = recordAttempt(count, NOW);

  const counted = { ...failures(count.before.n + 1, NOW, expires), audited: [MARK] };
  expect(writes).toMatchObject([{ act: 'Put', key: count.key, attributes: counted, ...condition }]);
  expect(takeBackAttempt(result)).toEqual({
    act: 'Put',
    key: count.key,
    attributes: { n: count.before.n, last: count.before.last, expires },
    ...unchanged(count.before.n + 1, NOW),
  });
});

it.each<[string, readonly string[], boolean, readonly string[]]>([
  ['in no network yet', [], true, [MARK]],
  ['in another network', [`${HOUR}net-away`], true, [`${HOUR}net-away`, MARK]],
  ['in an earlier hour', ['1 net-home', '1 net-away'], true, [MARK]],
  ['already', [MARK], false, [MARK]],
])('a failure is audited if one was audited in this hour %s', (_, audited, isFirst, marks) => {
  const { result } = recordAttempt(countAt({ elsewhere: { ...failures(1), audited } }), NOW);

  expect([result.isFirst, result.counted.audited]).toEqual([isFirst, marks]);
});

it.each<[string, LoginCounts, keyof typeof keys | undefined, string[]]>([
  ['elsewhere', { elsewhere: marked('a') }, 'elsewhere', ['a']],
  ['in a known network', { network: marked('c'), elsewhere: marked('a') }, undefined, ['c']],
  ['a recovery code', { elsewhere: marked('a'), recovery: marked('b') }, 'elsewhere', ['a', 'b']],
])('the right password clears its failures and keeps what was audited: %s', (...row) => {
  const [, counts, also, marks] = row;
  const count = countAt(counts, 'recovery' in counts);

  const cleared = { n: 0, last: NOW, audited: marks.map((mark) => HOUR + mark) };
  const put = (name: keyof typeof keys, days: number) => ({
    act: 'Put',
    key: keys[name],
    attributes: { ...cleared, expires: SECOND + days * DAY },
  });
  expect(clearFailures(keys, NOW, count)).toEqual([
    put('network', 30),
    ...(also ? [put(also, 1)] : []),
  ]);
});

it.each<[string, LoginCounts['network'], object]>([
  ['unknown', undefined, { expires: SECOND + DAY, byMail }],
  ['known by a log-in', failures(9, NOW, SECOND + 10), { expires: SECOND + 10 }],
  ['no longer known', failures(9, NOW, SECOND), { expires: SECOND + DAY, byMail }],
  ['known by a mailed key', { ...failures(9), byMail }, { expires: SECOND + DAY, byMail }],
])('a reset gives ten free attempts to a network that is %s', (_, network, known) => {
  const [write] = ownerAdmitted(keys, network, NOW);

  expect(write?.attributes).toEqual({ n: 0, last: NOW, ...known });
  expect(write).toMatchObject({ key: keys.network, ...(network && unchanged(9, NOW)) });
});

it('a reset gives them once a day', () => {
  const mayAdmitAfter = (ms: number) => mayAdmit({ admittedAt: NOW - ms }, NOW);

  expect([mayAdmit({}, NOW), ...[DAY * 1000 - 1, DAY * 1000].map(mayAdmitAfter)]).toEqual([
    ...[true, false, true],
  ]);
});

const IPV6 = '2001:db8:1:2:3::4';
it.each<[string, 'SOURCE' | 'RESETS' | 'MODULES', string, string[], number[], number[]]>([
  ['attempts at logins', 'SOURCE', '203.0.113.7', ['203.0.113.7'], [70], [700]],
  ['resets', 'RESETS', '203.0.113.7', ['203.0.113.7'], [70], [70]],
  ['modules', 'MODULES', IPV6, ['2001:db8:1:2', '2001:db8:1'], [70, 700], [700, 7000]],
])('%s of a source have counts of their own: %s', (...row) => {
  const [, kind, address, sources, failuresMax, requestsMax] = row;
  const source = { address, arrivedAt: NOW };

  const counts = sourceCounts(kind, source, String, 70);

  const sk = `${kind}#${(NOW - 700) / 900_000}`;
  expect(counts.map(({ key }) => key)).toEqual(sources.map((of) => ({ pk: `ATTEMPTS#${of}`, sk })));
  expect(counts.map((count) => count.failuresMax)).toEqual(failuresMax);
  expect(counts.map((count) => count.requestsMax)).toEqual(requestsMax);
});

it.each<[string, object[], boolean]>([
  [
    'less than each limit',
    [
      { n: 69, requests: 699 },
      { n: 699, requests: 6999 },
    ],
    false,
  ],
  ['as many failures as its /64 may', [{ n: 70, requests: 70 }], true],
  ['as many requests as its /64 may', [{ n: 0, requests: 700 }], true],
  ['as many failures as its /48 may', [{}, { n: 700, requests: 700 }], true],
])('a source that has sent %s waits for the end of its window: %s', (_, stored, isBlocked) => {
  // In the window before the present one.
  const arrivedAt = NOW - 1000;
  const counts = sourceCounts('SOURCE', { address: IPV6, arrivedAt }, String, 70);

  expect(sourceBlockedUntil(counts, stored)).toBe(isBlocked ? NOW - 700 : 0);
});

it.each([
  [1, 1],
  [1000, 1],
  [1001, 2],
  [-5000, 1],
])('a wait that ends in %i ms is stated as %i seconds', (ms, retryAfter) => {
  expect(tooManyAttempts(NOW + ms)).toMatchObject({ code: 'too-many-attempts', retryAfter });
});
