import type { Session } from '../../../lib/sessions/session.ts';
import type { User } from '../../../lib/users/user.ts';

/** A session of this user, as a log-in stores it. */
export const storedSession = (
  { incarnation, passwordChanges, sessionEndings = 0 }: User,
  fields: Partial<Session> = {},
): Session => ({
  jti: 'series',
  startedAt: '2030-01-01T00:00:00.000Z',
  expires: 1_893_459_600,
  ipAddress: '198.51.100.7',
  userAgent: 'curl/8.5.0',
  remembered: false,
  secondFactor: false,
  incarnation,
  passwordChanges,
  sessionEndings,
  ...fields,
});
