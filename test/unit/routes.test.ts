import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { SCOPES, scopeOf } from '../../lib/contract/contract.ts';
import { RESERVED_LOGINS } from '../../lib/users/user-schema.ts';
import { consoleRoutes, deployedRow, type Route, routes } from '../../routes.ts';

/**
 * The routes that need no token. Stated apart from the contracts, so that none is opened by
 * mistake.
 */
const PUBLIC_ROUTES: readonly string[] = [
  'POST /api/authenticate',
  'GET /api/issuers',
  'GET /.well-known/jwks.json',
  'GET /api/health',
  'GET /management/info',
  'GET /api/openapi.json',
  'POST /api/account/confirm-email',
  'POST /api/account/reset-password/init',
  'POST /api/account/reset-password/finish',
  'POST /api/oauth2/token',
  'GET /console',
  'GET /console/{path+}',
];

const FUNCTIONS = `${import.meta.dirname}/../../functions`;
/** The functions without a route: a schedule and the stream of the table invoke them. */
const WITHOUT_ROUTE = ['verify-table.ts', 'send-mail.ts', 'log-audit.ts', 'fetch-issuer-keys.ts'];
const all = [...routes, ...consoleRoutes];
const files = readdirSync(FUNCTIONS).filter((file) => !WITHOUT_ROUTE.includes(file));

describe('the route table', () => {
  it('lists every function exactly once, except the one of the console', () => {
    const handlers = routes.map(({ handler }) => `${handler}.ts`);

    expect([...handlers, 'get-console.ts'].sort()).toEqual(files.sort());
  });

  // API Gateway drops what follows an encoded question mark before it selects the route, and may
  // ignore a slash at the end.
  it('lets no path that is cut within a parameter reach another change than a creation', () => {
    const changes = routes.filter(({ route }) => !route.startsWith('GET '));
    const segmentsOf = (route: string): string[] => route.split(/ ?\//);
    const isMatch = (path: readonly string[], route: string): boolean => {
      const pattern = segmentsOf(route);
      const isSame = (part: string, index: number): boolean =>
        [part, path[index]].some((text) => text?.startsWith('{')) || part === path[index];
      return pattern.length === path.length && pattern.every(isSame);
    };

    const reached = changes.flatMap((row) =>
      segmentsOf(row.route).flatMap((part, index, segments) => {
        const cuts = part.startsWith('{')
          ? [segments.slice(0, index + 1), segments.slice(0, index)]
          : [];
        return changes
          .filter((other) => other !== row && cuts.some((path) => isMatch(path, other.route)))
          .filter(({ contract }) => !('body' in contract && contract.status === 201))
          .map(({ route }) => [row.route, route]);
      }),
    );

    expect(reached).toEqual([]);
  });

  it('gives the rows of one function the same contract and permissions', () => {
    const functions = Map.groupBy(all, ({ handler }) => handler).values();
    const different = [...functions].filter(([first, ...others]) =>
      others.some(({ route: _, ...other }) => {
        const { route: __, ...expected } = first as Route;
        return !isDeepStrictEqual(other, expected);
      }),
    );

    expect(different).toEqual([]);
  });

  it('requires authentication for all routes that are not public', () => {
    const publicRoutes = all
      .filter(({ contract }) => contract.access === 'public')
      .map(({ route }) => route);

    expect(publicRoutes).toEqual(PUBLIC_ROUTES);
  });

  it('lets no function sign tokens of people because modules run on platforms', () => {
    const row = routes.find(({ route }) => route === 'POST /api/oauth2/token') as Route;

    const { permissions } = deployedRow(row, { issuers: false, moduleIssuers: true });

    const { batchGet = [], ...others } = row.permissions;
    expect(permissions).toEqual({ ...others, batchGet: [...batchGet, 'ISSUER#'] });
  });

  it('requires of API tokens each scope: to read for reads, to write for other requests', () => {
    const scoped = all.flatMap(({ route, contract }) => {
      const isRead = route.startsWith('GET ') || contract.kind === 'read';
      const scope = scopeOf(contract);
      return scope ? [{ route, scope, isRead }] : [];
    });
    const mixed = scoped.filter(
      ({ scope, isRead }) => scope !== 'scim' && isRead !== scope.endsWith(':read'),
    );

    expect(mixed).toEqual([]);
    expect([...new Set(scoped.map(({ scope }) => scope))].sort()).toEqual(SCOPES);
    expect(all.filter(({ contract: { access, scope } }) => access === 'public' && scope)).toEqual(
      [],
    );
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
  expect(text).toMatch(/\/\*\* (GET|POST|PUT|PATCH|DELETE) \/\S+: .+ \*\//);
});
