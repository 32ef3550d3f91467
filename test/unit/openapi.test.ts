import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { openApiText } from '../../infra/api-document/document.ts';
import { EXAMPLES } from '../../infra/api-document/examples.ts';
import { EDGE_REJECTION } from '../../infra/stack/edge-rejection.ts';
import document from '../../openapi.json' with { type: 'json' };
import { routes } from '../../routes.ts';
import { checkResponse } from '../support/instance/api-document.ts';

it('openapi.json is current: otherwise run npm run openapi', () => {
  expect(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8')).toBe(
    openApiText(routes),
  );
});

it('every route has an example', () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(routes.map(({ route }) => route).toSorted());
});

it('a created entity has links to its paths and its update', () => {
  const links = Object.values(document.paths).flatMap((operations) =>
    'post' in operations && '201' in operations.post.responses
      ? [operations.post.responses['201'].links]
      : [],
  );

  expect(links.map((each) => Object.keys(each).toSorted())).toEqual([
    ['deleteUser', 'getUser', 'updateUser'],
    ['deleteIntegration', 'getIntegration', 'reportRestart', 'updateIntegration'],
    ['deleteParameter', 'getParameter', 'updateParameter'],
  ]);
  expect(links[0]).toMatchObject({
    getUser: { operationId: 'getUser', parameters: { login: '$response.body#/login' } },
    updateUser: { operationId: 'updateUser', requestBody: '$response.body' },
  });
});

it('a list has a link to the update of its first entity', () => {
  const links = Object.values(document.paths).flatMap((operations) =>
    'get' in operations && 'links' in operations.get.responses['200']
      ? [operations.get.responses['200'].links]
      : [],
  );

  expect(links).toEqual(
    ['updateUser', 'updateIntegration', 'updateParameter'].map((operationId) => ({
      [operationId]: { operationId, requestBody: '$response.body#/0' },
    })),
  );
});

it('every body of a link is an expression: generators of Java clients reject any other', () => {
  const bodies: unknown[] = [];
  JSON.parse(openApiText(routes), (key, value) => {
    if (key === 'links')
      bodies.push(
        ...Object.values<{ requestBody?: unknown }>(value).map((link) => link.requestBody),
      );
    return value;
  });

  expect(
    bodies.filter(
      (body) => body !== undefined && !/^\$response\.body(#\/\w+)?$/.test(String(body)),
    ),
  ).toEqual([]);
});

it.each([
  ['GET /api/users', { 'x-total-count': 'many' }, 'X-Total-Count'],
  [
    'GET /api/users',
    { 'x-total-count': '0', 'cache-control': 'public, max-age=300' },
    'Cache-Control',
  ],
  ['GET /.well-known/jwks.json', { 'cache-control': 'no-store' }, 'Cache-Control'],
  ['GET /.well-known/jwks.json', {}, 'Cache-Control'],
])(
  'the check of responses rejects those of %s with the headers %j because of %s',
  (route, headers, name) => {
    const body = route === 'GET /api/users' ? [] : { keys: [] };
    const response = {
      status: 200,
      headers: { 'content-type': 'application/json', ...headers },
      body,
    };

    expect(() => checkResponse(route, { ...response, text: JSON.stringify(body) })).toThrow(name);
  },
);

it.each(routes.map(({ route }) => route))(
  'the 429 of API Gateway and that of an edge are in the document: %s',
  (route) => {
    const check = (body: object, headers: object) => {
      const received = { status: 429, headers: { 'content-type': 'application/json', ...headers } };
      checkResponse(route, { ...received, body, text: JSON.stringify(body) });
    };

    check({ message: 'Too Many Requests' }, {});
    check(EDGE_REJECTION.body, { 'retry-after': '300' });
  },
);

it('every alternative has a type, because generators of Java clients fail without one', () => {
  const alternatives: Record<string, unknown>[] = [];
  JSON.parse(openApiText(routes), (key, value) => {
    if (key === 'anyOf') alternatives.push(...value);
    return value;
  });

  expect(alternatives.length).toBeGreaterThan(0);
  expect(alternatives.filter((schema) => !schema.type && !schema.$ref)).toEqual([]);
});

it('is served without being serialized for each request', async () => {
  const { handler } = await import('../../functions/get-openapi.ts');
  const event = { routeKey: 'GET /api/openapi.json', headers: {}, requestContext: { http: {} } };
  const context = { getRemainingTimeInMillis: () => 10_000 };
  const serialize = vi.spyOn(JSON, 'stringify');

  const { body } = await handler(event as never, context as never);

  expect(serialize.mock.calls.filter(([value]) => value === document)).toEqual([]);
  serialize.mockRestore();
  expect(body).toBe(JSON.stringify(document));
});
