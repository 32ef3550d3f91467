import { describe, expect, it } from 'vitest';
import { isLive, newSession } from '../../lib/sessions/session.ts';
import {
  allSessionsEnded,
  ENDED_SESSIONS_MAX,
  isEnded,
  sessionEnded,
} from '../../lib/users/token-validity.ts';
import type { User } from '../../lib/users/user.ts';
import { storedSession, storedUser } from '../support/doubles/stored-items.ts';

/* The condition of transactions that states the same is tested by test/interleavings. */

const NOW = Date.UTC(2030, 0, 1);
const SECONDS = NOW / 1000;
const user = { incarnation: 'first', passwordChanges: 2, sessionEndings: 1 } as User;
const token = storedSession(user, { jti: 'mine', expires: SECONDS + 60 });

/* Which tokens end is shown in test/api/unauthorized.test.ts and sessions.test.ts. */
describe('a token', () => {
  it('has ended after a restore that undoes a new password', () => {
    expect(isEnded({ ...user, passwordChanges: 1 }, token)).toBe(true);
  });

  it('of a session that ends after it was excepted has ended', () => {
    const excepted = { ...user, ...allSessionsEnded(user, 'mine') };

    expect(isEnded(excepted, token)).toBe(false);
    expect(isEnded({ ...excepted, ...sessionEnded(excepted, token, NOW) }, token)).toBe(true);
  });
});

describe('a user', () => {
  const series = (count: number, expires: number) =>
    Array.from({ length: count }, (_, n) => `${expires}-${n}`);

  it('records ended sessions until their tokens have expired by every clock', () => {
    const sessionsEnded = new Set([`${SECONDS - 61}-past`, `${SECONDS - 60}-last`]);

    expect(sessionEnded({ ...user, sessionsEnded }, token, NOW)).toEqual({
      sessionsEnded: new Set([`${SECONDS - 60}-last`, `${SECONDS + 60}-mine`]),
    });
  });

  it.each([
    [ENDED_SESSIONS_MAX - 1, 'other', undefined],
    [ENDED_SESSIONS_MAX, 'other', 'other'],
    // The session that ends is not kept.
    [ENDED_SESSIONS_MAX, 'mine', undefined],
  ])('with %i ended sessions keeps %s when one more ends', (count, kept, tokenExcepted) => {
    const before = { ...user, sessionsEnded: new Set(series(count, SECONDS + 9)) };

    const after = sessionEnded(before, token, NOW, kept);

    expect(after).toEqual(
      count < ENDED_SESSIONS_MAX
        ? { sessionsEnded: new Set([...before.sessionsEnded, `${SECONDS + 60}-mine`]) }
        : { sessionEndings: 2, sessionsEnded: undefined, tokenExcepted },
    );
  });
});

it.each<[string, object, number, boolean]>([
  ['in its last millisecond', {}, NOW + 59_999, true],
  ['when its token expires', {}, NOW + 60_000, false],
  ['of an earlier account', { incarnation: 'next' }, NOW, false],
])('a session is listed only while it is live: %s', (_, changes, now, expected) => {
  expect(isLive(token, { ...user, ...changes }, now)).toBe(expected);
});

it('a session lasts as long as its token, and names no more of the client', () => {
  const ada = storedUser(7, 'ada');
  const source = { address: '203.0.113.7', arrivedAt: NOW };
  const traits = { remembered: false, secondFactor: true };
  const userAgent = `<b>é\u0000"curl"</b> (8.5; x_86/64: +a,b) ${'x'.repeat(300)}`;
  const session = newSession(ada, { ...source, userAgent }, traits, 3600, NOW + 999);

  expect(session).toEqual({
    jti: expect.stringMatching(/^0[a-z\d]{8}[\w-]{12}$/),
    startedAt: '2030-01-01T00:00:00.999Z',
    expires: SECONDS + 3600,
    ipAddress: '203.0.113.7',
    userAgent: `bcurl/b (8.5; x_86/64: +a,b) ${'x'.repeat(226)}`,
    ...traits,
    incarnation: 'adas',
    passwordChanges: 0,
    sessionEndings: 0,
  });
  expect(newSession(ada, source, traits, 3600, NOW).userAgent).toBe('');
  expect(newSession(ada, source, traits, 3600, NOW + 999).jti).not.toBe(session.jti);
  expect(newSession(ada, source, traits, 3600, NOW + 1000).jti > session.jti).toBe(true);
});
