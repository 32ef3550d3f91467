import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { CreateToken } from '../lib/tokens/api-token-contracts.ts';
import { createToken, openTokenLimits } from '../lib/tokens/api-tokens.ts';

const limits = openTokenLimits();

/** POST /api/account/tokens: an API token of the caller, which is shown only now. */
export const handler = endpoint(CreateToken, async ({ caller, body }) => {
  const token = await createToken(caller, body, limits);
  return { ...ok(token), status: 201 };
});
