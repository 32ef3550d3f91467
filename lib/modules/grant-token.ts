import { Failure } from '../contract/failure.ts';
import type { Source } from '../contract/source.ts';
import type { Table } from '../table/table.ts';
import type { LoginThrottle } from '../throttle/login-throttle.ts';
import { JWT_BEARER } from '../tokens/assertion.ts';
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

/** Starts the session of a person for an ID token. */
type LogIn = (
  source: Source,
  sent: { readonly assertion: string; readonly codeVerifier: string },
) => Promise<Pick<Granted, 'token' | 'expiresInSeconds'> & { readonly userId: number }>;

/**
 * Opens the grants of a stack, which has a log-in for people if it has identity providers. They
 * fail with unsupported-grant, and as the exchanges and the log-in do.
 */
export function openGrants(table: Table, throttle: LoginThrottle, logIn: LogIn | undefined) {
  const modules = openExchange(table, throttle);
  const moduleIssuers = openModuleIssuers();
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
    if (!isBearer || !logIn) throw new Failure('unsupported-grant');
    const { userId, ...session } = await logIn(source, { assertion, codeVerifier });
    return { ...session, callerId: userId };
  };
}
