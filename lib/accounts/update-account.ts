import { auditEntry } from '../audit/audit-entry.ts';
import { isSameRecipient } from '../mail/address.ts';
import { confirmationRequested } from '../mail/outbox.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { modify } from '../users/update-user.ts';
import type { User } from '../users/user.ts';
import type { OwnAccountChange } from '../users/user-schema.ts';
import { auditEventFor, emailIsFree } from '../users/user-table.ts';

/**
 * Updates the fields that users can edit in their own account; a change of address is notified to
 * the former address. A request that changes nothing creates no version and no audit event. Fails
 * with email-taken, and with invalid-token when the account has been deleted or deactivated.
 *
 * If an address `mustBeConfirmed`, a new one is not stored: the present one receives a key that
 * confirms it. Returns the user to whom that key is mailed, if any.
 */
export async function updateAccount(
  caller: AuthorizedCaller,
  { email, ...changes }: OwnAccountChange,
  mustBeConfirmed = false,
): Promise<User | undefined> {
  return caller.change({
    decide: ({ callerUser, now }) => {
      const by = { modifiedBy: callerUser.login, now };
      const isNew = email !== undefined && !isSameRecipient(email, callerUser.email);
      const isPending = mustBeConfirmed && isNew;
      const fields = email === undefined || isPending ? changes : { ...changes, email };
      const decision = modify('account.updated', callerUser, fields, by);
      // Clients submit the account form even when nothing in it has changed.
      const isChanged = decision.event.fields.length > 0;
      const writes = isChanged ? decision.writes : [];
      if (!isPending) return { ...decision, writes, result: undefined };
      return {
        writes: [
          ...writes,
          ...(isChanged ? [auditEntry(callerUser, decision.event, now)] : []),
          ...emailIsFree(callerUser, email),
          confirmationRequested(callerUser, email, now),
        ],
        result: callerUser,
        event: auditEventFor('email.requested', callerUser),
      };
    },
  });
}
