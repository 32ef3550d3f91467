import { GetAccount } from '../lib/accounts/account-contracts.ts';
import { Failure } from '../lib/failure.ts';
import { ok } from '../lib/http/answer.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { openTable } from '../lib/table/table.ts';
import { userView } from '../lib/users/user.ts';
import { findUser } from '../lib/users/user-table.ts';

const table = openTable();

/** GET /api/account: the caller's own account. */
export const handler = endpoint(GetAccount, async ({ caller }) => {
  const user = await findUser(table, caller.id);
  if (!user) throw new Failure('unauthorized');
  return ok(userView(user));
});
