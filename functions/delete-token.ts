import { endpoint } from '../lib/http/endpoint.ts';
import { okEmpty } from '../lib/http/response.ts';
import { DeleteToken } from '../lib/tokens/api-token-contracts.ts';
import { deleteToken } from '../lib/tokens/api-tokens.ts';

/** POST /api/account/tokens/{series}/delete: deletes one of the caller's API tokens. */
export const handler = endpoint(DeleteToken, async ({ caller, path }) => {
  await deleteToken(caller, path.series);
  return okEmpty();
});
