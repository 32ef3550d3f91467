import { Failure } from '../failure.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { Table } from '../table/table.ts';
import { type Caller, changeAs } from '../users/caller.ts';
import type { User } from '../users/user.ts';
import { deedOn, passwordChange } from '../users/user-table.ts';
import { ChangePassword } from './account-contracts.ts';

/**
 * Changes the caller's own password. The token that asked goes on as before; all others of this user can change nothing
 * any more. Fails with wrong-password, unauthorized when the account is gone, forbidden when it is deactivated.
 */
export async function changePassword(
  table: Table,
  passwords: Passwords,
  caller: Caller,
  current: string,
  wanted: string,
): Promise<void> {
  const load = async (self: Promise<User | undefined>) =>
    (await passwords.matches(current, (await self)?.passwordHash)) ? passwords.hash(wanted) : undefined;

  await changeAs(table, caller, ChangePassword.who, load, (passwordHash, self) => {
    if (!passwordHash) throw new Failure('wrong-password');
    return {
      writes: [passwordChange(self, passwordHash, caller.jti)],
      result: undefined,
      deed: deedOn('password.changed', self),
    };
  });
}
