import { Authenticate } from '../lib/accounts/account-contracts.ts';
import { logIn, openLogIn } from '../lib/accounts/log-in.ts';
import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openTable } from '../lib/table/table.ts';

const services = openLogIn(openTable());

/** POST /api/authenticate: exchanges the credentials of an activated account for a token. */
export const handler = publicEndpoint(Authenticate, async ({ source, body }) => {
  const { token, userId, factorNeededFrom } = await logIn(services, source, body);
  const answer = { id_token: token, secondFactorRequiredFrom: factorNeededFrom };
  return { ...ok(answer, { Authorization: `Bearer ${token}` }), callerId: userId };
});
