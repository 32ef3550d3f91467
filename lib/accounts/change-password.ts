import { Failure } from '../failure.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { Table } from '../table/table.ts';
import { type Caller, changeAs, refusal } from '../users/caller.ts';
import type { User } from '../users/user.ts';
import { deedOn, passwordChange } from '../users/user-table.ts';
import { ChangePassword } from './account-contracts.ts';
import type { Attempt, Guessing } from './guessing.ts';
import type { Source } from './source.ts';

/**
 * Changes the caller's own password. The token that asked goes on as before; all others of this user can change nothing
 * any more. Fails with unauthorized when the account is gone, forbidden when it is deactivated, too-many-attempts as a
 * login does, and wrong-password.
 */
export async function changePassword(
  { table, passwords, guessing }: { table: Table; passwords: Passwords; guessing: Guessing },
  caller: Caller,
  source: Source,
  current: string,
  wanted: string,
): Promise<void> {
  let attempt: Attempt | undefined;
  const load = async (self: Promise<User | undefined>) => {
    const user = await self;
    // Who is refused anyway guesses nothing.
    if (!user || refusal(user, caller, ChangePassword.who)) return undefined;
    attempt ??= await guessing.reserve(user.login, source);
    return (await passwords.matches(current, user.passwordHash)) ? passwords.hash(wanted) : undefined;
  };

  await changeAs(table, caller, ChangePassword.who, load, (passwordHash, self) => {
    if (!passwordHash) throw new Failure('wrong-password');
    return {
      writes: [passwordChange(self, passwordHash, caller.jti)],
      result: undefined,
      deed: deedOn('password.changed', self),
    };
  });
  await attempt?.forgive();
}
