import type { AuditEvent } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import { isSameRecipient } from '../mail/address.ts';
import { invited, notified } from '../mail/outbox.ts';
import type { Decision } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import {
  attributesAre,
  nextVersion,
  type Precondition,
  requireVersion,
  withConditionOn,
} from '../table/write.ts';
import { type AuthorizedCaller, needsSession, requireSession } from './caller.ts';
import {
  AUDITED_USER_FIELDS,
  EDITABLE_USER_FIELDS,
  type EditableUserField,
  invitationAt,
  type User,
} from './user.ts';
import type { UserChange } from './user-schema.ts';
import {
  auditEventFor,
  findUser,
  modification,
  requireUnreservedLogin,
  userChanges,
} from './user-table.ts';

/**
 * Updates an account; omitted fields stay unchanged. A change of address is notified to the former
 * address, and a user who has no password yet is invited again at a new address and after an
 * activation. Fails with unknown-id, version-changed, login-taken, email-taken, last-administrator,
 * forbidden, and with confirmation-required if the caller's own address `mustBeConfirmed`: somebody
 * with a stolen token could otherwise have a password reset at a new address. Fails with
 * insufficient-scope for an API token that makes an administrator, activates one again or changes
 * the address of one.
 */
export async function updateUser(
  table: Table,
  caller: AuthorizedCaller,
  changes: UserChange,
  precondition: Precondition,
  mustBeConfirmed: boolean,
): Promise<User> {
  return caller.change({
    loadEarly: () => findUser(table, changes.id),
    decide: ({ loaded: targetUser, callerUser, now }) => {
      if (!targetUser) throw new Failure('unknown-id');
      requireVersion(targetUser, precondition);
      const isOwn = targetUser.id === callerUser.id;
      if (mustBeConfirmed && isOwn && !isSameRecipient(changes.email, targetUser.email))
        throw new Failure('confirmation-required');
      const after = { ...targetUser, ...pick(changes, EDITABLE_USER_FIELDS) };
      if (needsSession(targetUser, after)) requireSession(caller);
      if (changes.login !== targetUser.login) requireUnreservedLogin(changes.login);
      const by = { modifier: callerUser, now };
      const { writes, ...decision } = modify('user.updated', targetUser, changes, by);
      // They change without a new version. The response shows what follows from them; an invitation
      // also depends on whether there is a password.
      const { lastLogin, factorChanges, invitedAt, passwordChanges, tokens } = targetUser;
      const isCurrent = attributesAre({
        lastLogin,
        factorChanges,
        invitedAt,
        passwordChanges,
        tokens,
      });
      const key = entityKey('USER', targetUser.id);
      return { ...decision, writes: withConditionOn(key, isCurrent, writes) };
    },
  });
}

/**
 * Decides a change of a user's visible fields. `now` is in milliseconds since 1970. The keys mailed
 * to the user stay valid when users change their own address, by whichever request, and become void
 * when another administrator changes it or deactivates the account.
 */
export function modify(
  action: 'user.updated' | 'account.updated',
  user: User,
  fields: Partial<Pick<User, EditableUserField | 'managedBy'>>,
  { modifier, now }: { modifier: User; now: number },
): Decision<User> & { event: AuditEvent } {
  const changed: User = {
    ...user,
    ...pick(fields, AUDITED_USER_FIELDS),
    version: nextVersion(user.version),
    lastModifiedBy: modifier.login,
    lastModifiedDate: new Date(now).toISOString(),
  };
  const hasNewAddress = changed.email !== user.email;
  // A new spelling is no news, and a thief could use up the limit of notices with it.
  const hasNewRecipient = hasNewAddress && !isSameRecipient(changed.email, user.email);
  const isOwn = modifier.id === user.id;
  const isDeactivated = user.activated && !changed.activated;
  const isReactivated = changed.activated && !user.activated;
  const isInvited =
    action === 'user.updated' &&
    !user.passwordHash &&
    !user.identities &&
    changed.activated &&
    (hasNewAddress || isReactivated);
  const after: User = {
    ...changed,
    ...(hasNewRecipient && { emailUnproven: isOwn || undefined }),
    ...(isInvited && { invitedAt: invitationAt(changed, now) }),
    ...(isDeactivated && { tokens: undefined }),
  };
  const voidsResetKeys = isDeactivated || (hasNewAddress && !isOwn);
  return {
    writes: [
      ...modification(user, after, { voidsResetKeys }),
      ...(hasNewRecipient ? [notified('emailChanged', user, now)] : []),
      ...(isInvited ? [invited(user, modifier, now)] : []),
    ],
    result: after,
    event: auditEventFor(action, user, userChanges(user, after)),
  };
}
