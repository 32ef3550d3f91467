import type { EntityName } from '../contract/contract.ts';
import type { Failure, FailureCode } from '../contract/failure.ts';
import type { Response } from './response.ts';

interface Problem {
  readonly status: number;
  /** The key that clients translate. The default is error.http. and the status. */
  readonly message?: string;
  readonly title: string;
  readonly detail?: string;
  /**
   * The last segment of the type URI, which clients compare. The default is problem-with-message.
   */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const BEARER_CHALLENGE = { 'WWW-Authenticate': 'Bearer' };
// RFC 6750, 3.1.
const INVALID_TOKEN = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
const RETRY_SOON = { 'Retry-After': '1' };

const TOO_LONG = { status: 400, title: 'The list is too long for this' };

/** The response to each failure. A failure code without a row is a compile error. */
const PROBLEMS = {
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    detail: 'Full authentication is required to access this resource',
    headers: BEARER_CHALLENGE,
  },
  'invalid-token': {
    status: 401,
    title: 'Unauthorized',
    detail: 'The token is invalid, has expired or has been ended: log in again',
    headers: INVALID_TOKEN,
  },
  'bad-credentials': {
    status: 401,
    title: 'Unauthorized',
    detail: 'Bad credentials',
    headers: BEARER_CHALLENGE,
  },
  'invalid-client': {
    status: 401,
    title: 'Unauthorized',
    detail: 'The client id or the secret is wrong, has expired or was deleted',
    // RFC 6749, 5.2.
    headers: { 'WWW-Authenticate': 'Basic realm="modules"' },
  },
  'unsupported-grant': {
    status: 400,
    title: 'Unsupported grant type',
    detail: 'grant_type must be client_credentials or urn:ietf:params:oauth:grant-type:jwt-bearer',
  },
  'invalid-grant': {
    status: 400,
    message: 'error.invalidgrant',
    title: 'Invalid grant',
    detail:
      'The token of the provider is invalid, was used or was issued too long ago, or its ' +
      'account or credential must not be used: get another token from the provider',
  },
  'unknown-identity': {
    status: 400,
    message: 'error.unknownidentity',
    title: 'Unknown identity',
    detail: 'The provider knows you, but no account is linked with that identity',
  },
  'provider-without-factor': {
    status: 400,
    message: 'error.providerwithoutfactor',
    title: 'Second factor required',
    detail:
      'The account has a second factor, and the provider does not say that you used one: log in ' +
      'with the password and a code, or have an administrator remove the second factor',
  },
  'code-required': {
    status: 401,
    message: 'error.coderequired',
    title: 'Code required',
    detail:
      'The password is right: send it again, with a code of the second factor or a recovery code ' +
      'in the field code',
    headers: BEARER_CHALLENGE,
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    detail: 'Access is denied',
  },
  'insufficient-scope': {
    status: 403,
    title: 'Forbidden',
    detail: 'The API token is not meant for this: it lacks the scope, or this requires a session',
    // RFC 6750, 3.1.
    headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
  },
  'second-factor-required': {
    status: 403,
    message: 'error.secondfactorrequired',
    title: 'Second factor required',
    detail:
      'A role of this account requires a second factor. Until it is on, you can only read the ' +
      'account and turn the second factor on',
  },
  malformed: {
    status: 400,
    title: 'Bad Request',
    detail:
      'The body must be one JSON object in UTF-8, at most 32 levels deep, without ' +
      'duplicate keys or keys like __proto__',
  },
  invalid: {
    status: 400,
    message: 'error.validation',
    title: 'Method argument not valid',
    type: 'constraint-violation',
  },
  'too-large': {
    status: 413,
    title: 'Content Too Large',
    detail: 'A body must not exceed 64 KiB, or 2 MiB where it is the content of files',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported Media Type',
    detail:
      'A body must be application/json, or text/plain where accepted, in UTF-8 without a ' +
      'content encoding',
  },
  'no-id': {
    status: 400,
    message: 'error.idnull',
    title: 'Invalid id',
    detail: 'An update must contain the id',
  },
  'id-not-wanted': {
    status: 400,
    message: 'error.idexists',
    title: 'A new entity cannot already have an ID',
  },
  'unknown-id': {
    status: 404,
    message: 'error.idnotfound',
    title: 'Entity not found',
    detail:
      'An id in the body belongs to no entity, or the parameter belongs to another integration',
  },
  'not-found': { status: 404, title: 'Not Found' },
  'login-taken': {
    status: 400,
    message: 'error.userexists',
    title: 'Login name already used!',
    type: 'login-already-used',
  },
  'email-taken': {
    status: 400,
    message: 'error.emailexists',
    title: 'Email is already in use!',
    type: 'email-already-used',
  },
  'confirmation-required': {
    status: 400,
    message: 'error.confirmationrequired',
    title: 'A new address must be confirmed',
    detail:
      'Change your own e-mail address with POST /api/account: it takes effect when the present ' +
      'address has confirmed it',
  },
  'plan-refused': {
    status: 400,
    message: 'error.planrefused',
    title: 'A rule forbids a change of the plan',
    detail: 'Nothing was changed. The plan states which changes are refused, and why',
  },
  'last-administrator': {
    status: 400,
    message: 'error.lastadmin',
    title: 'The last administrator must stay',
    detail: 'At least one activated user with ROLE_ADMIN must always remain',
  },
  'version-changed': {
    status: 412,
    title: 'Precondition Failed',
    detail: 'The entity is not in a state that If-Match and If-None-Match accept: read it again',
  },
  'wrong-password': {
    status: 400,
    title: 'Incorrect password',
    type: 'invalid-password',
  },
  'wrong-code': {
    status: 400,
    message: 'error.wrongcode',
    title: 'Wrong code',
    detail:
      'The code is wrong or was used before: wait for the next one, and check the clock of the ' +
      'device',
  },
  'second-factor-on': {
    status: 400,
    message: 'error.secondfactoron',
    title: 'The second factor is on',
    detail: 'To replace it, turn it off first',
  },
  'second-factor-off': {
    status: 400,
    message: 'error.secondfactoroff',
    title: 'The second factor is off',
    detail: 'It is off, or no new one has been requested',
  },
  'common-password': {
    status: 400,
    message: 'error.commonpassword',
    title: 'The password is easy to guess',
    detail:
      'It is one of the most common passwords, the login or the e-mail address, or a simple ' +
      'variation of one of them: choose another password',
  },
  'not-invitable': {
    status: 400,
    message: 'error.notinvitable',
    title: 'The user cannot be invited',
    detail:
      'Only an activated user without a password or a linked identity, whose address mail can ' +
      'reach, can be invited',
  },
  'identity-taken': {
    status: 409,
    message: 'error.identitytaken',
    title: 'Identity taken',
    detail:
      'The identity is linked with another account, or the account with another identity of ' +
      'this provider',
  },
  'unknown-key': {
    status: 400,
    title: 'Unknown key',
    detail: 'The key is unknown, has been used or is older than 24 hours: request a new one',
  },
  'too-many-attempts': {
    status: 429,
    title: 'Too Many Requests',
    detail:
      'Too many wrong passwords, or too many requests from one address: try again after ' +
      'the number of seconds in Retry-After',
  },
  'too-many-mails': {
    status: 429,
    title: 'Too Many Requests',
    detail:
      'The user has received too many such mails: try again after the number of seconds in ' +
      'Retry-After',
  },
  'read-budget-spent': {
    status: 429,
    title: 'Too Many Requests',
    detail:
      'You have read too much in a short time: try again after the number of seconds in ' +
      'Retry-After',
  },
  'change-budget-spent': {
    status: 429,
    title: 'Too Many Requests',
    detail:
      'You have made too many changes in a short time: try again after the number of seconds in ' +
      'Retry-After',
  },
  'too-many-parameters': {
    status: 400,
    message: 'error.toomanyparameters',
    title: 'Too many parameters',
    detail: 'An integration can have at most 90 parameters',
  },
  'parameters-too-large': {
    status: 400,
    message: 'error.parameterstoolarge',
    title: 'The parameters of the integration are too large',
    detail:
      'The names, values and descriptions of all parameters of an integration must not ' +
      'exceed 192 KiB in UTF-8',
  },
  'parameter-ids-used-up': {
    status: 400,
    message: 'error.parameteridsusedup',
    title: 'No parameter ids left',
    detail: 'This integration has used up its 999,999 parameter ids: create a new integration',
  },
  'too-many-credentials': {
    status: 400,
    message: 'error.toomanycredentials',
    title: 'Too many credentials',
    detail: 'A module can have two credentials: delete the one that it no longer uses',
  },
  'too-many-tokens': {
    status: 400,
    message: 'error.toomanytokens',
    title: 'Too many API tokens',
    detail: 'You have as many API tokens as this environment allows: delete one',
  },
  'page-too-deep': {
    ...TOO_LONG,
    detail:
      'A page by its number that lies behind more than 10,000 entities or 16 MB is not read: ' +
      'follow the links to the ' +
      'next page, starting with the first page of sort=id,asc or sort=id,desc',
  },
  'list-too-long': {
    ...TOO_LONG,
    detail:
      'This request reads the whole list, which exceeds 10,000 entities or 16 MB: ' +
      'sort by id and follow the links to the next page, or omit all filters and sort by id',
  },
  'parameter-list-too-long': {
    ...TOO_LONG,
    detail:
      'This request reads the parameters of all integrations, which exceed 10,000 or 16 MB: ' +
      'filter by integrationId.equals, or sort by id and follow the links to the next page, or ' +
      'omit all filters and sort by id',
  },
  'audit-list-too-long': {
    ...TOO_LONG,
    detail:
      'This page requires reading more than 10,000 entries: follow the links to the next ' +
      'page, starting with the ' +
      'first page, or narrow the period with time.greaterThan and time.lessThan',
  },
  'page-too-large': {
    status: 400,
    title: 'The page is too large',
    detail: 'The response would exceed 5 MB: request a smaller size',
  },
  'plan-too-large': {
    status: 400,
    title: 'The plan is too large',
    detail: 'The response would exceed 5 MB: apply a part of the files first',
  },
  'not-from-edge': {
    status: 403,
    title: 'Forbidden',
    detail: 'Requests must be sent to the public host name of this API',
  },
  'cross-site': {
    status: 403,
    title: 'Forbidden',
    detail: 'The request comes from a page of another site, whose origin is not in corsOrigins',
  },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    detail:
      'The request was not completed, or its outcome is unknown: check before you repeat a change',
    headers: RETRY_SOON,
  },
  unexpected: { status: 500, title: 'Internal Server Error' },
} satisfies Record<FailureCode, Problem>;

/** The names that clients use for the object with an invalid field. */
const OBJECT_NAME: Record<EntityName, string> = {
  userManagement: 'user',
  utmIntegration: 'utmIntegration',
  utmIntegrationConf: 'utmIntegrationConf',
  audit: 'audit',
};

/** A response with a body, from which other forms of errors are made. */
export type ProblemResponse = Response & { readonly body: string };

/**
 * The response to a failed request (RFC 9457). The details withheld here are in the log, under the
 * request id.
 */
export function problem(
  failure: Failure,
  entityName: EntityName | undefined,
  path: string,
  requestId?: string,
): ProblemResponse {
  const {
    status,
    message = `error.http.${status}`,
    title,
    detail,
    type = 'problem-with-message',
    headers,
  }: Problem = PROBLEMS[failure.code];
  const isAlert = status === 400 && failure.fieldErrors === undefined;
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json; charset=utf-8',
      ...headers,
      ...(failure.scope && {
        'WWW-Authenticate': `${headers?.['WWW-Authenticate']}, scope="${failure.scope}"`,
      }),
      ...(failure.retryAfter !== undefined && { 'Retry-After': String(failure.retryAfter) }),
      ...(isAlert && {
        'X-gatehouseApp-error': message,
        ...(entityName && { 'X-gatehouseApp-params': entityName }),
      }),
    },
    body: JSON.stringify({
      type: `https://www.jhipster.tech/problem/${type}`,
      title,
      status,
      detail: failure.scope ? `The API token lacks the scope ${failure.scope}` : detail,
      path,
      message,
      requestId,
      params: status === 400 || status === 404 ? entityName : undefined,
      plan: failure.plan,
      applied: failure.applied,
      fieldErrors: failure.fieldErrors?.map((error) => ({
        objectName: entityName ? OBJECT_NAME[entityName] : 'request',
        ...error,
      })),
    }),
  };
}
