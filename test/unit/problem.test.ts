import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Failure, type FailureCode } from '../../lib/contract/failure.ts';
import { problem } from '../../lib/http/problem.ts';
import type { Response } from '../../lib/http/response.ts';

const STATUS: Record<FailureCode, number> = {
  unauthorized: 401,
  'invalid-token': 401,
  'bad-credentials': 401,
  'code-required': 401,
  'invalid-client': 401,
  'unsupported-grant': 400,
  forbidden: 403,
  'second-factor-required': 403,
  malformed: 400,
  invalid: 400,
  'too-large': 413,
  'unsupported-media-type': 415,
  'no-id': 400,
  'id-not-wanted': 400,
  'unknown-id': 404,
  'not-found': 404,
  'login-taken': 400,
  'email-taken': 400,
  'confirmation-required': 400,
  'last-administrator': 400,
  'version-changed': 412,
  'wrong-password': 400,
  'wrong-code': 400,
  'second-factor-on': 400,
  'second-factor-off': 400,
  'common-password': 400,
  'unknown-key': 400,
  'too-many-attempts': 429,
  'read-budget-spent': 429,
  'change-budget-spent': 429,
  'too-many-parameters': 400,
  'too-many-credentials': 400,
  'parameters-too-large': 400,
  'parameter-ids-used-up': 400,
  'page-too-deep': 400,
  'list-too-long': 400,
  'parameter-list-too-long': 400,
  'audit-list-too-long': 400,
  'page-too-large': 400,
  'not-from-edge': 403,
  'cross-site': 403,
  unavailable: 503,
  unexpected: 500,
};

const bodyOf = ({ body }: Response): unknown => JSON.parse(String(body));

const shown = (code: FailureCode) => problem(new Failure(code), 'utmIntegration', '/api/here');

// The examples in openapi.json have the bodies.
it.each(Object.entries(STATUS))('the failure %s is shown with %i', (code, status) => {
  expect(shown(code as FailureCode).status).toBe(status);
});

it.each<[FailureCode, Record<string, string>]>([
  ['unauthorized', { 'WWW-Authenticate': 'Bearer' }],
  ['invalid-token', { 'WWW-Authenticate': 'Bearer error="invalid_token"' }],
  ['bad-credentials', { 'WWW-Authenticate': 'Bearer' }],
  ['code-required', { 'WWW-Authenticate': 'Bearer' }],
  ['invalid-client', { 'WWW-Authenticate': 'Basic realm="modules"' }],
  ['unavailable', { 'Retry-After': '1' }],
  ['no-id', { 'X-gatehouseApp-error': 'error.idnull', 'X-gatehouseApp-params': 'utmIntegration' }],
  ['not-found', {}],
])('the failure %s has the headers %j', (code, headers) => {
  expect(shown(code).headers).toEqual({
    'Content-Type': 'application/problem+json; charset=utf-8',
    ...headers,
  });
});

it('a request that has gone around the edge learns no more', () => {
  expect(bodyOf(shown('not-from-edge'))).toMatchObject({ title: 'Forbidden', status: 403 });
});

it('the message of every failure has a row in docs/api.md, and every row is of one', () => {
  const cells = readFileSync('docs/api.md', 'utf8').match(/^\| `error\.[^|]*\|/gm) ?? [];
  const documented = cells.flatMap((cell) =>
    [...cell.matchAll(/`(error)?(\.[\w.]+)`/g)].map(
      ([, start, key]) => (start ? 'error' : 'error.http') + key,
    ),
  );
  const messages = Object.keys(STATUS).map((code) => {
    const response = problem(new Failure(code as FailureCode), 'utmIntegration', '/api/here');
    return (bodyOf(response) as { message: string }).message;
  });

  expect(documented.sort()).toEqual([...new Set(messages)].sort());
});

describe('a problem', () => {
  const fieldErrors = [
    { field: 'name', message: 'Size', min: 1, max: 255 },
    { field: 'id', message: 'NotNull' },
  ] as const;

  it.each([
    ['userManagement', 'user'],
    ['utmIntegration', 'utmIntegration'],
    ['utmIntegrationConf', 'utmIntegrationConf'],
    [undefined, 'request'],
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
