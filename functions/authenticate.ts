import { Authenticate } from '../lib/accounts/account-contracts.ts';
import { logIn } from '../lib/accounts/log-in.ts';
import { openLoginThrottle } from '../lib/accounts/login-throttle.ts';
import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openTable } from '../lib/table/table.ts';
import { openIssuer } from '../lib/tokens/issue-token.ts';

const table = openTable();
const services = {
  table,
  passwords: openPasswords(),
  throttle: openLoginThrottle(table),
  issueToken: openIssuer(table),
};

/** POST /api/authenticate: exchanges the login and password of an activated account for a token. */
export const handler = publicEndpoint(Authenticate, async ({ source, body }) => {
  const { token, userId } = await logIn(services, source, body);
  return { ...ok({ id_token: token }, { Authorization: `Bearer ${token}` }), callerId: userId };
});
