import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { ListScimUsers } from '../lib/identities/scim-contracts.ts';
import { listScimUsers } from '../lib/identities/scim-users.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();

/** GET /scim/v2/Users: the user whom a filter names, or a page of all users. */
export const handler = endpoint(ListScimUsers, async ({ caller, query }) =>
  ok(await listScimUsers(table, caller, query)),
);
