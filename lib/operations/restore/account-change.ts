import { changesBetween } from '../../audit/changes.ts';
import { OPERATOR_NAME } from '../../audit/service-names.ts';
import type { Table } from '../../table/table.ts';
import { isFirstVersion } from '../../table/version.ts';
import type { User } from '../../users/user.ts';
import { userOf } from '../../users/user-table.ts';
import { findDefect } from '../integrity/find-defect.ts';
import { itemsOf } from '../transfer/entities.ts';
import { lastId } from './adopt-table.ts';

/*
 * A restore brings back deleted and deactivated accounts, former roles and former passwords. If the
 * original table still exists, comparing its accounts with the accounts of the restored table
 * shows what has happened since the backup.
 */

/** The fields that decide who has access. Names, language and picture stay as in the backup. */
const ACCESS_FIELDS = ['login', 'email', 'activated', 'authorities'] as const;
export type AccessField = (typeof ACCESS_FIELDS)[number];

/** What has happened to an account since the backup. */
export interface AccountChange {
  /** The account in the restored table. */
  readonly restored: User;
  /** The account in the original table; undefined if it has been deleted. */
  readonly original: User | undefined;
  /** The access fields that differ; none if the account has been deleted. */
  readonly fields: readonly AccessField[];
  /** Whether the restored password has been replaced or removed since. */
  readonly isPasswordReplaced: boolean;
  /** Whether the second factor has been turned on or off since, or has other recovery codes. */
  readonly isFactorChanged: boolean;
}

/** What has happened to an account since the backup; undefined if access is the same. */
export function changeSince(restored: User, original: User | undefined): AccountChange | undefined {
  if (!original)
    return { restored, original, fields: [], isPasswordReplaced: false, isFactorChanged: false };
  const fields = isChangedLater(restored, original)
    ? []
    : ACCESS_FIELDS.filter((field) => changesBetween(restored, original, [field]).length > 0);
  // A login can replace the hash without a change of the password.
  const isPasswordReplaced =
    restored.passwordHash !== undefined &&
    (original.passwordHash === undefined || restored.passwordChanges < original.passwordChanges);
  const isFactorChanged = (restored.factorChanges ?? 0) < (original.factorChanges ?? 0);
  return fields.length > 0 || isPasswordReplaced || isFactorChanged
    ? { restored, original, fields, isPasswordReplaced, isFactorChanged }
    : undefined;
}

/** Whether the restored account was changed later than the original. */
function isChangedLater(restored: User, original: User): boolean {
  // The operator's own changes are repetitions, of which another one may be left.
  if (restored.lastModifiedBy === OPERATOR_NAME) return false;
  // Until its first change, an account can have the date of an import, which can even be in the
  // future.
  if (isFirstVersion(restored.version)) return false;
  return isFirstVersion(original.version) || restored.lastModifiedDate > original.lastModifiedDate;
}

/** Whether two items describe one account. */
export const isSameAccount = (one: User, other: User | undefined): boolean =>
  one.id === other?.id && one.accountStamp === other.accountStamp;

/** How the accounts of a restored table differ from the accounts of the original. */
interface Comparison {
  readonly changes: readonly AccountChange[];
  /** The accounts that only the original has. */
  readonly created: readonly User[];
  /** The ids of accounts that are damaged in the original and therefore not compared. */
  readonly damaged: readonly number[];
}

/**
 * Compares the accounts of both tables. Accounts that the restored table has received since its
 * adoption are left out: their ids lie beyond the original's. Returns undefined if the
 * tables have no account in common.
 */
export async function compareAccounts(
  table: Table,
  original: Table,
): Promise<Comparison | undefined> {
  const restored = await readUsers(table);
  const originals = await readUsers(original);
  const last = await lastId(original, 'USER');
  const changes: AccountChange[] = [];
  let haveCommonAccount = false;
  for (const user of restored.users.values()) {
    const other = originals.users.get(user.id);
    const isSame = isSameAccount(user, other);
    haveCommonAccount ||= isSame;
    if (originals.damaged.has(user.id) || (!isSame && user.id > last)) continue;
    const change = changeSince(user, isSame ? other : undefined);
    if (change) changes.push(change);
  }
  if (!haveCommonAccount) return undefined;
  return {
    changes,
    created: [...originals.users.values()].filter(
      (user) => !isSameAccount(user, restored.users.get(user.id)) && !restored.damaged.has(user.id),
    ),
    damaged: [...originals.damaged],
  };
}

async function readUsers(table: Table) {
  const users = new Map<number, User>();
  const damaged = new Set<number>();
  for await (const item of itemsOf(table, 'USER')) {
    if (findDefect(item)) damaged.add(Number(item.sk));
    else users.set(item.id as number, userOf(item));
  }
  return { users, damaged };
}
