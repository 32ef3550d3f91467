import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { commit, ignoreUnavailable } from '../table/change.ts';
import { entityKey, loginGuardKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import type { User } from '../users/user.ts';
import { isLogin } from '../users/user-schema.ts';
import { rehash, userOf } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';

/**
 * Returns the user that the login and password authenticate. Fails with bad-credentials for an unknown login, a wrong
 * password or a deactivated account, after the same amount of work in each case, so that the timing does not reveal
 * which logins exist. Fails with too-many-attempts before any of that work.
 */
export async function logIn(
  { table, passwords, throttle }: { table: Table; passwords: Passwords; throttle: LoginThrottle },
  source: Source,
  login: string,
  password: string,
): Promise<User> {
  const attempt = await throttle.recordAttempt(login, source);
  const user = await lookUp(table, login);
  const matches = await passwords.matches(password, user?.passwordHash);
  if (!user?.passwordHash || !matches || !user.activated) throw new Failure('bad-credentials');
  await attempt.clearFailures();
  if (passwords.isOutdated(user.passwordHash)) await renewHash(table, passwords, user, password);
  return user;
}

/** Makes two reads for every login, so that timing reveals neither which logins exist nor how they are checked. */
async function lookUp(table: Table, login: string): Promise<User | undefined> {
  // An invalid login may be too long for a key. The guard of an empty login is read instead; none exists.
  const guardKey = loginGuardKey(isLogin(login) ? login : '');
  const guard = await table.get(guardKey);
  const item = await table.get(guard ? entityKey('USER', guard.id as number) : guardKey);
  const user = guard && item && userOf(item);
  return user?.login === login ? user : undefined;
}

/**
 * Rehashes the password with the current parameters. A concurrent password change takes precedence; if the table is
 * unavailable, the next login rehashes it.
 */
async function renewHash(table: Table, passwords: Passwords, user: User, password: string): Promise<void> {
  const passwordHash = await passwords.hash(password);
  await ignoreUnavailable(commit(table, [rehash(user, passwordHash)]));
}
