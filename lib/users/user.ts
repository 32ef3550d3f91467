import { randomBytes } from 'node:crypto';
import { ROLES, type Role } from '../contract/contract.ts';
import {
  editableFields,
  type FieldUse,
  personalFields,
  viewOf,
} from '../contract/entity-fields.ts';
import { isReachable } from '../mail/address.ts';
import type { Version } from '../table/write.ts';
import type { PendingFactor, SecondFactor } from './user-factor.ts';
import { MAILED_KEY_SECONDS } from './user-items.ts';

/** A user account as stored, without the item's keys. */
export interface User {
  readonly id: number;
  readonly login: string;
  readonly email: string;
  /**
   * The user has set the address, and no key that was mailed there has been used: it can be the
   * address of a stranger, who receives few mails.
   */
  readonly emailUnproven?: true | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly imageUrl?: string | undefined;
  readonly activated: boolean;
  readonly langKey: string;
  readonly authorities: readonly Role[];
  readonly createdBy: string;
  /** ISO 8601, UTC; so is lastModifiedDate. */
  readonly createdDate: string;
  readonly lastModifiedBy: string;
  readonly lastModifiedDate: string;
  /** Changes with every visible change of the user. */
  readonly version: Version;
  /**
   * Identifies this account uniquely: an id can be assigned again after the table is restored from
   * a backup.
   */
  readonly incarnation: string;
  /**
   * Reset keys are valid only while this value stays. A new password, a deactivation and a change
   * of address by an administrator replace it.
   */
  readonly securityStamp: string;
  /** A PHC string. A user without one cannot log in. */
  readonly passwordHash?: string | undefined;
  /** The number of password changes. Sessions that began before the last one have ended. */
  readonly passwordChanges: number;
  /** The number of times that all sessions were ended; absent means none. */
  readonly sessionEndings?: number | undefined;
  /** The time of the last log-in. ISO 8601, UTC. */
  readonly lastLogin?: string | undefined;
  /**
   * The series of the latest session. A deletion depends on it: two log-ins can have the same time.
   */
  readonly latestSession?: string | undefined;
  /**
   * The API tokens that have not been ended, by their series and the time of their expiry in
   * seconds since 1970; absent means none.
   */
  readonly tokens?: readonly ListedToken[] | undefined;
  /** The set of files that manages the account; absent means none. */
  readonly managedBy?: string | undefined;
  /** When the user was last invited to set a password, which removes it. ISO 8601, UTC. */
  readonly invitedAt?: string | undefined;
  /** With what the user can log in at identity providers; absent means with none. */
  readonly identities?: readonly Identity[] | undefined;
  readonly secondFactor?: SecondFactor | undefined;
  readonly pendingFactor?: PendingFactor | undefined;
  /**
   * How often the second factor was turned on or off or received other recovery codes; absent means
   * never. A restore compares it with the original table's.
   */
  readonly factorChanges?: number | undefined;
  /**
   * When a reset has last given the owner, who has a second factor, attempts of their own; in
   * milliseconds since 1970.
   */
  readonly admittedAt?: number | undefined;
}

/** A person as an identity provider knows them: the claims `iss` and `sub` of its ID tokens. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

export interface ListedToken {
  readonly series: string;
  readonly expires: number;
}

/** A new incarnation or security stamp: 96 random bits. */
export const newRandomText = (): string => randomBytes(12).toString('base64url');

/** The fields that no response body contains. Clients see `version` as the ETag. */
type InternalField =
  | 'emailUnproven'
  | 'version'
  | 'incarnation'
  | 'securityStamp'
  | 'passwordHash'
  | 'passwordChanges'
  | 'sessionEndings'
  | 'lastLogin'
  | 'latestSession'
  | 'tokens'
  | 'managedBy'
  | 'invitedAt'
  | 'identities'
  | 'secondFactor'
  | 'pendingFactor'
  | 'factorChanges'
  | 'admittedAt';

/**
 * The fields that clients see, in response order. The view, the attributes that a change writes,
 * the changes in its audit events and the list filters are derived from this list, and so is what a
 * deletion of personal data removes from the audit trail. A field of User that is neither here nor
 * internal does not compile.
 */
export const USER_FIELDS = {
  id: { filter: 'number' },
  login: { filter: 'text', editable: true, personal: true },
  firstName: { filter: 'text', editable: true, personal: true },
  lastName: { filter: 'text', editable: true, personal: true },
  email: { filter: 'text', editable: true, personal: true },
  imageUrl: { editable: true, personal: true },
  activated: { filter: 'boolean', editable: true },
  langKey: { filter: 'text', editable: true },
  authorities: { filter: { oneOf: ROLES, asSet: true }, editable: true },
  createdBy: { filter: 'text' },
  createdDate: { filter: 'date' },
  lastModifiedBy: { filter: 'text' },
  lastModifiedDate: { filter: 'date' },
} as const satisfies Record<Exclude<keyof User, InternalField>, FieldUse>;

/** The fields that administrators can set; users can set some of them in their own account. */
export const EDITABLE_USER_FIELDS = editableFields(USER_FIELDS);
export type EditableUserField = (typeof EDITABLE_USER_FIELDS)[number];
/** The fields whose changes the audit trail has. */
export const AUDITED_USER_FIELDS = [...EDITABLE_USER_FIELDS, 'managedBy'] as const;

export const PERSONAL_USER_FIELDS = personalFields(USER_FIELDS);

/** The representation of a user in responses. */
export const userView = (user: Omit<User, 'secondFactor'>) => viewOf(user, USER_FIELDS);

export const USER_STATES = [
  'deactivated',
  'invited',
  'invitationExpired',
  'neverLoggedIn',
  'active',
] as const;

/**
 * The state of a user, and until when their invitation is valid. A log-in or a new password uses it
 * up, a linked identity voids it. `now` is in milliseconds since 1970.
 */
export function standingOf(
  {
    activated,
    invitedAt,
    lastLogin = '',
    identities,
  }: Pick<User, 'activated' | 'invitedAt' | 'lastLogin' | 'identities'>,
  now: number,
): { state: (typeof USER_STATES)[number]; invitedUntil: string | null } {
  if (!activated) return { state: 'deactivated', invitedUntil: null };
  if (invitedAt === undefined || identities || lastLogin > invitedAt)
    return { state: lastLogin ? 'active' : 'neverLoggedIn', invitedUntil: null };
  const until = Date.parse(invitedAt) + MAILED_KEY_SECONDS * 1000;
  const state = now < until ? 'invited' : 'invitationExpired';
  return { state, invitedUntil: new Date(until).toISOString() };
}

/** When a user is invited; undefined for an address that no mail reaches. */
export const invitationAt = ({ email }: Pick<User, 'email'>, now: number): string | undefined =>
  isReachable(email) ? new Date(now).toISOString() : undefined;

/** The API tokens of a user that have not expired. `now` is in milliseconds since 1970. */
export const activeTokens = ({ tokens = [] }: Pick<User, 'tokens'>, now: number): ListedToken[] =>
  tokens.filter(({ expires }) => now < expires * 1000);

/** When the first API token of a user expires; null without one. */
export function tokensExpire(user: Pick<User, 'tokens'>, now: number): string | null {
  const times = activeTokens(user, now).map(({ expires }) => expires * 1000);
  return times.length > 0 ? new Date(Math.min(...times)).toISOString() : null;
}

/** How lists filter and sort by what only administrators see. */
export const ADMINISTRATOR_FIELDS = {
  lastLogin: { filter: 'date' },
  secondFactor: { filter: 'boolean' },
  state: { filter: { oneOf: USER_STATES } },
  tokensExpire: { filter: 'date' },
} as const satisfies Record<string, FieldUse>;

/** The representation of a user for administrators; JSON leaves out what is undefined. */
export const administratorView = (
  user: Omit<User, 'secondFactor'> & { readonly secondFactor?: SecondFactor | boolean | undefined },
) => ({
  ...userView(user),
  lastLogin: user.lastLogin ?? null,
  secondFactor: Boolean(user.secondFactor),
  ...standingOf(user, Date.now()),
  tokensExpire: tokensExpire(user, Date.now()),
  managedBy: user.managedBy,
  identities: user.identities,
});
