import { Failure } from '../lib/contract/failure.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { etag, ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';
import { administratorView, userView } from '../lib/users/user.ts';
import { GetUser } from '../lib/users/user-contracts.ts';
import { findUserByLogin } from '../lib/users/user-table.ts';

const table = openTable();

/** GET /api/users/{login}: the account with exactly this login. */
export const handler = endpoint(GetUser, async ({ caller, path }) => {
  const user = await findUserByLogin(table, path.login);
  if (!user) throw new Failure('not-found');
  const view = (await caller.isAdministrator()) ? administratorView : userView;
  return ok(view(user), etag(user));
});
