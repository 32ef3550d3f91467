import { Authenticate } from '../lib/accounts/account-contracts.ts';
import { logIn } from '../lib/accounts/log-in.ts';
import { openLoginThrottle } from '../lib/accounts/login-throttle.ts';
import { endpoint } from '../lib/http/endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openPasswords } from '../lib/passwords/passwords.ts';
import { openTable } from '../lib/table/table.ts';
import { issueToken } from '../lib/tokens/issue-token.ts';
import { openSigner } from '../lib/tokens/signing-keys.ts';

const table = openTable();
const passwords = openPasswords();
const throttle = openLoginThrottle(table);
const signer = openSigner(table);

/** POST /api/authenticate: exchanges the login and password of an activated account for a token. */
export const handler = endpoint(Authenticate, async ({ source, body }) => {
  const user = await logIn({ table, passwords, throttle }, source, body.username, body.password);
  const token = await issueToken(await signer(), user, body.rememberMe);
  return ok({ id_token: token }, { Authorization: `Bearer ${token}` });
});
