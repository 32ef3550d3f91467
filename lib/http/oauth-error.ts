import type { Failure, FailureCode } from '../contract/failure.ts';
import type { Response } from './response.ts';

/** The error codes of RFC 6749, section 5.2, and of others; `invalid_request` for all others. */
const OAUTH_ERRORS: Partial<Record<FailureCode, string>> = {
  'invalid-client': 'invalid_client',
  'unsupported-grant': 'unsupported_grant_type',
  'too-many-attempts': 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  unexpected: 'server_error',
};

const MALFORMED_FORM =
  'The body must be a form in UTF-8 without repeated fields, and the client must authenticate ' +
  'itself in one way only';

/**
 * The response to a failed request for a token: an error of OAuth (RFC 6749, 5.2) with the parts of
 * the problem that other requests share.
 */
export function oauthError({ code }: Failure, { body = '', ...response }: Response): Response {
  const { title, detail = title, status, message, requestId, fieldErrors } = JSON.parse(body);
  return {
    ...response,
    headers: { ...response.headers, 'Content-Type': 'application/json; charset=utf-8' },
    body: JSON.stringify({
      error: OAUTH_ERRORS[code] ?? 'invalid_request',
      error_description: code === 'malformed' ? MALFORMED_FORM : detail,
      status,
      message,
      ...(requestId && { requestId }),
      ...(fieldErrors && { fieldErrors }),
    }),
  };
}
