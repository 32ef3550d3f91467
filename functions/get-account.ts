import { GetAccount } from '../lib/accounts/account-contracts.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { userView } from '../lib/users/user.ts';

/** GET /api/account: the caller's own account. */
export const handler = endpoint(GetAccount, async ({ caller }) =>
  ok(userView(await caller.findUser())),
);
