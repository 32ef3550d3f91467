import { type AuditEvent, changedFields } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import type { Mailer } from '../mail/mail.ts';
import { countMail, findMailCount, type MailCount } from '../mail/mail-limit.ts';
import type { Decision } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import { nextVersion, type Precondition, requireVersion } from '../table/version.ts';
import type { AuthorizedCaller } from './authorized-caller.ts';
import { EDITABLE_USER_FIELDS, type EditableUserField, type User } from './user.ts';
import type { UserChange } from './user-schema.ts';
import { auditEventFor, findUser, modification } from './user-table.ts';

/**
 * Updates an account; omitted fields stay unchanged. A change of address is notified to the former address.
 * Fails with unknown-id, version-changed, login-taken, email-taken, last-administrator, forbidden.
 */
export async function updateUser(
  { table, mailer }: { table: Table; mailer: Mailer },
  caller: AuthorizedCaller,
  changes: UserChange,
  precondition: Precondition,
): Promise<User> {
  const load = async () => {
    const target = await findUser(table, changes.id);
    return { target, mails: target && (await findMailsOfChange(table, target, changes)) };
  };
  const { after, notified } = await caller.change(load, ({ target, mails }, callerUser, now) => {
    if (!target) throw new Failure('unknown-id');
    requireVersion(target, precondition);
    return { ...modify('user.updated', target, changes, { modifiedBy: callerUser.login, mails, now }), target };
  });
  if (notified) await mailer.notify('emailChanged', notified);
  return after;
}

/** Loads the user's recent count of change-of-address mails; undefined when the change causes none. */
export async function findMailsOfChange(
  table: Table,
  target: User,
  { email }: { readonly email?: string | undefined },
): Promise<MailCount | undefined> {
  return changesAddress(target, email) ? findMailCount(table, target.id, 'emailChanged') : undefined;
}

const changesAddress = (target: User, email: string | undefined): boolean =>
  email !== undefined && email !== target.email;

/**
 * Decides a change of a user's visible fields. `now` is in milliseconds since 1970. `notified` is the user with the
 * former address, to be notified of a new one; undefined when the address stays or the mail limit is reached.
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
  const mail = changesAddress(target, fields.email) ? countMail(target.id, 'emailChanged', mails, now) : undefined;
  return {
    writes: [...modification(target, after), ...(mail ? [mail] : [])],
    result: { after, notified: mail && target },
    event,
  };
}
