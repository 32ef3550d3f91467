import { Failure } from '../contract/failure.ts';
import { notified } from '../mail/outbox.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from './caller.ts';
import { factorChange } from './credential-table.ts';
import { allSessionsAndTokensEnded } from './session-item.ts';
import { auditEventFor, findUserByLogin } from './user-table.ts';

/**
 * Removes the second factor of another user, who has lost the device and the recovery codes, ends
 * all sessions of that user and notifies the user by mail. Fails with not-found for an unknown
 * login and for a user without a factor, and with forbidden, even for the caller's own: a stolen
 * token must not remove it.
 */
export function removeSecondFactor(
  table: Table,
  caller: AuthorizedCaller,
  login: string,
): Promise<void> {
  return caller.change({
    load: () => findUserByLogin(table, login),
    decide: ({ loaded: user, now }) => {
      if (!user) throw new Failure('not-found');
      if (user.id === caller.id) throw new Failure('forbidden');
      if (!user.secondFactor) throw new Failure('not-found');
      return {
        writes: [
          factorChange(user, {
            secondFactor: undefined,
            pendingFactor: undefined,
            ...allSessionsAndTokensEnded(user),
          }),
          notified('secondFactorChanged', user, now),
        ],
        result: undefined,
        event: auditEventFor('secondFactor.removed', user, []),
      };
    },
  });
}
