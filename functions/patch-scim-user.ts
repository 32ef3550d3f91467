import { endpoint } from '../lib/http/endpoint.ts';
import { etag, ok } from '../lib/http/response.ts';
import { PatchScimUser } from '../lib/identities/scim-contracts.ts';
import { scimUserOf, setActive } from '../lib/identities/scim-users.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** PATCH /scim/v2/Users/{id}: deactivates or activates a user, except the last administrator. */
export const handler = endpoint(PatchScimUser, async ({ caller, path, body, precondition }) => {
  const user = await setActive(table, caller, { ...path, ...body, precondition });
  return ok(scimUserOf(user), etag(user));
});
