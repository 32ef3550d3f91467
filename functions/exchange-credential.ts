import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { IssueModuleToken, MODULE_SCOPE } from '../lib/modules/credential-contracts.ts';
import { exchangeCredential, openExchange } from '../lib/modules/exchange-credential.ts';
import { openTable } from '../lib/table/open-table.ts';

const services = openExchange(openTable());

/** POST /api/oauth2/token: exchanges the credential of a module for a token. */
export const handler = publicEndpoint(IssueModuleToken, async (request) => {
  const { source, authorization, body } = request;
  const exchanged = await exchangeCredential(services, source, authorization, body);
  const { token, expiresInSeconds, clientId } = exchanged;
  const granted = {
    access_token: token,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    scope: MODULE_SCOPE,
  };
  // RFC 6749, 5.1.
  return { ...ok(granted, { Pragma: 'no-cache' }), clientId };
});
