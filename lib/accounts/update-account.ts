import type { Table } from '../table/table.ts';
import { type Caller, changeAs } from '../users/caller.ts';
import { modify } from '../users/update-user.ts';
import type { OwnAccountChange } from '../users/user-schema.ts';
import { UpdateAccount } from './account-contracts.ts';

/**
 * Changes what users may say of themselves. Fails with email-taken, unauthorized when the account is gone, forbidden
 * when it is deactivated.
 */
export async function updateAccount(table: Table, caller: Caller, wanted: OwnAccountChange): Promise<void> {
  await changeAs(
    table,
    caller,
    UpdateAccount.who,
    async () => undefined,
    (_, self) => modify('account.updated', self, wanted, self.login),
  );
}
