import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RESERVED_LOGINS } from '../../lib/users/user-schema.ts';
import { routes } from '../../routes.ts';

/**
 * The routes that need no token. Stated apart from the contracts, so that none is opened by
 * mistake.
 */
const PUBLIC_ROUTES: readonly string[] = [
  'POST /api/authenticate',
  'GET /.well-known/jwks.json',
  'GET /api/health',
  'GET /management/info',
  'GET /api/openapi.json',
  'POST /api/account/confirm-email',
  'POST /api/account/reset-password/init',
  'POST /api/account/reset-password/finish',
];

const FUNCTIONS = `${import.meta.dirname}/../../functions`;
/** The functions without a route: a schedule and the stream of the table invoke them. */
const WITHOUT_ROUTE = ['verify-table.ts', 'send-mail.ts'];
const files = readdirSync(FUNCTIONS).filter((file) => !WITHOUT_ROUTE.includes(file));

describe('the route table', () => {
  it('lists every function exactly once', () => {
    const handlers = routes.map(({ handler }) => `${handler}.ts`);

    expect(handlers.sort()).toEqual(files.sort());
  });

  it('lists every request exactly once', () => {
    const requests = routes.map(({ route }) => route.replace(/\{\w+\}/g, '{}'));

    expect(new Set(requests).size).toBe(routes.length);
  });

  it('requires authentication for all routes that are not public', () => {
    const publicRoutes = routes
      .filter(({ contract }) => contract.access === 'public')
      .map(({ route }) => route);

    expect(publicRoutes).toEqual(PUBLIC_ROUTES);
  });

  it('reserves every path segment under /api/users as a login', () => {
    const segments = routes.flatMap(
      ({ route }) => /^\w+ \/api\/users\/([^/{]+)$/.exec(route)?.[1] ?? [],
    );

    expect([...RESERVED_LOGINS].sort()).toEqual([...new Set(segments)].sort());
  });
});

it.each(files)('%s documents its route and has at most 25 lines', (file) => {
  const text = readFileSync(`${FUNCTIONS}/${file}`, 'utf8');

  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
  expect(text).toMatch(/\/\*\* (GET|POST|PUT|DELETE) \/\S+: .+ \*\//);
});
