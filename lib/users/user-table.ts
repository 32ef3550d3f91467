import {
  type Actor,
  type AuditEvent,
  type Change,
  changesBetween,
  SERVICE_NAMES,
} from '../audit/audit-entry.ts';
import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import { emailKey } from '../mail/address.ts';
import { entityKey, isReadable, type Key } from '../table/keys.ts';
import { attributesOf, type Item, type Table } from '../table/table.ts';
import {
  attributesAre,
  changeTotal,
  check,
  claim,
  isAbsent,
  nextVersion,
  remove,
  set,
  type Write,
} from '../table/write.ts';
import {
  allSessionsAndTokensEnded,
  apiTokenKey,
  type Session,
  sessionOutlives,
} from './session-item.ts';
import {
  AUDITED_USER_FIELDS,
  EDITABLE_USER_FIELDS,
  type Identity,
  newRandomText,
  type User,
} from './user.ts';
import { emailGuardKey, identityGuardKey, loginGuardKey, rosterKey } from './user-items.ts';

/** Converts a table item to a user. */
export function userOf(item: Item): User {
  return attributesOf(item) as unknown as User;
}

/** The key of the item that has the id of the user with an address. */
export const guardKeyOf = (address: string): Key => emailGuardKey(emailKey(address));

/** The user with this id, or undefined. */
export async function findUser(table: Table, id: number): Promise<User | undefined> {
  const item = await table.get(entityKey('USER', id));
  return item && userOf(item);
}

/**
 * The user with exactly this login, or undefined. Retries once if the user is renamed between the
 * two reads.
 */
export async function findUserByLogin(table: Table, login: string): Promise<User | undefined> {
  for (let tries = 0; tries < 2; tries++) {
    const guard = await table.get(loginGuardKey(login));
    if (!guard) return undefined;
    const user = await findUser(table, guard.id as number);
    if (user?.login === login) return user;
  }
  return undefined;
}

/** The user whose mailbox this address belongs to, or undefined. */
export async function findUserByEmail(table: Table, address: string): Promise<User | undefined> {
  const key = guardKeyOf(address);
  const guard = isReadable(key) ? await table.get(key) : undefined;
  const user = guard && (await findUser(table, guard.id as number));
  // The user may have moved between the two reads.
  return user && isSameEmail(user.email, address) ? user : undefined;
}

/** The audit event for an action on a user. */
export const auditEventFor = (
  action: AuditEvent['action'],
  { id, login }: User,
  changes: readonly Change[],
): AuditEvent => ({ action, target: `user/${id}`, targetName: login, changes });

/** What an audit event records of a creation, a change or a deletion. */
export const userChanges = (before: User | undefined, after: User | undefined): Change[] =>
  changesBetween(before, after, AUDITED_USER_FIELDS);

/** A user as the actor of a request from this address, in this session if there is one. */
export const actorOf = (
  { id, login }: User,
  { source, session }: Pick<Actor, 'source' | 'session'>,
): Actor => ({ id, login, source, session });

/**
 * Whether the service itself writes this name as an actor or author. An account that has had the
 * login since before it was reserved keeps it.
 */
export const isReservedLogin = (login: string): boolean =>
  SERVICE_NAMES.some((name) => name.test(login));

/** Fails with login-taken for a login that no account can receive. */
export function requireUnreservedLogin(login: string): void {
  if (isReservedLogin(login)) throw new Failure('login-taken');
}

const claimLogin = (user: User) => claim(loginGuardKey(user.login), { id: user.id }, 'login-taken');
const claimEmail = (user: User) => claim(guardKeyOf(user.email), { id: user.id }, 'email-taken');
/** Whether two addresses are spellings of one: DynamoDB rejects two actions on its guard. */
const isSameEmail = (one: string, other: string): boolean => emailKey(one) === emailKey(other);
/** The checks that no other account has the address that a user has requested. */
export const emailIsFree = (user: User, email: string): Write[] =>
  isSameEmail(user.email, email) ? [] : [check(guardKeyOf(email), isAbsent('email-taken'))];
/** The attributes of a user who is linked with these identities only. */
export const linkedWith = (identities: readonly Identity[], { version }: User): Partial<User> => ({
  identities: identities.length > 0 ? identities : undefined,
  version: nextVersion(version),
});
/** The write that makes an identity one user's only. Fails with identity-taken. */
export const claimIdentity = ({ issuer, subject }: Identity, userId: number): Write =>
  claim(identityGuardKey(issuer, subject), { id: userId }, 'identity-taken');
/* The guards are the user's while its version is as it was read. */
const releaseLogin = ({ login }: User) => remove(loginGuardKey(login));
export const releaseIdentity = ({ issuer, subject }: Identity) =>
  remove(identityGuardKey(issuer, subject));
const releaseEmail = ({ email }: User) => remove(guardKeyOf(email));

/*
 * The writes below are in the order in which violations are reported: login, e-mail, last
 * administrator.
 */

/**
 * The writes that create a user with the uniqueness guards of its login and e-mail address. Fails
 * with login-taken.
 */
export function creation(user: User): Write[] {
  requireUnreservedLogin(user.login);
  return [
    claimLogin(user),
    claimEmail(user),
    ...(user.identities ?? []).map((identity) => claimIdentity(identity, user.id)),
    ...membership(undefined, user),
    claim(entityKey('USER', user.id), { ...user }, 'retry'),
    changeTotal('USER', 1),
  ];
}

/**
 * The writes of a visible change. Fields that stay are left out: a function may write no others
 * than it changes (routes.ts). So are passwords, and API tokens unless a deactivation ends them, so
 * that neither change undoes the other. `voidsResetKeys` replaces the security stamp that mailed
 * keys are bound to. A deactivation ends all sessions for good: they stay ended after a later
 * activation.
 */
export function modification(
  before: User,
  after: User,
  {
    voidsResetKeys,
    alsoSet = {},
  }: {
    voidsResetKeys: boolean;
    /** Other attributes: DynamoDB rejects a second action on the user. */
    alsoSet?: Partial<User>;
  },
): Write[] {
  const hasNewEmail = !isSameEmail(before.email, after.email);
  const renamed = before.login !== after.login;
  const isDeactivated = before.activated && !after.activated;
  const changed = EDITABLE_USER_FIELDS.filter((field) => before[field] !== after[field]);
  const { version, sessionEndings } = before;
  return [
    ...(renamed ? [claimLogin(after)] : []),
    ...(hasNewEmail ? [claimEmail(after)] : []),
    ...membership(before, after),
    ...(renamed ? [releaseLogin(before)] : []),
    ...(hasNewEmail ? [releaseEmail(before)] : []),
    set(
      entityKey('USER', before.id),
      {
        ...pick(after, [...changed, 'lastModifiedBy', 'lastModifiedDate', 'version']),
        // Otherwise it is left alone: a concurrent password change may have replaced it.
        ...(voidsResetKeys && { securityStamp: newRandomText() }),
        ...(before.emailUnproven !== after.emailUnproven && pick(after, ['emailUnproven'])),
        ...(before.invitedAt !== after.invitedAt && pick(after, ['invitedAt'])),
        ...(before.managedBy !== after.managedBy && pick(after, ['managedBy'])),
        ...(isDeactivated && allSessionsAndTokensEnded(before)),
        ...alsoSet,
      },
      attributesAre({ version, ...(isDeactivated && { sessionEndings }) }),
    ),
  ];
}

/**
 * The writes that delete a user permanently; the id is never reused. `outliving` are the sessions
 * that can still read until they expire.
 */
export function deletion(user: User, outliving: readonly Session[]): Write[] {
  const { version, secondFactor, passwordChanges, sessionEndings } = user;
  const { latestSession, tokens = [], identities = [] } = user;
  return [
    ...membership(user, undefined),
    releaseLogin(user),
    releaseEmail(user),
    // No new password, second factor, log-in or end of all sessions creates a version.
    remove(
      entityKey('USER', user.id),
      attributesAre({
        version,
        secondFactor,
        passwordChanges,
        sessionEndings,
        latestSession,
        tokens: user.tokens,
      }),
    ),
    ...identities.map(releaseIdentity),
    changeTotal('USER', -1),
    ...tokens.map(({ series }) => remove(apiTokenKey(series))),
    ...outliving.map((session) => sessionOutlives(user, session)),
  ];
}

/*
 * The roster is the set of ids of all activated users with ROLE_ADMIN; at least one must always
 * remain. A prior read cannot guarantee this: two administrators who remove each other concurrently
 * both still read two. The condition is therefore on the roster item, in the transaction that
 * removes an administrator.
 */

/** Whether a user is an administrator, which requires both ROLE_ADMIN and activation. */
export function administers(user: Pick<User, 'activated' | 'authorities'> | undefined): boolean {
  return user?.activated === true && user.authorities.includes('ROLE_ADMIN');
}

/**
 * The roster write for a change of one user; empty unless the user becomes or ceases to be an
 * administrator.
 */
function membership(before: User | undefined, after: User | undefined): Write[] {
  if (before && administers(before) && !administers(after)) return [leaveRoster(before.id)];
  if (after && administers(after) && !administers(before)) return [joinRoster(after.id)];
  return [];
}

/**
 * Removes a deleted, demoted or deactivated administrator. Fails with last-administrator if no
 * other remains.
 */
export function leaveRoster(id: number): Write {
  return {
    act: 'Update',
    key: rosterKey,
    update: 'DELETE #ids :set',
    condition: 'size(#ids) > :one',
    names: { '#ids': 'ids' },
    values: { ':set': new Set([id]), ':one': 1 },
    onConditionFailed: 'last-administrator',
  };
}

/** Adds an administrator to the roster. */
export function joinRoster(id: number): Write {
  return {
    act: 'Update',
    key: rosterKey,
    update: 'ADD #ids :set',
    names: { '#ids': 'ids' },
    values: { ':set': new Set([id]) },
  };
}
