import { endpoint } from '../lib/http/endpoint.ts';
import { noContent } from '../lib/http/response.ts';
import { DeleteScimUser } from '../lib/identities/scim-contracts.ts';
import { setActive } from '../lib/identities/scim-users.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** DELETE /scim/v2/Users/{id}: deactivates a user, who stays. */
export const handler = endpoint(DeleteScimUser, async ({ caller, path, precondition }) => {
  await setActive(table, caller, { ...path, active: false, precondition });
  return noContent();
});
