import { auditEntry } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey, type Key, loginGuardKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { Write } from '../table/write.ts';
import type { User } from '../users/user.ts';
import { isLogin } from '../users/user-schema.ts';
import { findUser, loggedIn, userOf } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { newSession, type Session } from './session.ts';
import { sessionEventFor, sessionStarted } from './session-table.ts';
import type { Source } from './source.ts';

/** What a login needs. `issueToken` creates the token of a session. */
interface Services {
  readonly table: Table;
  readonly passwords: Passwords;
  readonly throttle: LoginThrottle;
  readonly issueToken: (user: User, session: Session) => Promise<string>;
}

interface Credentials {
  readonly username: string;
  readonly password: string;
  /** Whether the session has the longer lifetime. */
  readonly rememberMe: boolean;
}

/** The token of a session and its user. */
export interface LoggedIn {
  readonly token: string;
  readonly userId: number;
}

/**
 * Starts a session for the user that the login and password authenticate. Fails with
 * bad-credentials for an unknown login, a wrong password or a deactivated account, after the same
 * amount of work in each case, so that the timing does not reveal which logins exist. Fails with
 * too-many-attempts before any of that work, and with unavailable when the session could not be
 * stored.
 */
export async function logIn(
  { table, passwords, throttle, issueToken }: Services,
  source: Source,
  { username: login, password, rememberMe }: Credentials,
): Promise<LoggedIn> {
  // An invalid login may be too long for a key. The guard of an empty login is read instead; none
  // exists.
  const guardKey = loginGuardKey(isLogin(login) ? login : '');
  return throttle.attempt(
    {
      login,
      password,
      source,
      alsoRead: [guardKey],
      userIdIn: ([guard]) => guard?.id as number | undefined,
    },
    {
      load: ([guard]) => readUser(table, login, guard, guardKey),
      async verify(user) {
        const matches = await passwords.matches(password, user?.passwordHash);
        if (!user?.passwordHash || !matches || !user.activated) return undefined;
        const isOutdated = passwords.isOutdated(user.passwordHash, password);
        return async (clearFailures) => {
          const passwordHash = isOutdated ? await passwords.hash(password) : undefined;
          const session = newSession(user, source, rememberMe, Date.now());
          // Before the session is stored: one without a token would be listed and audited.
          const token = await issueToken(user, session);
          const replaced = { passwordHash, clearFailures };
          const committed = await storeSession(table, user, session, replaced);
          // The counts that the token states rarely change in between.
          const isCurrent = committed.sessionEndings === user.sessionEndings;
          return {
            token: isCurrent ? token : await issueToken(committed, session),
            userId: user.id,
          };
        };
      },
      failure: 'bad-credentials',
    },
  );
}

/**
 * Makes one read whether or not the guard exists, so that timing does not reveal which logins
 * exist.
 */
async function readUser(
  table: Table,
  login: string,
  guard: Item | undefined,
  guardKey: Key,
): Promise<User | undefined> {
  const item = await table.get(guard ? entityKey('USER', guard.id as number) : guardKey);
  const user = guard && item && userOf(item);
  return user?.login === login ? user : undefined;
}

/**
 * Stores a session of the user whose password was verified. Returns the user as of the commit.
 * Fails with bad-credentials if the password has been changed or the account must no longer be
 * used, and with unavailable.
 */
function storeSession(
  table: Table,
  verified: User,
  session: Session,
  {
    passwordHash,
    clearFailures,
  }: {
    /** Replaces an outdated hash, unless a concurrent login has done so. */
    passwordHash: string | undefined;
    clearFailures: (now: number) => readonly Write[];
  },
): Promise<User> {
  let known: User | undefined = verified;
  const load = async () => {
    const user = known ?? (await findUser(table, verified.id));
    known = undefined;
    return user;
  };
  return loadDecideCommit(table, load, (user, now) => {
    const { login, accountStamp, passwordChanges, passwordHash: hash } = verified;
    const isVerified =
      user?.activated &&
      user.login === login &&
      user.accountStamp === accountStamp &&
      user.passwordChanges === passwordChanges;
    if (!isVerified) throw new Failure('bad-credentials');
    const renewed = user.passwordHash === hash ? passwordHash : undefined;
    const event = sessionEventFor('session.started', user, session, session.ipAddress);
    return {
      writes: [
        ...clearFailures(now),
        loggedIn(user, now, renewed),
        sessionStarted(user, session),
        auditEntry(user, event, now),
      ],
      result: user,
    };
  });
}
