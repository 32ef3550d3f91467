import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';
import { ListUserTokens } from '../lib/tokens/api-token-contracts.ts';
import { listTokensOf } from '../lib/tokens/api-tokens.ts';

const table = openTable();

/** GET /api/users/{login}/tokens: the API tokens of a user. */
export const handler = endpoint(ListUserTokens, async ({ caller, path }) =>
  ok(await listTokensOf(table, caller, path.login)),
);
