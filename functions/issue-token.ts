import { Failure } from '../lib/contract/failure.ts';
import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { JWT_BEARER } from '../lib/identities/assertion.ts';
import { hasIssuers } from '../lib/identities/issuer.ts';
import { logInWithIdentity, openIdentityLogIn } from '../lib/identities/log-in-with-identity.ts';
import { IssueToken } from '../lib/identities/token-contract.ts';
import { MODULE_SCOPE } from '../lib/modules/credential-contracts.ts';
import { exchangeCredential, openExchange } from '../lib/modules/exchange-credential.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const modules = openExchange(table);
// Without identity providers, the function may not sign tokens of people.
const people = hasIssuers() ? openIdentityLogIn(table) : undefined;

/** RFC 6749, 5.1. */
const granted = (token: string, expiresInSeconds: number, scope?: typeof MODULE_SCOPE) =>
  ok(
    {
      access_token: token,
      token_type: 'Bearer',
      expires_in: expiresInSeconds,
      ...(scope && { scope }),
    },
    { Pragma: 'no-cache' },
  );

/** POST /api/oauth2/token: a token for the credential of a module, or for an ID token. */
export const handler = publicEndpoint(IssueToken, async ({ source, authorization, body }) => {
  if (body.grant_type === JWT_BEARER && people) {
    const { assertion = '', code_verifier: codeVerifier = '' } = body;
    const session = await logInWithIdentity(people, source, { assertion, codeVerifier });
    return { ...granted(session.token, session.expiresInSeconds), callerId: session.userId };
  }
  if (body.grant_type !== 'client_credentials') throw new Failure('unsupported-grant');
  const module = await exchangeCredential(modules, source, authorization, body);
  const { token, expiresInSeconds, clientId } = module;
  return { ...granted(token, expiresInSeconds, MODULE_SCOPE), clientId };
});
