import { expect, it, vi } from 'vitest';
import { openApiText } from '../../infra/api-document/document.ts';
import { EXAMPLES } from '../../infra/api-document/examples.ts';
import { EDGE_REJECTION } from '../../infra/stack/edge-rejection.ts';
import document from '../../openapi.json' with { type: 'json' };
import { routes } from '../../routes.ts';
import { checkResponse } from '../support/instance/api-document.ts';

it('openapi.json is current: npm run update updates it', () =>
  expect(openApiText()).toMatchFileSnapshot('../../openapi.json'));

it('every route has an example', () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(routes.map(({ route }) => route).toSorted());
});

it('every body of a link is an expression: generators of Java clients reject any other', () => {
  const bodies: unknown[] = [];
  JSON.parse(openApiText(), (key, value) => {
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

it.each(routes.map(({ route }) => route))(
  'the 429 of API Gateway and of an edge are in the document: %s',
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
  JSON.parse(openApiText(), (key, value) => {
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
