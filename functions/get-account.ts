import { GetAccount } from '../lib/accounts/account-contracts.ts';
import { findCallerUser } from '../lib/authorization/authorize.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/table.ts';
import { userView } from '../lib/users/user.ts';

const table = openTable();

/** GET /api/account: the caller's own account. */
export const handler = endpoint(GetAccount, async ({ caller }) =>
  ok(userView(await findCallerUser(table, caller))),
);
