import { Failure } from '../lib/contract/failure.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { etag, ok } from '../lib/http/response.ts';
import { GetScimUser } from '../lib/identities/scim-contracts.ts';
import { scimUserOf } from '../lib/identities/scim-users.ts';
import { openTable } from '../lib/table/open-table.ts';
import { findUser } from '../lib/users/user-table.ts';

const table = openTable();

/** GET /scim/v2/Users/{id}: a user, deactivated or not. */
export const handler = endpoint(GetScimUser, async ({ path }) => {
  const user = await findUser(table, path.id);
  if (!user) throw new Failure('not-found');
  return ok(scimUserOf(user), etag(user));
});
