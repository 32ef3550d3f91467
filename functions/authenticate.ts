import { Authenticate } from '../lib/accounts/account-contracts.ts';
import { logIn } from '../lib/accounts/log-in.ts';
import { openLoginThrottle } from '../lib/accounts/login-throttle.ts';
import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openTable } from '../lib/table/table.ts';
import { issueToken } from '../lib/tokens/issue-token.ts';
import { openSigner } from '../lib/tokens/signing-keys.ts';
import type { User } from '../lib/users/user.ts';

const table = openTable();
const passwords = openPasswords();
const throttle = openLoginThrottle(table);
const signer = openSigner(table);

/** POST /api/authenticate: exchanges the login and password of an activated account for a token. */
export const handler = publicEndpoint(Authenticate, async ({ source, body }) => {
  const issue = async (user: User) => issueToken(await signer(), user, body.rememberMe);
  const services = { table, passwords, throttle, issueToken: issue };
  const token = await logIn(services, source, body.username, body.password);
  return ok({ id_token: token }, { Authorization: `Bearer ${token}` });
});
