import { type DynamoDBClient, ResourceNotFoundException } from '@aws-sdk/client-dynamodb';
import {
  type AccountChange,
  type Comparison,
  compareAccounts,
} from '../../../lib/restore/account-change.ts';
import { type Obstacle, repeatChanges } from '../../../lib/restore/repeat-changes.ts';
import { openTable, type Table } from '../../../lib/table/table.ts';
import type { User } from '../../../lib/users/user.ts';
import { print, printError } from '../command-line.ts';

/**
 * The original of a restored table, and what an operator wants to be done with the changes of its
 * accounts.
 */
export interface OriginalWishes {
  readonly name: string;
  /** Whether the changes since the backup are repeated. */
  readonly apply: boolean;
  /** The ids of the accounts that stay as in the backup. */
  readonly kept: readonly number[];
}

/**
 * Compares the accounts of a restored table with those of the original. Throws a sentence if they
 * cannot be compared, or if an account to be kept has not changed: the operator may have mistyped
 * its id.
 */
export async function compareWithOriginal(
  client: DynamoDBClient,
  tableName: string,
  { name, kept }: OriginalWishes,
): Promise<Comparison> {
  const comparison = await compareAccounts(
    openTable(tableName, client),
    openTable(name, client),
  ).catch((error) => {
    // The restored table exists: its settings have been read.
    if (!(error instanceof ResourceNotFoundException)) throw error;
    throw new Error(`There is no table ${name} in this account and region.`);
  });
  if (!comparison)
    throw new Error(`${name} is not the original of ${tableName}: they have no account in common.`);
  const unchanged = kept.filter(
    (id) => !comparison.changes.some(({ restored }) => restored.id === id),
  );
  if (unchanged.length > 0)
    throw new Error(
      `--keep names accounts that have not changed in ${name} since the backup: ` +
        `${unchanged.join(', ')}.`,
    );
  return comparison;
}

/** Prints how the accounts differ. */
export function reportAccounts(
  original: OriginalWishes | undefined,
  comparison: Comparison | undefined,
): void {
  if (!original || !comparison) {
    print(
      'Accounts are as in the backup: deletions, deactivations, changes of roles and ' +
        'replaced passwords since then are ' +
        'undone. --original TABLE lists them if the original table still exists',
    );
    return;
  }
  const { changes, created, damaged } = comparison;
  print(`Accounts changed in ${original.name} since the backup: ${changes.length}`);
  for (const change of changes)
    print(`  ${describe(change)}${original.kept.includes(change.restored.id) ? ' (kept)' : ''}`);
  print(
    `Accounts created in ${original.name} since the backup, and not restored: ${created.length}`,
  );
  for (const user of created) print(`  ${nameOf(user)}`);
  for (const id of damaged)
    print(`Not compared, because it is damaged in ${original.name}: user ${id}`);
  if (changes.length > 0 && !original.apply)
    print(
      'None of these changes is repeated: run the command again with --apply, before the ' +
        'service starts',
    );
}

/**
 * Repeats the changes except those of kept accounts. Returns whether all are repeated; prints those
 * that are not.
 */
export async function repeatAccountChanges(
  table: Table,
  { kept }: OriginalWishes,
  { changes }: Comparison,
): Promise<boolean> {
  const wanted = changes.filter(({ restored }) => !kept.includes(restored.id));
  const unrepeated = await repeatChanges(table, wanted);
  print(`Accounts whose changes are repeated: ${wanted.length - unrepeated.length}`);
  const voided = wanted.filter(({ isPasswordReplaced }) => isPasswordReplaced);
  if (voided.length > 0)
    print(`Void passwords, whose users must request a reset by mail: ${voided.length}`);
  for (const { change, obstacles } of unrepeated)
    printError(
      `Not repeated: ${describe(change)}: ` +
        `${obstacles.map((obstacle) => REASONS[obstacle]).join('; ')}`,
    );
  return unrepeated.length === 0;
}

const REASONS: Record<Obstacle, string> = {
  'last-administrator':
    'no other administrator would remain. Create one with this account, then run the command again',
  'login-taken': 'another account has the login',
  'email-taken': 'another account has the address',
  unavailable:
    'the account is not intact, or the table did not respond. Repair the table, then run ' +
    'the command again',
};

const nameOf = ({ id, login }: User): string => `user ${id} ${login}`;

/**
 * For example: `user 7 bob: roles ROLE_ADMIN, ROLE_USER → ROLE_USER; password replaced (by admin,
 * 2026-11-22T08:30:00.000Z)`.
 */
function describe({ restored, original, fields, isPasswordReplaced }: AccountChange): string {
  if (!original) return `${nameOf(restored)}: deleted`;
  const parts = fields.map((field) => {
    if (field === 'activated') return original.activated ? 'activated' : 'deactivated';
    if (field === 'authorities') return `roles ${rolesOf(restored)} → ${rolesOf(original)}`;
    return `${field === 'email' ? 'address' : field} ${restored[field]} → ${original[field]}`;
  });
  const by =
    fields.length > 0 ? ` (by ${original.lastModifiedBy}, ${original.lastModifiedDate})` : '';
  if (isPasswordReplaced) parts.push('password replaced');
  return `${nameOf(restored)}: ${parts.join('; ')}${by}`;
}

const rolesOf = ({ authorities }: User): string => authorities.join(', ') || 'none';
