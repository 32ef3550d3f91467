import { attributesOf, type Item, type OnConsumed, type Table } from '../table/table.ts';
import { put, type Write } from '../table/write.ts';
import type { User } from '../users/user.ts';
import { isLive, type Session } from './session.ts';
import { sessionKey, sessionsPartition } from './session-item.ts';

/** The latest sessions of a user that are read for a list. */
const LISTED_SESSIONS_MAX = 1000;

const sessionOf = (item: Item): Session => attributesOf(item) as unknown as Session;

/** The session of this user and series, or undefined. */
export async function findSession(
  table: Table,
  userId: number,
  series: string,
): Promise<Session | undefined> {
  const item = await table.get(sessionKey(userId, series));
  return item && sessionOf(item);
}

/** The sessions of a user that have not ended, the latest first. */
export async function findLiveSessions(
  table: Table,
  user: User,
  onConsumed: OnConsumed,
): Promise<Session[]> {
  const range = { backwards: true, limit: LISTED_SESSIONS_MAX };
  const items = await table.query(sessionsPartition(user.id), range, onConsumed);
  return items.map(sessionOf).filter((session) => isLive(session, user, Date.now()));
}

/** The write that stores a session of the user, as of the transaction of its log-in. */
export const sessionStarted = ({ id }: User, session: Session): Write =>
  put(sessionKey(id, session.jti), { ...session });
