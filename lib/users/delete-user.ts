import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { type Precondition, requireVersion } from '../table/write.ts';
import type { AuthorizedCaller } from './caller.ts';
import { auditEventFor, deletion, findUserByLogin, userChanges } from './user-table.ts';

/**
 * Deletes an account permanently. Its tokens that have not ended can still read what requires no
 * role until they expire. Fails with not-found, version-changed, last-administrator, forbidden.
 */
export async function deleteUser(
  table: Table,
  caller: AuthorizedCaller,
  login: string,
  precondition: Precondition,
): Promise<void> {
  await caller.change({
    load: () => findUserByLogin(table, login),
    decide: ({ loaded: targetUser, now }) => {
      if (!targetUser) throw new Failure('not-found');
      requireVersion(targetUser, precondition);
      return {
        writes: deletion(targetUser, now),
        result: undefined,
        event: auditEventFor('user.deleted', targetUser, userChanges(targetUser, undefined)),
      };
    },
  });
}
