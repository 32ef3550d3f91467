import * as v from 'valibot';
import { count, type ItemDeclaration, text } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';
import { attributesOf, type Item, type OnConsumed, type Table } from '../table/table.ts';
import { put, type Write } from '../table/write.ts';
import type { User } from '../users/user.ts';
import { isLive, type Session } from './session.ts';

const sessionsPartition = (userId: number): string => `SESSION#${idText(userId)}`;
export const sessionKey = (userId: number, series: string): Key => ({
  pk: sessionsPartition(userId),
  sk: series,
});
/** The series begins with the time. */
export const sessionItem: ItemDeclaration = {
  pk: 'SESSION#<user id>',
  sk: '<series>',
  name: 'session',
  attributes: () =>
    v.object({
      jti: text,
      startedAt: text,
      ipAddress: text,
      userAgent: text,
      remembered: v.boolean(),
      secondFactor: v.boolean(),
      passwordChanges: count,
      sessionEndings: count,
      expires: count,
    }),
  personal: ['startedAt', 'ipAddress', 'userAgent', 'remembered', 'expires'],
  onForget: 'delete',
  onRestore: 'delete',
};

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
