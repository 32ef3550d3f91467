import * as v from 'valibot';
import type { Role, Scope } from '../contract/contract.ts';
import { count, type ItemDeclaration, id, text } from '../table/item-kind.ts';
import { idText, type Key } from '../table/keys.ts';
import { attributesOf, type Item, type OnConsumed, type Table } from '../table/table.ts';
import { EXISTS, put, remove, set, type Write } from '../table/write.ts';
import type { Caller } from './caller.ts';
import type { User } from './user.ts';

/*
 * Sessions and API tokens: here, because changes of a user end them, and a deletion lets sessions
 * read on.
 */

/**
 * A session of a user, as stored until its token expires. It ends when its item is deleted or its
 * user has a higher count.
 */
export interface Session extends SessionCounts {
  /** The id of its token (RFC 7519, 4.1.7), which clients know as the series of the session. */
  readonly jti: string;
  /** Seconds since 1970. */
  readonly expires: number;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly ipAddress: string;
  readonly userAgent: string;
  /** Whether the log-in asked for the longer lifetime. */
  readonly remembered: boolean;
  /** Whether the log-in had a code, or the identity provider required a second factor. */
  readonly secondFactor: boolean;
  /** The identity provider with which it began; undefined after one with a password. */
  readonly issuer?: string | undefined;
  /** The user as of the deletion, after which the session can still read. */
  readonly deletedUser?: AccessState | undefined;
}

/**
 * How often the password of the user was changed and all sessions were ended. A session ends when
 * its user has a higher count; one that is to stay receives the new counts with its user.
 */
export const SESSION_COUNTS = [
  'passwordChanges',
  'sessionEndings',
] as const satisfies (keyof User)[];
export type SessionCounts = Required<Pick<User, (typeof SESSION_COUNTS)[number]>>;

/**
 * What decides on a user's access, even after the deletion of the user. A stored user satisfies it.
 */
export interface AccessState {
  readonly authorities: readonly Role[];
  readonly secondFactor?: User['secondFactor'] | boolean;
}

const partition = (userId: number): string => `SESSION#${idText(userId)}`;
export const sessionKey = ({ id, jti }: Pick<Caller, 'id' | 'jti'>): Key => ({
  pk: partition(id),
  sk: jti,
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
      issuer: v.optional(text),
      passwordChanges: count,
      sessionEndings: count,
      deletedUser: v.optional(v.object({ authorities: v.array(text), secondFactor: v.boolean() })),
      expires: count,
    }),
  personal: ['startedAt', 'ipAddress', 'userAgent', 'remembered', 'issuer', 'expires'],
  onForget: 'delete',
  onRestore: 'delete',
};

export const sessionOf = (item: Item): Session => attributesOf(item) as unknown as Session;

/** The response form of a session; `current` is the one that makes the request. */
export const sessionView = (session: Session, currentSeries: string) => ({
  series: session.jti,
  tokenDate: session.startedAt,
  ipAddress: session.ipAddress,
  userAgent: session.userAgent,
  remembered: session.remembered,
  secondFactor: session.secondFactor,
  issuer: session.issuer ?? null,
  expires: new Date(session.expires * 1000).toISOString(),
  current: session.jti === currentSeries,
});

/** The counts of a user, with which a new session starts. */
export const sessionCounts = ({ passwordChanges, sessionEndings = 0 }: User): SessionCounts => ({
  passwordChanges,
  sessionEndings,
});

/** The attributes of a user all of whose sessions and API tokens end. */
export const allSessionsAndTokensEnded = (user: User) => ({
  ...allSessionsEnded(user),
  tokens: undefined,
});

/** The attributes of a user all of whose sessions end; API tokens stay. */
export const allSessionsEnded = ({ sessionEndings = 0 }: User) => ({
  sessionEndings: sessionEndings + 1,
});

/**
 * Whether the session has not ended. Its item and the user may have been read one after the other:
 * between the two reads, a change that keeps the session can have raised the counts of both. `now`
 * is in milliseconds since 1970.
 */
export const isLive = (session: Session, user: User, now: number): boolean =>
  now < session.expires * 1000 &&
  session.passwordChanges >= user.passwordChanges &&
  session.sessionEndings >= (user.sessionEndings ?? 0);

/** Whether the session began with a second factor that the account itself does not have. */
export const hasProvidersFactor = ({ issuer, secondFactor }: Session): boolean =>
  issuer !== undefined && secondFactor;

/** The session with this series, or undefined. */
export async function findSession(
  table: Table,
  session: Pick<Caller, 'id' | 'jti'>,
): Promise<Session | undefined> {
  const item = await table.get(sessionKey(session));
  return item && sessionOf(item);
}

/** Some of them have ended: DynamoDB deletes their items within days. */
const SESSIONS_READ_MAX = 1000;

/** The sessions of a user that have not ended, among the latest ones that are read. */
export async function findLiveSessions(
  table: Table,
  user: User,
  onConsumed?: OnConsumed,
): Promise<Session[]> {
  const latest = { backwards: true, limit: SESSIONS_READ_MAX };
  const items = await table.query(partition(user.id), latest, onConsumed);
  return items.map(sessionOf).filter((session) => isLive(session, user, Date.now()));
}

/** The write that stores a session of the user, as of the transaction of its log-in. */
export const sessionStarted = ({ id }: User, session: Session): Write =>
  put(sessionKey({ id, jti: session.jti }), { ...session });

/** The write that ends a session, on condition that it has not ended. */
export const sessionEnded = (session: Pick<Caller, 'id' | 'jti'>): Write =>
  remove(sessionKey(session), EXISTS);

/**
 * The write that keeps the session of a change that raises a count of its user, and so ends the
 * others. The change itself has the condition that the session exists.
 */
export function sessionKept(caller: Caller, user: User, raised: keyof SessionCounts): Write {
  const counts = sessionCounts(user);
  return set(sessionKey(caller), { ...counts, [raised]: counts[raised] + 1 });
}

/**
 * How many of the latest sessions can still read after a deletion: a transaction has at most 100
 * actions.
 */
export const OUTLIVING_SESSIONS_MAX = 50;

/** The write that lets a session read on after the deletion of its user. */
export const sessionOutlives = (user: User, session: Session): Write =>
  set(
    sessionKey({ id: user.id, jti: session.jti }),
    {
      deletedUser: {
        authorities: user.authorities,
        secondFactor: user.secondFactor !== undefined || hasProvidersFactor(session),
      },
    },
    EXISTS,
  );

/**
 * An API token, as stored until it expires. It ends when `tokens` of its user lists it no more, so
 * that whatever ends all sessions ends it as well, but a new password does not.
 */
export interface ApiToken {
  /** Its name in the API and in the audit trail. */
  readonly series: string;
  readonly userId: number;
  /** SHA-256 of the whole token. */
  readonly hash: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** ISO 8601, UTC. */
  readonly createdDate: string;
  /** Seconds since 1970. */
  readonly expires: number;
}

/**
 * In a partition of its own, which only those who know the series can name: requests with invented
 * tokens must not keep the items of a user busy.
 */
export const apiTokenKey = (series: string): Key => ({ pk: `TOKEN#${series}`, sk: 'TOKEN' });
export const apiTokenItem: ItemDeclaration = {
  pk: 'TOKEN#<series>',
  sk: 'TOKEN',
  name: 'API token',
  attributes: () =>
    v.object({
      series: text,
      userId: id,
      name: text,
      scopes: v.array(text),
      createdDate: text,
      expires: count,
    }),
  personal: ['name', 'scopes', 'createdDate', 'expires'],
  personIn: 'userId',
  onForget: 'delete',
  onRestore: 'delete',
};

export const apiTokenOf = (item: Item): ApiToken => attributesOf(item) as unknown as ApiToken;

/** The key of the item that ends with the session or the API token of a caller. */
export const keyOfCaller = (caller: Caller): Key =>
  caller.scopes ? apiTokenKey(caller.jti) : sessionKey(caller);
