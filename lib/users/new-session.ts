import { randomBytes } from 'node:crypto';
import type { Source } from '../contract/source.ts';
import { type Session, sessionCounts } from './session-item.ts';
import type { User } from './user.ts';

// Browsers name themselves at the end: Edge and Opera after 110 to 150 characters.
const USER_AGENT_LENGTH_MAX = 255;

/**
 * The program that the client claims to be, without what a page, a log or a terminal could
 * interpret.
 */
const harmless = (userAgent: string): string =>
  userAgent.replace(/[^\w ()/;:.,+-]/g, '').slice(0, USER_AGENT_LENGTH_MAX);

/** A random series that begins with the time, so that the latest sessions can be read first. */
const newSeries = (now: number): string =>
  now.toString(36).padStart(9, '0') + randomBytes(9).toString('base64url');

/** A session that begins now, in milliseconds since 1970, and lasts `lifetime` seconds. */
export function newSession(
  user: User,
  { address, userAgent = '' }: Source,
  proof: Pick<Session, 'remembered' | 'secondFactor' | 'issuer'>,
  lifetime: number,
  now: number,
): Session {
  return {
    jti: newSeries(now),
    startedAt: new Date(now).toISOString(),
    expires: Math.floor(now / 1000) + lifetime,
    ipAddress: address,
    userAgent: harmless(userAgent),
    ...proof,
    ...sessionCounts(user),
  };
}
