import { randomBytes } from 'node:crypto';
import type { Role } from '../contract/contract.ts';
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
  /** How often the password has changed. A token from before the last change changes nothing, but for one with this id. */
  readonly passwordChanges: number;
  readonly tokenExcepted?: string | undefined;
}

/** A new account stamp or reset stamp: 96 random bits. */
export const newStamp = (): string => randomBytes(12).toString('base64url');

/** What anyone may see of a user: a list of fields, so that no new secret is ever shown by accident. */
export function userView(user: User) {
  return {
    id: user.id,
    login: user.login,
    firstName: user.firstName ?? null,
    lastName: user.lastName ?? null,
    email: user.email,
    imageUrl: user.imageUrl ?? null,
    activated: user.activated,
    langKey: user.langKey,
    authorities: user.authorities,
    createdBy: user.createdBy,
    createdDate: user.createdDate,
    lastModifiedBy: user.lastModifiedBy,
    lastModifiedDate: user.lastModifiedDate,
  };
}
