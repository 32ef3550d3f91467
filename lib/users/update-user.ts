import { type AuditEvent, changedFields } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import type { Mailer } from '../mail/mail.ts';
import { findMailCount, type MailCount, mailCounted } from '../mail/mail-limit.ts';
import type { Decision } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import { nextVersion, type Precondition, requireVersion } from '../table/version.ts';
import type { AuthorizedCaller } from './authorized-caller.ts';
import { EDITABLE_USER_FIELDS, type EditableUserField, type User } from './user.ts';
import type { UserChange } from './user-schema.ts';
import { auditEventFor, findUser, modification } from './user-table.ts';

/**
 * Changes an account; what the change leaves out stays. Of a new address the former one is told by mail.
 * Fails with unknown-id, version-changed, login-taken, email-taken, last-administrator, forbidden.
 */
export async function updateUser(
  { table, mailer }: { table: Table; mailer: Mailer },
  caller: AuthorizedCaller,
  wanted: UserChange,
  precondition: Precondition,
): Promise<User> {
  const load = async () => {
    const target = await findUser(table, wanted.id);
    return { target, mails: target && (await findMailsOfChange(table, target, wanted)) };
  };
  const { after, notified } = await caller.change(load, ({ target, mails }, callerUser, now) => {
    if (!target) throw new Failure('unknown-id');
    requireVersion(target, precondition);
    return { ...modify('user.updated', target, wanted, { modifiedBy: callerUser.login, mails, now }), target };
  });
  if (notified) await mailer.notify('emailChanged', notified);
  return after;
}

/** How many notices the user has got lately, if this change causes one. */
export async function findMailsOfChange(
  table: Table,
  target: User,
  { email }: { readonly email?: string | undefined },
): Promise<MailCount | undefined> {
  return movesTo(target, email) ? findMailCount(table, target.id, 'emailChanged') : undefined;
}

const movesTo = (target: User, email: string | undefined): boolean => email !== undefined && email !== target.email;

/**
 * The decision to change a user's visible fields, on whose behalf and when. `notified` is the user with the address
 * that is to be told of a new one; undefined when there is none, or when it has been told often enough.
 */
export function modify(
  action: 'user.updated' | 'account.updated',
  target: User,
  fields: Partial<Pick<User, EditableUserField>>,
  { modifiedBy, mails, now }: { modifiedBy: string; mails: MailCount | undefined; now: number },
): Decision<{ after: User; notified: User | undefined }> & { event: AuditEvent } {
  const after: User = {
    ...target,
    ...pick(fields, EDITABLE_USER_FIELDS),
    version: nextVersion(target.version),
    lastModifiedBy: modifiedBy,
    lastModifiedDate: new Date(now).toISOString(),
  };
  const event = auditEventFor(action, target, changedFields(target, after, EDITABLE_USER_FIELDS));
  const mail = movesTo(target, fields.email) ? mailCounted(target.id, 'emailChanged', mails, now) : undefined;
  return {
    writes: [...modification(target, after), ...(mail ? [mail] : [])],
    result: { after, notified: mail && target },
    event,
  };
}
