import type { Condition } from '../table/write.ts';
import type { User } from './user.ts';

/** The tolerated difference between the clocks of two machines. */
export const CLOCK_SKEW_SECONDS = 60;

/** The attributes of a user that decide on its tokens. */
export const TOKEN_STATE = [
  'activated',
  'incarnation',
  'passwordChanges',
  'sessionEndings',
  'tokenExcepted',
  'sessionsEnded',
] as const satisfies (keyof User)[];
/** They are kept when the user is deleted. */
export type TokenState = Pick<User, (typeof TOKEN_STATE)[number]>;

/** What a token states about the time at which it was issued. */
export interface IssuedToken {
  readonly incarnation: string;
  /** The token's id (RFC 7519, 4.1.7), which is the series of its session. */
  readonly jti: string;
  /** Seconds since 1970. */
  readonly expires: number;
  /** The number of password changes by then. */
  readonly passwordChanges: number;
  /** The number of times that all sessions of the user were ended by then. */
  readonly sessionEndings: number;
}

/** How many sessions can end one by one before their tokens expire: the item of a user is small. */
export const ENDED_SESSIONS_MAX = 50;

/** How an ended session is stored in its user, until its token expires. */
const endedToken = ({ expires, jti }: Pick<IssuedToken, 'expires' | 'jti'>): string =>
  `${expires}-${jti}`;

/**
 * Whether the token was issued for this account; false if it was deleted, even if its id was
 * assigned again.
 */
export const isOfAccount = <U extends TokenState>(
  user: U | undefined,
  { incarnation }: IssuedToken,
): user is U => user !== undefined && user.incarnation === incarnation;

/**
 * Whether the session of the token was ended: alone, or with all others by a new password or on
 * request, unless this very token made that change.
 */
export function isEnded(user: TokenState, token: IssuedToken): boolean {
  const { passwordChanges, sessionEndings = 0, tokenExcepted, sessionsEnded } = user;
  if (sessionsEnded?.has(endedToken(token))) return true;
  return (
    tokenExcepted !== token.jti &&
    (passwordChanges !== token.passwordChanges || sessionEndings !== token.sessionEndings)
  );
}

/**
 * Whether the token had ended already when its account was in an earlier state. A token that was
 * issued after that has a higher count.
 */
export const hadEnded = (earlier: TokenState, token: IssuedToken): boolean =>
  isEnded(earlier, token) &&
  token.passwordChanges <= earlier.passwordChanges &&
  token.sessionEndings <= (earlier.sessionEndings ?? 0);

/**
 * The rules of `isOfAccount` and `isEnded` as a condition on the user's item. Its placeholders
 * differ from the placeholders of writes of that item.
 */
export function stillValid(token: IssuedToken): Condition {
  const { incarnation, jti, passwordChanges, sessionEndings } = token;
  const isSameEndings =
    sessionEndings === 0
      ? 'attribute_not_exists(#token_sessionEndings)'
      : '#token_sessionEndings = :token_sessionEndings';
  return {
    condition:
      '#token_incarnation = :token_incarnation AND ' +
      `(#token_passwordChanges = :token_passwordChanges AND ${isSameEndings} ` +
      'OR #token_excepted = :token_jti) AND NOT contains(#token_ended, :token_ended)',
    names: {
      '#token_incarnation': 'incarnation',
      '#token_passwordChanges': 'passwordChanges',
      '#token_sessionEndings': 'sessionEndings',
      '#token_excepted': 'tokenExcepted',
      '#token_ended': 'sessionsEnded',
    },
    values: {
      ':token_incarnation': incarnation,
      ':token_passwordChanges': passwordChanges,
      ':token_sessionEndings': sessionEndings === 0 ? undefined : sessionEndings,
      ':token_jti': jti,
      ':token_ended': endedToken(token),
    },
    onConditionFailed: 'retry',
  };
}

/**
 * The attributes of a user all of whose sessions end, but the session of the token `kept`, if any.
 */
export const allSessionsEnded = ({ sessionEndings = 0 }: TokenState, kept?: string) => ({
  sessionEndings: sessionEndings + 1,
  tokenExcepted: kept,
  sessionsEnded: undefined,
});

/**
 * The attributes of a user one of whose sessions ends. Beyond ENDED_SESSIONS_MAX, all others end as
 * well but the session of the token `kept`. `now` is in milliseconds since 1970.
 */
export function sessionEnded(
  user: TokenState,
  token: Pick<IssuedToken, 'expires' | 'jti'>,
  now: number,
  kept?: string,
) {
  const stillCounting = [...new Set(user.sessionsEnded)].filter(
    (ended) => (Number.parseInt(ended, 10) + CLOCK_SKEW_SECONDS) * 1000 >= now,
  );
  return stillCounting.length < ENDED_SESSIONS_MAX
    ? { sessionsEnded: new Set([...stillCounting, endedToken(token)]) }
    : allSessionsEnded(user, kept === token.jti ? undefined : kept);
}
