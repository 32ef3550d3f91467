import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/open-table.ts';
import { ListTokens } from '../lib/tokens/api-token-contracts.ts';
import { listTokens } from '../lib/tokens/api-tokens.ts';

const table = openTable();

/** GET /api/account/tokens: the caller's API tokens. */
export const handler = endpoint(ListTokens, async ({ caller }) =>
  ok(await listTokens(table, caller)),
);
