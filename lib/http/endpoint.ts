import { type ProtectedContract, scopeOf } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import { limitColdStart } from '../runtime/execution-environment.ts';
import { settleAll } from '../runtime/waiting.ts';
import { authorize, openAccessSettings } from '../sessions/authorize.ts';
import { openTable } from '../table/open-table.ts';
import type { Table } from '../table/table.ts';
import { openTokenUses } from '../tokens/api-token.ts';
import { openVerifier } from '../tokens/verify-token.ts';
import { endedSessions } from '../users/account-limits.ts';
import type { AuthorizedCaller, Caller } from '../users/caller.ts';
import { lambdaHandler, type Request } from './lambda-handler.ts';
import type { Response } from './response.ts';

/** A validated request of a caller whose access the endpoint enforces. */
type AuthorizedRequest<C extends ProtectedContract> = Request<C> & {
  readonly caller: AuthorizedCaller;
};

/**
 * The Lambda handler of a row of routes.ts that requires a token. Requests are rejected in this
 * order: tokens that are not valid, invalid requests, callers whose session has ended or who lack a
 * required role, requests that `handle` rejects.
 */
export function endpoint<const C extends ProtectedContract>(
  contract: C,
  handle: (request: AuthorizedRequest<C>) => Promise<Response>,
) {
  limitColdStart();
  const table = openTable();
  const verifier = openVerifier(table);
  return lambdaHandler(contract, {
    authenticate: (authorization) => verifier.verify(authorization),
    respondTo: respondToUsers(table, contract, handle),
  });
}

/** Responds to the requests of users, as far as the contract gives them access. */
export function respondToUsers<C extends ProtectedContract>(
  table: Table,
  contract: C,
  handle: (request: AuthorizedRequest<C>) => Promise<Response>,
) {
  const scope = scopeOf(contract);
  const settings = { ...openAccessSettings(), scope, ended: endedSessions() };
  const recordUse = openTokenUses(table);
  return async (
    readRequest: () => Request<C>,
    authenticated: unknown,
    source: string,
  ): Promise<Response> => {
    // Before anything is read. A session that has ended can still be logged out.
    if (contract.access !== 'issued-token' && settings.ended.has(authenticated as Caller))
      throw new Failure('invalid-token');
    const from = { ...(authenticated as Caller), source };
    const caller = authorize(table, from, contract.access, settings);
    // Inside the promise: `settleAll` reports the 401 or 403 of the table before the 404 of an
    // invalid path.
    const handled = async () => handle({ ...readRequest(), caller });
    // Run in parallel: `handle` reads while the table confirms the access. Without access, its
    // response is discarded.
    const authorized = async () => {
      await caller.requireAuthorized();
      if (from.scopes) await recordUse(from);
    };
    const [, response] = await settleAll([authorized(), handled()]);
    return response;
  };
}
