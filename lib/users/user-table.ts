import type { AuditEvent } from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { emailGuardKey, entityKey, loginGuardKey } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { type Condition, changeTotal, check, claim, remove, set, versionIs, type Write } from '../table/write.ts';
import { membership } from './administrators.ts';
import { formerEmailKeys, heldEmailKey } from './email-key.ts';
import { EDITABLE_USER_FIELDS, newStamp, type User } from './user.ts';

/** The user in an item. */
export function userOf({ pk: _pk, sk: _sk, ...user }: Item): User {
  return user as unknown as User;
}

/** The user with this id, or undefined. */
export async function findUser(table: Table, id: number): Promise<User | undefined> {
  const item = await table.get(entityKey('USER', id));
  return item && userOf(item);
}

/** The user with exactly this login, or undefined. A rename between the two reads is followed once. */
export async function findUserByLogin(table: Table, login: string): Promise<User | undefined> {
  for (let tries = 0; tries < 2; tries++) {
    const guard = await table.get(loginGuardKey(login));
    if (!guard) return undefined;
    const user = await findUser(table, guard.id as number);
    if (user?.login === login) return user;
  }
  return undefined;
}

/** What is done to a user, for the audit trail. */
export const auditEventFor = (
  action: AuditEvent['action'],
  user: User,
  fields: readonly string[] = [],
): AuditEvent => ({
  action,
  target: `user/${user.id}`,
  targetName: user.login,
  fields,
});

const owns = (user: User): Condition => ({
  condition: '#id = :id',
  names: { '#id': 'id' },
  values: { ':id': user.id },
  onConditionFailed: 'retry',
});

const claimLogin = (user: User) => claim(loginGuardKey(user.login), { id: user.id }, 'login-taken');
/** Claims the address, unless it was claimed by the former rule; but by a guard that the same change releases. */
const claimEmail = (user: User, released?: string): Write[] => [
  claim(emailGuardKey(heldEmailKey(user)), { id: user.id }, 'email-taken'),
  ...formerEmailKeys(user.email)
    .filter((key) => key !== released)
    .map((key) =>
      check(emailGuardKey(key), { condition: 'attribute_not_exists(pk)', onConditionFailed: 'email-taken' }),
    ),
];
const releaseLogin = (user: User) => remove(loginGuardKey(user.login), owns(user));
const releaseEmail = (user: User) => remove(emailGuardKey(heldEmailKey(user)), owns(user));

/*
 * The writes of a user's life, in the order in which broken rules are reported: login, e-mail, last administrator.
 */

/** A user comes to be, with the guards of login and e-mail. */
export function creation(user: User): Write[] {
  return [
    claimLogin(user),
    ...claimEmail(user),
    ...membership(undefined, user),
    claim(entityKey('USER', user.id), { ...user }, 'retry'),
    changeTotal('USER', 1),
  ];
}

/** What a change of a user writes. */
const CHANGED_ATTRIBUTES = [
  ...EDITABLE_USER_FIELDS,
  'emailKeyRule',
  'lastModifiedBy',
  'lastModifiedDate',
  'version',
] as const satisfies (keyof User)[];

/**
 * A user changes in what shows. Password and token rules are other attributes, so that neither change undoes the other.
 */
export function modification(before: User, changed: User): Write[] {
  const readdressed = before.email !== changed.email;
  const after: User = { ...changed, ...(readdressed && { emailKeyRule: 'UTS46' }) };
  const renamed = before.login !== after.login;
  // A new spelling of the same address keeps its guard: two actions on one item are refused.
  const moved = heldEmailKey(before) !== heldEmailKey(after);
  return [
    ...(renamed ? [claimLogin(after)] : []),
    ...(moved ? claimEmail(after, heldEmailKey(before)) : []),
    ...membership(before, after),
    ...(renamed ? [releaseLogin(before)] : []),
    ...(moved ? [releaseEmail(before)] : []),
    set(
      entityKey('USER', before.id),
      // Not before's stamp where the address stays: a password change may have replaced it meanwhile.
      { ...pick(after, CHANGED_ATTRIBUTES), ...(readdressed && { resetStamp: newStamp() }) },
      versionIs(before),
    ),
  ];
}

/**
 * The password changes, unless another change of it came first. Tokens of before, but for the one with this id, lose
 * the right to change anything.
 */
export function passwordChange(user: User, passwordHash: string, tokenExcepted?: string): Write {
  const passwordChanges = user.passwordChanges + 1;
  return setPassword(user, { passwordHash, passwordChanges, tokenExcepted, resetStamp: newStamp() });
}

/** The same password is hashed anew, unless it has changed meanwhile. */
export function rehash(user: User, passwordHash: string): Write {
  return setPassword(user, { passwordHash });
}

function setPassword(user: User, attributes: Record<string, unknown>): Write {
  return set(entityKey('USER', user.id), attributes, {
    ...(user.passwordHash === undefined
      ? { condition: 'attribute_not_exists(#hash)' }
      : { condition: '#hash = :hash', values: { ':hash': user.passwordHash } }),
    names: { '#hash': 'passwordHash' },
    onConditionFailed: 'retry',
  });
}

/** A user goes for good; the id is never given again. */
export function deletion(user: User): Write[] {
  return [
    ...membership(user, undefined),
    releaseLogin(user),
    releaseEmail(user),
    remove(entityKey('USER', user.id), versionIs(user)),
    changeTotal('USER', -1),
  ];
}
