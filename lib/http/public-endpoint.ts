import type { PublicContract } from '../contract/contract.ts';
import { lambdaHandler, type Request } from './lambda-handler.ts';
import type { Response } from './response.ts';

/** The Lambda handler of a row of routes.ts whose contract is public: anyone may call it, without a token. */
export function publicEndpoint<const C extends PublicContract>(
  contract: C,
  handle: (request: Request<C>) => Promise<Response>,
) {
  return lambdaHandler(contract, { respondTo: async (readRequest) => handle(readRequest()) });
}
