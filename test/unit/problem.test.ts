import { describe, expect, it } from 'vitest';
import { Failure, type FailureCode } from '../../lib/contract/failure.ts';
import { problem } from '../../lib/http/problem.ts';
import type { Response } from '../../lib/http/response.ts';

/** The parts of a problem that clients compare, translate and show. */
interface Shown {
  status: number;
  message: string;
  title: string;
  type?: string;
  detail?: string | RegExp;
  headers?: Record<string, string>;
}

const TOO_LONG = { status: 400, message: 'error.http.400', title: 'The list is too long for this' };
const BEARER = { 'WWW-Authenticate': 'Bearer' };

const SHOWN: Record<FailureCode, Shown> = {
  unauthorized: {
    status: 401,
    message: 'error.http.401',
    title: 'Unauthorized',
    headers: BEARER,
    detail: 'Full authentication is required to access this resource',
  },
  'bad-credentials': {
    status: 401,
    message: 'error.http.401',
    title: 'Unauthorized',
    headers: BEARER,
    detail: 'Bad credentials',
  },
  forbidden: {
    status: 403,
    message: 'error.http.403',
    title: 'Forbidden',
    detail: 'Access is denied',
  },
  malformed: {
    status: 400,
    message: 'error.http.400',
    title: 'Bad Request',
    detail: /one JSON object in UTF-8, at most 32 levels deep/,
  },
  invalid: {
    status: 400,
    message: 'error.validation',
    title: 'Method argument not valid',
    type: 'constraint-violation',
  },
  'too-large': {
    status: 413,
    message: 'error.http.413',
    title: 'Content Too Large',
    detail: 'A body must not exceed 64 KiB',
  },
  'unsupported-media-type': {
    status: 415,
    message: 'error.http.415',
    title: 'Unsupported Media Type',
    detail: /^A body must be application\/json, or text\/plain where .* in UTF-8/,
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
  'not-found': { status: 404, message: 'error.http.404', title: 'Not Found' },
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
  'last-administrator': {
    status: 400,
    message: 'error.lastadmin',
    title: 'The last administrator must stay',
    detail: 'At least one activated user with ROLE_ADMIN must always remain',
  },
  'version-changed': {
    status: 412,
    message: 'error.http.412',
    title: 'Precondition Failed',
    detail: 'The entity is not in a state that If-Match and If-None-Match accept: read it again',
  },
  'wrong-password': {
    status: 400,
    message: 'error.http.400',
    title: 'Incorrect password',
    type: 'invalid-password',
  },
  'unknown-key': {
    status: 400,
    message: 'error.http.400',
    title: 'Unknown key',
    detail: /older than 24 hours/,
  },
  'too-many-attempts': {
    status: 429,
    message: 'error.http.429',
    title: 'Too Many Requests',
    detail: /^Too many wrong passwords.* Retry-After$/,
  },
  'read-budget-spent': {
    status: 429,
    message: 'error.http.429',
    title: 'Too Many Requests',
    detail: /^You have read too much.* Retry-After$/,
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
    detail: /192 KiB/,
  },
  'parameter-ids-used-up': {
    status: 400,
    message: 'error.parameteridsusedup',
    title: 'No parameter ids left',
    detail: /999,999 parameter ids/,
  },
  'page-too-deep': {
    ...TOO_LONG,
    detail: /^More than 10,000 entities or 16 MB lie between .* follow the links/,
  },
  'list-too-long': {
    ...TOO_LONG,
    detail: /exceeds 10,000 entities or 16 MB: omit all filters and sort by id$/,
  },
  'parameter-list-too-long': {
    ...TOO_LONG,
    detail: /10,000 or 16 MB: filter by integrationId\.equals, or omit/,
  },
  'audit-list-too-long': {
    ...TOO_LONG,
    detail: /10,000 entries.* narrow the period with time\.greaterThan and time\.lessThan$/,
  },
  'page-too-large': {
    status: 400,
    message: 'error.http.400',
    title: 'The page is too large',
    detail: 'The response would exceed 5 MB: request a smaller size',
  },
  'not-from-edge': {
    status: 403,
    message: 'error.http.403',
    title: 'Forbidden',
    detail: 'Requests must be sent to the public host name of this API',
  },
  'cross-site': {
    status: 403,
    message: 'error.http.403',
    title: 'Forbidden',
    detail: 'The request comes from a page of another site, whose origin is not in corsOrigins',
  },
  unavailable: {
    status: 503,
    message: 'error.http.503',
    title: 'Service Unavailable',
    headers: { 'Retry-After': '1' },
    detail:
      'The request was not completed, or its outcome is unknown: check before you repeat a change',
  },
  unexpected: { status: 500, message: 'error.http.500', title: 'Internal Server Error' },
};

const bodyOf = ({ body }: Response): unknown => JSON.parse(String(body));

describe.each(Object.entries(SHOWN))(
  'the failure %s',
  (code, { type, detail, headers, ...shown }) => {
    const failure = new Failure(code as FailureCode);
    const response = problem(failure, 'utmIntegration', '/api/here');
    const { status, message, title } = shown;

    it('has its status, message, title, type and detail, and nothing else', () => {
      expect(response.status).toBe(status);
      expect(bodyOf(response)).toEqual({
        type: `https://www.jhipster.tech/problem/${type ?? 'problem-with-message'}`,
        title,
        status,
        path: '/api/here',
        message,
        ...(detail !== undefined && {
          detail: detail instanceof RegExp ? expect.stringMatching(detail) : detail,
        }),
        ...((status === 400 || status === 404) && { params: 'utmIntegration' }),
      });
    });

    it('has its headers, and the alert headers when it is a 400', () => {
      expect(response.headers).toEqual({
        'Content-Type': 'application/problem+json; charset=utf-8',
        ...headers,
        ...(status === 400 && {
          'X-gatehouseApp-error': message,
          'X-gatehouseApp-params': 'utmIntegration',
        }),
      });
    });
  },
);

describe('a problem', () => {
  const fieldErrors = [
    { field: 'name', message: 'Size', min: 1, max: 255 },
    { field: 'id', message: 'NotNull' },
  ] as const;

  it.each([
    ['userManagement', 'user'],
    ['utmIntegration', 'utmIntegration'],
    ['utmIntegrationConf', 'utmIntegrationConf'],
  ] as const)(
    'with field errors of %s names the object %s and has no alert headers',
    (entityName, objectName) => {
      const response = problem(new Failure('invalid', { fieldErrors }), entityName, '/api/here');

      expect(bodyOf(response)).toEqual({
        type: 'https://www.jhipster.tech/problem/constraint-violation',
        title: 'Method argument not valid',
        status: 400,
        path: '/api/here',
        message: 'error.validation',
        params: entityName,
        fieldErrors: [
          { objectName, field: 'name', message: 'Size', min: 1, max: 255 },
          { objectName, field: 'id', message: 'NotNull' },
        ],
      });
      expect(response.headers).toEqual({
        'Content-Type': 'application/problem+json; charset=utf-8',
      });
    },
  );

  it('names its entity in the body, and in the alert headers of a 400', () => {
    const response = problem(new Failure('not-found'), 'userManagement', '/x');

    expect(bodyOf(response)).toMatchObject({ params: 'userManagement' });
    expect(response.headers).not.toHaveProperty('X-gatehouseApp-params');
    expect(problem(new Failure('no-id'), 'userManagement', '/x').headers).toMatchObject({
      'X-gatehouseApp-error': 'error.idnull',
      'X-gatehouseApp-params': 'userManagement',
    });
  });

  it.each([
    ['too-many-attempts', 7],
    ['read-budget-spent', 0],
    ['unavailable', 30],
  ] as const)('for %s has the Retry-After of its failure', (code, retryAfter) => {
    const { headers } = problem(new Failure(code, { retryAfter }), 'userManagement', '/x');

    expect(headers).toMatchObject({ 'Retry-After': String(retryAfter) });
  });

  it('has the request id if there is one', () => {
    const response = problem(new Failure('unexpected'), 'userManagement', '/x', 'request-1');

    expect(bodyOf(response)).toMatchObject({ requestId: 'request-1', status: 500 });
  });
});

it('a failure carries its code, field errors and retryAfter', () => {
  const fieldErrors = [{ field: 'name', message: 'Size' as const }];
  const failure = new Failure('invalid', { fieldErrors, retryAfter: 3 });

  expect(failure).toBeInstanceOf(Error);
  expect({ ...failure, message: failure.message }).toEqual({
    name: 'Failure',
    message: 'invalid',
    code: 'invalid',
    fieldErrors,
    retryAfter: 3,
  });
  expect(new Failure('forbidden')).toMatchObject({ fieldErrors: undefined, retryAfter: undefined });
});
