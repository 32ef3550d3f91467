import type { ModuleContract } from '../contract/contract.ts';
import { Failure } from '../contract/failure.ts';
import {
  type AuthorizedModule,
  authorizeModule,
  moduleToken,
  refusedModules,
} from '../modules/module-caller.ts';
import { limitColdStart } from '../runtime/execution-environment.ts';
import { openTable } from '../table/open-table.ts';
import { openVerifier } from '../tokens/verify-token.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { respondToUsers } from './endpoint.ts';
import { lambdaHandler, type Request } from './lambda-handler.ts';
import type { Response } from './response.ts';

/** A validated request of a user or a module, whose access the endpoint enforces. */
type ModuleRequest<C extends ModuleContract> = Request<C> & {
  readonly caller: C['access']['anyRole'] extends readonly []
    ? AuthorizedModule
    : AuthorizedCaller | AuthorizedModule;
};

type UserRequest<C extends ModuleContract> = Request<C> & { readonly caller: AuthorizedCaller };

const refuse = async (): Promise<Response> => {
  throw new Failure('forbidden');
};

/**
 * The Lambda handler of a row of routes.ts that also admits the module of the integration in its
 * path. The table confirms the credential of the module before `handle` runs, by the one call that
 * `handle` needs as well.
 */
export function moduleEndpoint<const C extends ModuleContract>(
  contract: C,
  handle: (request: ModuleRequest<C>) => Promise<Response>,
) {
  limitColdStart();
  const table = openTable();
  const verifier = openVerifier(table, moduleToken());
  const refused = refusedModules();
  const admitsUsers = contract.access.anyRole.length > 0;
  const handleUser = handle as (request: UserRequest<C>) => Promise<Response>;
  const respondToUser = respondToUsers(table, contract, admitsUsers ? handleUser : refuse);
  return lambdaHandler(contract, {
    authenticate: (authorization) => verifier.verify(authorization),
    async respondTo(readRequest, authenticated, source) {
      if (!authenticated || 'id' in authenticated)
        return respondToUser(readRequest, authenticated, source);
      const request = readRequest();
      const { id } = request.path as { id: number };
      const from = { ...authenticated, source };
      const caller = await authorizeModule(table, from, id, refused);
      return handle({ ...request, caller } as ModuleRequest<C>);
    },
  });
}
