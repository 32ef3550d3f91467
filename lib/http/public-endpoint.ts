import type { PublicContract } from '../contract/contract.ts';
import { openCrossSitePolicy } from './cross-site.ts';
import { lambdaHandler, type Request } from './lambda-handler.ts';
import type { Response } from './response.ts';

/**
 * The Lambda handler of a row of routes.ts whose contract is public: anyone may call it, without a
 * token, but no browser for a page of another site. Where a token is required, such a page has
 * none.
 */
export function publicEndpoint<const C extends PublicContract>(
  contract: C,
  handle: (request: Request<C>) => Promise<Response>,
) {
  return lambdaHandler(contract, {
    requireAllowed: openCrossSitePolicy(),
    respondTo: async (readRequest) => handle(readRequest()),
  });
}
