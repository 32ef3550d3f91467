import { type Decision, loadDecideCommit } from '../../table/change.ts';
import type { Item, Table } from '../../table/table.ts';
import { passwordVoided } from '../../users/credential-table.ts';
import { findUser } from '../../users/user-table.ts';
import { findDefect } from '../integrity/find-defect.ts';
import { itemsOf } from '../transfer/entities.ts';
import { lastId } from './adopt-table.ts';

/*
 * A restore brings back accounts that were deleted or deactivated since the backup, and former
 * roles, passwords and second factors. If the original table still exists, nobody enters with them.
 */

const accessOf = ({ activated, authorities, passwordChanges, factorChanges }: Item): string =>
  JSON.stringify([activated, authorities, passwordChanges, factorChanges]);

/**
 * The ids of the accounts whose access has changed since the backup, or that have been deleted.
 * Accounts that the restored table has received since an earlier adoption are left out: their ids
 * lie beyond the ids of the original. Undefined if the tables have no account in common.
 */
export async function findChangedAccess(
  table: Table,
  original: Table,
): Promise<readonly number[] | undefined> {
  const originals = new Map<unknown, readonly [incarnation: unknown, access: string]>();
  for await (const item of itemsOf(original, 'USER'))
    originals.set(item.id, [item.incarnation, accessOf(item)]);
  const last = await lastId(original, 'USER');
  const changed: number[] = [];
  let haveCommonAccount = false;
  for await (const item of itemsOf(table, 'USER')) {
    if (findDefect(item)) continue;
    const [incarnation, access] = originals.get(item.id) ?? [];
    const isSame = incarnation === item.incarnation;
    haveCommonAccount ||= isSame;
    const id = item.id as number;
    if (isSame ? access !== accessOf(item) : id <= last) changed.push(id);
  }
  return haveCommonAccount ? changed : undefined;
}

/** Voids the passwords of users, and returns how many users had one. */
export async function voidPasswords(table: Table, ids: readonly number[]): Promise<number> {
  let voided = 0;
  for (const id of ids) {
    const isVoided = await loadDecideCommit(
      table,
      () => findUser(table, id),
      (user): Decision<boolean> =>
        user?.passwordHash === undefined
          ? { writes: [], result: false }
          : { writes: [passwordVoided(user)], result: true },
    );
    if (isVoided) voided++;
  }
  return voided;
}
