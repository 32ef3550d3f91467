import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import { JWT_BEARER } from '../identities/assertion.ts';
import { hasIssuers } from '../identities/issuer.ts';
import { logInWithIdentity, openIdentityLogIn } from '../identities/log-in-with-identity.ts';
import type { Table } from '../table/table.ts';
import { openLoginThrottle } from '../throttle/login-throttle.ts';
import { integrationOfClient } from './credential.ts';
import { type ClientCredentials, MODULE_SCOPE } from './credential-contracts.ts';
import { exchangeCredential, openExchange } from './exchange-credential.ts';
import { exchangeIdentity } from './exchange-identity.ts';
import { openModuleIssuers } from './module-issuer.ts';

/** The form of a request for a token. */
interface TokenRequest extends ClientCredentials {
  readonly grant_type: string;
  readonly assertion?: string | undefined;
  readonly code_verifier?: string | undefined;
}

/** A token, and who is logged as its owner. */
interface Granted {
  readonly token: string;
  readonly expiresInSeconds: number;
  readonly scope?: typeof MODULE_SCOPE;
  readonly clientId?: string;
  readonly callerId?: number;
}

/**
 * Opens the grants of a stack. They fail with unsupported-grant, and as the exchanges and the
 * log-in do.
 */
export function openGrants(table: Table) {
  // One for both: each derives a secret in KMS during the cold start.
  const throttle = openLoginThrottle(table);
  const modules = openExchange(table, throttle);
  const moduleIssuers = openModuleIssuers();
  // Without identity providers, the function may not sign tokens of people.
  const people = hasIssuers() ? openIdentityLogIn(table, throttle) : undefined;
  return async (
    source: Source,
    authorization: string | undefined,
    request: TokenRequest,
  ): Promise<Granted> => {
    const { client_id: clientId = '', assertion = '', code_verifier: codeVerifier = '' } = request;
    if (request.grant_type === 'client_credentials') {
      const module = await exchangeCredential(modules, source, authorization, request);
      return { ...module, scope: MODULE_SCOPE };
    }
    const isBearer = request.grant_type === JWT_BEARER;
    if (isBearer && integrationOfClient(clientId) !== undefined) {
      const sent = { clientId, assertion };
      const module = await exchangeIdentity(modules, moduleIssuers, source, sent);
      return { ...module, scope: MODULE_SCOPE };
    }
    if (!isBearer || !people) throw new Failure('unsupported-grant');
    const { userId, ...session } = await logInWithIdentity(people, source, {
      assertion,
      codeVerifier,
    });
    return { ...session, callerId: userId };
  };
}
