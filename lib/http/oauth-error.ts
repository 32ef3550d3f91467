import type { Failure, FailureCode } from '../contract/failure.ts';
import type { ProblemResponse } from './problem.ts';
import type { Response } from './response.ts';

/** The error codes of RFC 6749, section 5.2, and of others; `invalid_request` for all others. */
const OAUTH_ERRORS: Partial<Record<FailureCode, string>> = {
  'invalid-client': 'invalid_client',
  'unsupported-grant': 'unsupported_grant_type',
  'invalid-grant': 'invalid_grant',
  'unknown-identity': 'invalid_grant',
  'provider-without-factor': 'invalid_grant',
  'too-many-attempts': 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  unexpected: 'server_error',
};

/**
 * What is wrong with a request that cannot be read. RFC 6749, 5.2 requires 400 for an
 * `invalid_request`, and some clients look for an error of OAuth at no other status: 413 and 415
 * would only say that something has failed.
 */
const MALFORMED: Partial<Record<FailureCode, string>> = {
  malformed:
    'The body must be a form in UTF-8 without repeated fields, and the client must authenticate ' +
    'itself in one way only',
  'too-large': 'A body must not exceed 64 KiB',
  'unsupported-media-type':
    'The body must be application/x-www-form-urlencoded in UTF-8, without a content encoding',
};

/**
 * The response to a failed request for a token: an error of OAuth (RFC 6749, 5.2) with the parts of
 * the problem that other requests share.
 */
export function oauthError({ code }: Failure, { body, ...response }: ProblemResponse): Response {
  const { title, detail = title, requestId, fieldErrors, ...rest } = JSON.parse(body);
  const malformed = MALFORMED[code];
  const { status, message } = malformed ? { status: 400, message: 'error.http.400' } : rest;
  return {
    ...response,
    status,
    headers: { ...response.headers, 'Content-Type': 'application/json; charset=utf-8' },
    body: JSON.stringify({
      error: OAUTH_ERRORS[code] ?? 'invalid_request',
      error_description: malformed ?? detail,
      status,
      message,
      requestId,
      fieldErrors,
    }),
  };
}
