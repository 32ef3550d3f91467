import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';
import { DeleteUserToken } from '../lib/tokens/api-token-contracts.ts';
import { deleteTokenOf } from '../lib/tokens/api-tokens.ts';

const table = openTable();

/** POST /api/users/{login}/tokens/{series}/delete: deletes an API token of a user. */
export const handler = endpoint(DeleteUserToken, async ({ caller, path }) => {
  await deleteTokenOf(table, caller, path);
  return okEmpty();
});
