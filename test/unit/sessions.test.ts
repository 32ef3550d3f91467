import { expect, it } from 'vitest';
import { newSession } from '../../lib/sessions/session.ts';
import { sessionEnded } from '../../lib/users/token-validity.ts';
import { storedUser } from '../support/doubles/stored-items.ts';

const NOW = Date.UTC(2030, 0, 1);
const SECONDS = NOW / 1000;
const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };

const ada = storedUser(7, 'ada');

it('a session lasts as long as its token, and names no more of the client', () => {
  const traits = { remembered: false, secondFactor: true };
  const userAgent = `<b>é\u0000"curl"</b> (8.5; x_86/64: +a,b) ${'x'.repeat(300)}`;
  const session = newSession(ada, { ...SOURCE, userAgent }, traits, 3600, NOW + 999);

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
  expect(newSession(ada, SOURCE, traits, 3600, NOW).userAgent).toBe('');
  expect(newSession(ada, SOURCE, traits, 3600, NOW + 999).jti).not.toBe(session.jti);
  expect(newSession(ada, SOURCE, traits, 3600, NOW + 1000).jti > session.jti).toBe(true);
});

it.each([
  ['keeps the current one', 'older', 'mine'],
  ['ends all others if it is the current one', 'mine', undefined],
])('ending one session too many %s', (_, jti, tokenExcepted) => {
  const expires = SECONDS + 60;
  const sessionsEnded = new Set(Array.from({ length: 50 }, (_, n) => `${expires}-${n}`));

  const ended = sessionEnded({ ...ada, sessionsEnded }, { jti, expires }, NOW, 'mine');

  expect(ended).toEqual({ sessionEndings: 1, tokenExcepted, sessionsEnded: undefined });
});
