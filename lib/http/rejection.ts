import type { Contract } from '../contract/contract.ts';
import type { Failure } from '../contract/failure.ts';
import { oauthError } from './oauth-error.ts';
import { problem } from './problem.ts';
import type { Response } from './response.ts';
import { scimError } from './scim-error.ts';

/** The response to a failed request, in the form that the protocol of its endpoint requires. */
export function rejectionOf(
  { entityName, oauth, scim }: Pick<Contract, 'entityName' | 'oauth' | 'scim'>,
  failure: Failure,
  path: string,
  requestId?: string,
): Response {
  const response = problem(failure, entityName, path, requestId);
  if (oauth) return oauthError(failure, response);
  return scim ? scimError(failure, response) : response;
}
