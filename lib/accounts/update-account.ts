import { Failure } from '../contract/failure.ts';
import { isSameRecipient } from '../mail/address.ts';
import { confirmationRequested } from '../mail/outbox.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { modify } from '../users/update-user.ts';
import type { User } from '../users/user.ts';
import type { OwnAccountChange } from '../users/user-schema.ts';
import { auditEventFor, emailIsFree } from '../users/user-table.ts';

/**
 * Updates the fields that users can edit in their own account; a change of address is notified to
 * the former address. A request that changes nothing creates no version and no audit event. Fails
 * with email-taken, with invalid for a new address that contains a link, and with invalid-token
 * when the account has been deleted or deactivated.
 *
 * If an address `mustBeConfirmed`, a new one is not stored: the present one receives a key that
 * confirms it. Returns the user to whom that key is mailed, if any.
 */
export async function updateAccount(
  caller: AuthorizedCaller,
  { email, ...changes }: OwnAccountChange,
  mustBeConfirmed: boolean,
): Promise<User | undefined> {
  return caller.change({
    decide: ({ callerUser, now }) => {
      const by = { modifier: callerUser, now };
      const isNew = email !== undefined && !isSameRecipient(email, callerUser.email);
      if (isNew) requireNoLink(email);
      const isPending = mustBeConfirmed && isNew;
      const fields = email === undefined || isPending ? changes : { ...changes, email };
      const decision = modify('account.updated', callerUser, fields, by);
      // Clients submit the account form even when nothing in it has changed.
      const isChanged = decision.event.changes.length > 0;
      const writes = isChanged ? decision.writes : [];
      if (!isPending) return { ...decision, writes, result: undefined };
      return {
        writes: [
          ...writes,
          ...emailIsFree(callerUser, email),
          confirmationRequested(callerUser, email, now),
        ],
        result: callerUser,
        event: [
          ...(isChanged ? [decision.event] : []),
          auditEventFor('email.requested', callerUser, [
            { field: 'email', from: callerUser.email, to: email },
          ]),
        ],
      };
    },
  });
}

/**
 * The mail that confirms an address contains it: whoever has stolen a session must not write a link
 * into it. Only these characters let a mail program take the beginning of an address for a URL.
 */
function requireNoLink(email: string): void {
  if (!/[/?#%!].*@/.test(email.normalize('NFKC'))) return;
  const reason = 'a new address without / ? # % ! before the @';
  throw new Failure('invalid', { fieldErrors: [{ field: 'email', message: 'Email', reason }] });
}
