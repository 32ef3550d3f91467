import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { openIdentityLogIn } from '../lib/identities/log-in-with-identity.ts';
import { openGrants } from '../lib/modules/grant-token.ts';
import { IssueToken } from '../lib/modules/token-contract.ts';
import { openTable } from '../lib/table/open-table.ts';
import { openLoginThrottle } from '../lib/throttle/login-throttle.ts';

const table = openTable();
// One for both: each derives a secret in KMS during the cold start.
const throttle = openLoginThrottle(table);
const grant = openGrants(table, throttle, openIdentityLogIn(table, throttle));

/** POST /api/oauth2/token: a token for the credential of a module, or for an ID token. */
export const handler = publicEndpoint(IssueToken, async ({ source, authorization, body }) => {
  const { token, expiresInSeconds, scope, ...owner } = await grant(source, authorization, body);
  const granted = {
    access_token: token,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    ...(scope && { scope }),
  };
  // RFC 6749, 5.1.
  return { ...ok(granted, { Pragma: 'no-cache' }), ...owner };
});
