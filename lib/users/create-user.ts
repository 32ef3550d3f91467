import type { AuditEvent } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { invited } from '../mail/outbox.ts';
import type { PasswordHasher } from '../passwords/hasher.ts';
import type { PasswordPolicy } from '../passwords/password-policy.ts';
import { settleAll } from '../runtime/waiting.ts';
import type { Decision } from '../table/change.ts';
import type { Table } from '../table/table.ts';
import { firstVersion } from '../table/write.ts';
import { type AuthorizedCaller, needsSession, requireSession } from './caller.ts';
import { EDITABLE_USER_FIELDS, invitationAt, newRandomText, type User } from './user.ts';
import type { NewUser } from './user-schema.ts';
import { auditEventFor, creation, userChanges } from './user-table.ts';

/**
 * Creates an account. The user of an activated account without a password is invited by mail to set
 * one. Fails with login-taken, email-taken, forbidden, as the policy does, and with
 * insufficient-scope for an API token that sets a password or creates an administrator.
 */
export async function createUser(
  { table, hasher, policy }: { table: Table; hasher: PasswordHasher; policy: PasswordPolicy },
  caller: AuthorizedCaller,
  newUser: NewUser,
): Promise<User> {
  const { password } = newUser;
  if (password !== undefined || needsSession(undefined, newUser)) requireSession(caller);
  if (password !== undefined) {
    policy.requireLength('password', password);
    policy.requireUncommon(password, newUser);
  }
  return caller.change({
    prepare: () =>
      settleAll([
        table.nextId('USER'),
        password === undefined ? Promise.resolve(undefined) : hasher.hash(password),
      ]),
    decide: ({ prepared: [id, passwordHash], callerUser, now }) =>
      userCreated({ ...newUser, id, passwordHash }, callerUser, now),
  });
}

/** Decides the creation of an account. Fails with login-taken. */
export function userCreated(
  fields: Omit<NewUser, 'id' | 'password'> &
    Pick<User, 'id'> &
    Partial<Pick<User, 'passwordHash' | 'managedBy'>>,
  creator: User,
  now: number,
): Decision<User> & { event: AuditEvent } {
  const { id, passwordHash, managedBy } = fields;
  const isInvited = passwordHash === undefined && fields.activated;
  const invitedAt = isInvited ? invitationAt(fields, now) : undefined;
  const user = newAccount(
    { ...pick(fields, EDITABLE_USER_FIELDS), id, passwordHash, managedBy, invitedAt },
    creator.login,
    now,
  );
  return {
    writes: [...creation(user), ...(isInvited ? [invited(user, creator, now)] : [])],
    result: user,
    event: auditEventFor('user.created', user, userChanges(undefined, user)),
  };
}

/**
 * Completes a new account with its audit fields, incarnation, security stamp and first version.
 * `now` is in milliseconds since 1970.
 */
export function newAccount(
  fields: Pick<User, 'id' | 'login' | 'email' | 'activated' | 'langKey' | 'authorities'> &
    Partial<User>,
  createdBy: string,
  now: number,
): User {
  const time = new Date(now).toISOString();
  return {
    ...fields,
    createdBy,
    createdDate: time,
    lastModifiedBy: createdBy,
    lastModifiedDate: time,
    version: firstVersion(),
    incarnation: newRandomText(),
    securityStamp: newRandomText(),
    passwordChanges: 0,
  };
}
