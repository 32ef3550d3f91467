import type { Mailer } from '../mail/mail.ts';
import { findMailCount } from '../mail/mail-limit.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { modify } from '../users/update-user.ts';
import type { OwnAccountChange } from '../users/user-schema.ts';

/**
 * Updates the fields that users can edit in their own account; a change of address is notified to the former address. A
 * request that changes nothing creates no version and no audit event. Fails with email-taken, with unauthorized when
 * the account has been deleted, and with forbidden when it is deactivated.
 */
export async function updateAccount(
  { table, mailer }: { table: Table; mailer: Mailer },
  caller: AuthorizedCaller,
  changes: OwnAccountChange,
): Promise<void> {
  const load = () => findMailCount(table, caller.id, 'emailChanged');
  const { notified } = await caller.change(load, (mails, callerUser, now) => {
    const decision = modify('account.updated', callerUser, changes, { modifiedBy: callerUser.login, mails, now });
    // Clients submit the account form even when nothing in it has changed.
    return decision.event.fields.length === 0 ? { ...decision, writes: [] } : decision;
  });
  if (notified) await mailer.notify('emailChanged', notified);
}
