import { randomBytes } from 'node:crypto';
import type { Role } from '../contract/contract.ts';
import { editableFields, type FieldUse, viewOf } from '../contract/entity-fields.ts';
import type { Version } from '../table/version.ts';

/** A user account as it is stored, without its keys. */
export interface User {
  readonly id: number;
  readonly login: string;
  readonly email: string;
  /** By which rule the address is unique; absent where it was claimed before there was more than one. */
  readonly emailKeyRule?: 'UTS46' | undefined;
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
  /** Moves with every visible change. */
  readonly version: Version;
  /**
   * Names this account and no other: an id can be given again after the table was restored from a backup. Absent in
   * accounts that were created before there were stamps, whose tokens have none either.
   */
  readonly accountStamp?: string | undefined;
  /** Changes with every password and every address, and never recurs: a reset key is good for one of them. */
  readonly resetStamp?: string | undefined;
  /** A PHC string; nobody without one can log in. */
  readonly passwordHash?: string | undefined;
  /**
   * How often the password has changed. A token from before the last change changes nothing, but for one with this id.
   */
  readonly passwordChanges: number;
  readonly tokenExcepted?: string | undefined;
}

/** A new account stamp or reset stamp: 96 random bits. */
export const newStamp = (): string => randomBytes(12).toString('base64url');

/** The fields that no client sees. */
type InternalField =
  | 'emailKeyRule'
  | 'version'
  | 'accountStamp'
  | 'resetStamp'
  | 'passwordHash'
  | 'passwordChanges'
  | 'tokenExcepted';

/**
 * The fields that clients see, in the order in which they see them: the view, the stored attributes of a change, the
 * fields of its audit event and the filters of lists are derived from this list. A field of User that is neither here
 * nor internal does not compile.
 */
export const USER_FIELDS = {
  id: { filter: 'number' },
  login: { filter: 'text', editable: true },
  firstName: { filter: 'text', editable: true },
  lastName: { filter: 'text', editable: true },
  email: { filter: 'text', editable: true },
  imageUrl: { editable: true },
  activated: { filter: 'boolean', editable: true },
  langKey: { filter: 'text', editable: true },
  authorities: { editable: true },
  createdBy: { filter: 'text' },
  createdDate: { filter: 'date' },
  lastModifiedBy: { filter: 'text' },
  lastModifiedDate: { filter: 'date' },
} as const satisfies Record<Exclude<keyof User, InternalField>, FieldUse>;

/** The fields that administrators can set, and users in part for their own account. */
export const EDITABLE_USER_FIELDS = editableFields(USER_FIELDS);
export type EditableUserField = (typeof EDITABLE_USER_FIELDS)[number];

/** What clients see of a user. */
export const userView = (user: User) => viewOf(user, USER_FIELDS);
