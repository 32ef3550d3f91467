import type { Table } from '../table/table.ts';
import { type Caller, changeAs } from '../users/caller.ts';
import { modify } from '../users/update-user.ts';
import type { OwnAccountChange } from '../users/user-schema.ts';
import { UpdateAccount } from './account-contracts.ts';

/**
 * Changes what users may say of themselves. Fails with email-taken, unauthorized when the account is gone, forbidden
 * when it is deactivated. A request that changes nothing leaves no version and no audit event.
 */
export async function updateAccount(table: Table, caller: Caller, wanted: OwnAccountChange): Promise<void> {
  await changeAs(
    table,
    caller,
    UpdateAccount.who,
    async () => undefined,
    (_, self) => {
      const decision = modify('account.updated', self, wanted, self.login);
      // Clients save the form of the account whether anything in it was changed or not.
      return decision.deed.fields.length === 0 ? { ...decision, writes: [] } : decision;
    },
  );
}
