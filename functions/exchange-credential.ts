import { openLoginThrottle } from '../lib/accounts/login-throttle.ts';
import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { exchangeCredential } from '../lib/modules/exchange-credential.ts';
import { IssueModuleToken } from '../lib/modules/token-contracts.ts';
import { openTable } from '../lib/table/table.ts';
import { openSigner } from '../lib/tokens/signing-keys.ts';
import { MODULE_TOKEN_SECONDS } from '../lib/tokens/token.ts';

const table = openTable();
const services = { table, throttle: openLoginThrottle(table), signer: openSigner(table) };

/** POST /api/oauth2/token: exchanges the credential of a module for a token. */
export const handler = publicEndpoint(IssueModuleToken, async (request) => {
  const { source, authorization, body } = request;
  const { token, clientId } = await exchangeCredential(services, source, authorization, body);
  const expiry = { token_type: 'Bearer', expires_in: MODULE_TOKEN_SECONDS };
  return { ...ok({ access_token: token, ...expiry }), clientId };
});
