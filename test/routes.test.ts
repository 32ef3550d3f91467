import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RESERVED_LOGINS } from '../lib/users/user-schema.ts';
import { routes } from '../routes.ts';

const FUNCTIONS = `${import.meta.dirname}/../functions`;
/** The one function that no request reaches: a schedule calls it. */
const SCHEDULED = 'verify-table.ts';
const files = readdirSync(FUNCTIONS).filter((file) => file !== SCHEDULED);

describe('the routes', () => {
  it('name each function once, and no other', () => {
    const named = routes.map(({ handler }) => `${handler}.ts`);

    expect(named.sort()).toEqual(files.sort());
  });

  it('name each request once', () => {
    const requests = routes.map(({ route }) => route.replace(/\{\w+\}/g, '{}'));

    expect(new Set(requests).size).toBe(routes.length);
  });

  it('are closed, but for signing in, the public keys and the health', () => {
    const open = routes.filter(({ contract }) => contract.access === 'public').map(({ route }) => route);

    expect(open).toEqual([
      'POST /api/authenticate',
      'GET /.well-known/jwks.json',
      'GET /api/health',
      'GET /management/info',
      'POST /api/account/reset-password/init',
      'POST /api/account/reset-password/finish',
    ]);
  });

  it('read by role what the token says, and change by role what the table says', () => {
    const byToken = routes.filter(
      ({ contract: { access } }) => typeof access === 'object' && access.rolesFrom === 'token',
    );

    expect(byToken.map(({ route }) => route.split(' ')[0]).filter((method) => method !== 'GET')).toEqual([]);
  });

  it('reserve the logins that a path under /api/users means something else by', () => {
    const segments = routes.flatMap(({ route }) => /^\w+ \/api\/users\/([^/{]+)$/.exec(route)?.[1] ?? []);

    expect([...RESERVED_LOGINS].sort()).toEqual([...new Set(segments)].sort());
  });
});

it.each(files)('%s translates, and is no longer than 25 lines', (file) => {
  const text = readFileSync(`${FUNCTIONS}/${file}`, 'utf8');

  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
  expect(text).toMatch(/\/\*\* (GET|POST|PUT|DELETE) \/\S+: .+ \*\//);
});
