import type { Passwords } from '../passwords/passwords.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { commit, ignoreUnavailable } from '../table/change.ts';
import { entityKey, type Key, loginGuardKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import type { User } from '../users/user.ts';
import { isLogin } from '../users/user-schema.ts';
import { rehash, userOf } from '../users/user-table.ts';
import type { LoginThrottle } from './login-throttle.ts';
import type { Source } from './source.ts';

/** What a login needs. `issueToken` creates the token of a user whose password was correct. */
interface Services {
  readonly table: Table;
  readonly passwords: Passwords;
  readonly throttle: LoginThrottle;
  readonly issueToken: (user: User) => Promise<string>;
}

/**
 * Returns a token for the user that the login and password authenticate. Fails with bad-credentials
 * for an unknown login, a wrong password or a deactivated account, after the same amount of work in
 * each case, so that the timing does not reveal which logins exist. Fails with too-many-attempts
 * before any of that work.
 */
export async function logIn(
  { table, passwords, throttle, issueToken }: Services,
  source: Source,
  login: string,
  password: string,
): Promise<string> {
  // An invalid login may be too long for a key. The guard of an empty login is read instead; none
  // exists.
  const guardKey = loginGuardKey(isLogin(login) ? login : '');
  return throttle.attempt(
    { login, password, source, alsoRead: [guardKey] },
    {
      load: ([guard]) => readUser(table, login, guard, guardKey),
      async verify(user) {
        const matches = await passwords.matches(password, user?.passwordHash);
        if (!user?.passwordHash || !matches || !user.activated) return undefined;
        const renewal = passwords.isOutdated(user.passwordHash, password);
        return async () => {
          const [token] = await settleAll([
            issueToken(user),
            renewal ? renewHash(table, passwords, user, password) : Promise.resolve(),
          ]);
          return token;
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
 * Rehashes the password with the current parameters. A concurrent password change takes precedence;
 * if the table is unavailable, the next login rehashes it.
 */
async function renewHash(
  table: Table,
  passwords: Passwords,
  user: User,
  password: string,
): Promise<void> {
  const passwordHash = await passwords.hash(password);
  await ignoreUnavailable(commit(table, [rehash(user, passwordHash)]));
}
