import { type AuditEvent, changedFields } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import type { Mailer } from '../mail/mail.ts';
import { countMail, type MailCount } from '../mail/mail-limit.ts';
import type { Decision } from '../table/change.ts';
import { entityKey, mailCountKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { nextVersion, type Precondition, requireVersion } from '../table/version.ts';
import type { AuthorizedCaller } from './authorized-caller.ts';
import { EDITABLE_USER_FIELDS, type EditableUserField, type User } from './user.ts';
import type { UserChange } from './user-schema.ts';
import { auditEventFor, modification, userOf } from './user-table.ts';

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
    // In one call, even though only a change of address needs the count.
    const [item, mails] = await table.getAll([entityKey('USER', changes.id), mailCountKey(changes.id, 'emailChanged')]);
    return { targetUser: item && userOf(item), mails: mails as MailCount | undefined };
  };
  const { after, notified } = await caller.change(load, ({ targetUser, mails }, callerUser, now) => {
    if (!targetUser) throw new Failure('unknown-id');
    requireVersion(targetUser, precondition);
    return { ...modify('user.updated', targetUser, changes, { modifiedBy: callerUser.login, mails, now }), targetUser };
  });
  if (notified) await mailer.notify('emailChanged', notified);
  return after;
}

const changesAddress = (user: User, email: string | undefined): boolean => email !== undefined && email !== user.email;

/**
 * Decides a change of a user's visible fields. `now` is in milliseconds since 1970. `notified` is the user with the
 * former address, to be notified of a new one; undefined when the address stays or the mail limit is reached.
 */
export function modify(
  action: 'user.updated' | 'account.updated',
  user: User,
  fields: Partial<Pick<User, EditableUserField>>,
  { modifiedBy, mails, now }: { modifiedBy: string; mails: MailCount | undefined; now: number },
): Decision<{ after: User; notified: User | undefined }> & { event: AuditEvent } {
  const after: User = {
    ...user,
    ...pick(fields, EDITABLE_USER_FIELDS),
    version: nextVersion(user.version),
    lastModifiedBy: modifiedBy,
    lastModifiedDate: new Date(now).toISOString(),
  };
  const event = auditEventFor(action, user, changedFields(user, after, EDITABLE_USER_FIELDS));
  const mail = changesAddress(user, fields.email) ? countMail(user.id, 'emailChanged', mails, now) : undefined;
  return {
    writes: [...modification(user, after), ...(mail ? [mail] : [])],
    result: { after, notified: mail && user },
    event,
  };
}
