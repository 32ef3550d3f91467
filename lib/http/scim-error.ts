import type { Failure, FailureCode } from '../contract/failure.ts';
import { SCIM_TYPE } from './body.ts';
import type { ProblemResponse } from './problem.ts';
import type { Response } from './response.ts';

export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** The reasons of RFC 7644, 3.12 for a rejection with 400. */
const SCIM_TYPES: Partial<Record<FailureCode, string>> = {
  malformed: 'invalidSyntax',
  invalid: 'invalidValue',
  'page-too-deep': 'tooMany',
};

/** What the problem does not tell an administrator of the identity provider. */
const DETAILS: Partial<Record<FailureCode, string>> = {
  'last-administrator':
    'The user is the last activated administrator, who must stay: make another one first',
  'unsupported-media-type':
    'The body must be application/scim+json or application/json in UTF-8, without a content ' +
    'encoding',
};

/**
 * The response to a failed request of SCIM (RFC 7644, 3.12). The last administrator is 409, which
 * identity providers show and do not take for a mistake in their request.
 */
export function scimError(failure: Failure, { body, ...response }: ProblemResponse): Response {
  const { code, scope, fieldErrors = [] } = failure;
  const problem = JSON.parse(body);
  const status = code === 'last-administrator' ? 409 : response.status;
  const isFilter = fieldErrors.some(({ field }) => field === 'filter');
  const scimType = isFilter ? 'invalidFilter' : SCIM_TYPES[code];
  return {
    ...response,
    status,
    headers: { ...response.headers, 'Content-Type': `${SCIM_TYPE}; charset=utf-8` },
    body: JSON.stringify({
      schemas: [ERROR_SCHEMA],
      status: String(status),
      scimType,
      detail: detailOf(),
    }),
  };

  function detailOf(): string {
    const { title, detail = title, requestId } = problem;
    if (isFilter) return 'The only filter is userName eq "…"';
    if (code === 'insufficient-scope' && !scope)
      return 'An API token activates no administrator: another one can, in the console';
    const fields = fieldErrors.map(({ field, message }) => `${field} (${message})`);
    if (fields.length > 0) return `${title}: ${fields.join(', ')}`;
    return requestId ? `${title} (request id ${requestId})` : (DETAILS[code] ?? detail);
  }
}
