import { Failure } from '../lib/contract/failure.ts';
import { publicEndpoint } from '../lib/http/public-endpoint.ts';
import { ok } from '../lib/http/response.ts';
import { JWT_BEARER } from '../lib/identities/assertion.ts';
import { exchangeIdentity } from '../lib/identities/exchange-identity.ts';
import { hasIssuers } from '../lib/identities/issuer.ts';
import { logInWithIdentity, openIdentityLogIn } from '../lib/identities/log-in-with-identity.ts';
import { IssueToken } from '../lib/identities/token-contract.ts';
import { integrationOfClient } from '../lib/modules/credential.ts';
import { MODULE_SCOPE } from '../lib/modules/credential-contracts.ts';
import {
  type ExchangedCredential,
  exchangeCredential,
  openExchange,
} from '../lib/modules/exchange-credential.ts';
import { openModuleIssuers } from '../lib/modules/module-issuer.ts';
import { openTable } from '../lib/table/open-table.ts';

const table = openTable();
const modules = openExchange(table);
const moduleIssuers = openModuleIssuers();
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

const grantedToModule = ({ token, expiresInSeconds, clientId }: ExchangedCredential) => ({
  ...granted(token, expiresInSeconds, MODULE_SCOPE),
  clientId,
});

/** POST /api/oauth2/token: a token for the credential of a module, or for an ID token. */
export const handler = publicEndpoint(IssueToken, async ({ source, authorization, body }) => {
  const { client_id: clientId = '', assertion = '', code_verifier: codeVerifier = '' } = body;
  if (body.grant_type === JWT_BEARER && integrationOfClient(clientId) !== undefined)
    return grantedToModule(
      await exchangeIdentity(modules, moduleIssuers, source, { clientId, assertion }),
    );
  if (body.grant_type === JWT_BEARER && people) {
    const session = await logInWithIdentity(people, source, { assertion, codeVerifier });
    return { ...granted(session.token, session.expiresInSeconds), callerId: session.userId };
  }
  if (body.grant_type !== 'client_credentials') throw new Failure('unsupported-grant');
  return grantedToModule(await exchangeCredential(modules, source, authorization, body));
});
