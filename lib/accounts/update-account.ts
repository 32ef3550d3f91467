import type { Mailer } from '../mail/mail.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { findMailsOfChange, modify } from '../users/update-user.ts';
import type { User } from '../users/user.ts';
import type { OwnAccountChange } from '../users/user-schema.ts';

/**
 * Changes what users may say of themselves. Of a new address the former one is told by mail. A request that changes
 * nothing leaves no version and no audit event. Fails with email-taken, unauthorized when the account is gone, forbidden
 * when it is deactivated.
 */
export async function updateAccount(
  { table, mailer }: { table: Table; mailer: Mailer },
  caller: AuthorizedCaller,
  wanted: OwnAccountChange,
): Promise<void> {
  const load = async (callerUser: Promise<User>) => findMailsOfChange(table, await callerUser, wanted);
  const { notified } = await caller.change(load, (mails, callerUser, now) => {
    const decision = modify('account.updated', callerUser, wanted, { modifiedBy: callerUser.login, mails, now });
    // Clients save the form of the account whether anything in it was changed or not.
    return decision.event.fields.length === 0 ? { ...decision, writes: [] } : decision;
  });
  if (notified) await mailer.notify('emailChanged', notified);
}
