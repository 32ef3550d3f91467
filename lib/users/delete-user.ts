import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { type Precondition, requireVersion } from '../table/write.ts';
import type { AuthorizedCaller } from './caller.ts';
import { findLiveSessions, OUTLIVING_SESSIONS_MAX } from './session-item.ts';
import { auditEventFor, deletion, findUserByLogin, userChanges } from './user-table.ts';

/**
 * Deletes an account permanently. Its latest sessions can still read what requires no role until
 * they expire, unless the settings end them (authorize.ts). Fails with not-found, version-changed,
 * last-administrator, forbidden.
 */
export async function deleteUser(
  table: Table,
  caller: AuthorizedCaller,
  login: string,
  precondition: Precondition,
): Promise<void> {
  await caller.change({
    async load() {
      const targetUser = await findUserByLogin(table, login);
      if (!targetUser) throw new Failure('not-found');
      return { targetUser, sessions: await findLiveSessions(table, targetUser) };
    },
    decide: ({ loaded: { targetUser, sessions } }) => {
      requireVersion(targetUser, precondition);
      return {
        writes: deletion(targetUser, sessions.slice(0, OUTLIVING_SESSIONS_MAX)),
        result: undefined,
        event: auditEventFor('user.deleted', targetUser, userChanges(targetUser, undefined)),
      };
    },
  });
}
