import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { modify } from '../users/update-user.ts';
import type { OwnAccountChange } from '../users/user-schema.ts';

/**
 * Updates the fields that users can edit in their own account; a change of address is notified to
 * the former address. A request that changes nothing creates no version and no audit event. Fails
 * with email-taken, and with invalid-token when the account has been deleted or deactivated.
 */
export async function updateAccount(
  caller: AuthorizedCaller,
  changes: OwnAccountChange,
): Promise<void> {
  await caller.change({
    decide: ({ callerUser, now }) => {
      const decision = modify('account.updated', callerUser, changes, {
        modifiedBy: callerUser.login,
        now,
      });
      // Clients submit the account form even when nothing in it has changed.
      return decision.event.fields.length === 0 ? { ...decision, writes: [] } : decision;
    },
  });
}
