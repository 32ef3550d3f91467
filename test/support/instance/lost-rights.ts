import { expect } from 'vitest';
import { ROLES } from '../../../lib/contract/contract.ts';
import { commit } from '../../../lib/table/change.ts';
import { entityKey } from '../../../lib/table/keys.ts';
import { EXISTS, set, type Write } from '../../../lib/table/write.ts';
import { passwordChange, sessionsChanged } from '../../../lib/users/credential-table.ts';
import {
  allSessionsEnded,
  type IssuedToken,
  sessionEnded,
} from '../../../lib/users/token-validity.ts';
import type { User } from '../../../lib/users/user.ts';
import { deletion, modification } from '../../../lib/users/user-table.ts';
import { decode } from './mint.ts';
import type { Setup } from './setup.ts';

/** Changes to a user after the token was issued, as the writes of the rules that make them. */
const LOSSES = {
  demoted: (user) => modification(user, { ...user, authorities: [] }, { voidsResetKeys: false }),
  deactivated: (user) =>
    modification(user, { ...user, activated: false }, { voidsResetKeys: true }),
  'given another password': (user) => [passwordChange(user, 'another')],
  deleted: (user) => deletion(user, Date.now()),
  // Under the same id, after a restore.
  replaced: ({ id }) => [set(entityKey('USER', id), { incarnation: 'another' }, EXISTS)],
  'logged out': (user, token) => [sessionsChanged(user, sessionEnded(user, token, Date.now()))],
  'logged out everywhere': (user) => [sessionsChanged(user, allSessionsEnded(user))],
} satisfies Record<string, (user: User, token: IssuedToken) => Write[]>;
/** The name of such a change. */
export type Loss = keyof typeof LOSSES;

/** Makes accounts with all roles, and returns the tokens that they had before they lost them. */
export async function makeTokensOfLost(setup: Setup): Promise<Map<Loss, string>> {
  const tokens = new Map<Loss, string>();
  for (const [loss, writesOf] of Object.entries(LOSSES)) {
    const { user, token } = await setup.account({ authorities: [...ROLES] });
    const { jti, exp: expires } = decode(token.split('.')[1]);
    const writes = writesOf(user, { jti, expires } as IssuedToken);
    expect(await commit(setup.gatehouse.table, writes), loss).toBe('committed');
    tokens.set(loss as Loss, token);
  }
  return tokens;
}
