import { describe, expect, it } from 'vitest';
import { type Route, routes } from '../../routes.ts';
import { cpuMsOf } from '../support/doubles/time.ts';
import { methodAndPath } from '../support/instance/api-document.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { useAdminAndAnalyst } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();

const tokens = useAdminAndAnalyst(gatehouse);
const KIB = 1024;

const requestOf = ({ route }: Route) => methodAndPath(route, { login: '7', id: 7 });

const routesWhere = (predicate: (route: Route) => unknown) =>
  routes.filter(predicate).map((route) => [route.route, route] as const);
// The form of the token endpoint is in modules.test.ts.
const routesWithBody = routesWhere(({ contract }) => contract.body && !('oauth' in contract));
const isScim = ({ contract }: Route): boolean => contract.scim === true;

const nested = (depth: number) => `{"note":${'['.repeat(depth)}${']'.repeat(depth)}}`;
const create = (body: unknown, headers = {}) =>
  gatehouse.call('POST', '/api/utm-integrations', { token: tokens.admin, body, headers });

it.each(['bearer', 'BEARER'])(
  'a request with a valid token is accepted with the scheme %s',
  async (scheme) => {
    const { status } = await gatehouse.call('GET', '/api/account', {
      headers: { Authorization: `${scheme} ${tokens.admin}` },
    });

    expect(status).toBe(200);
  },
);

it('an invalid path is rejected with 404, to a caller without the role with 403', async () => {
  const deleteAs = (token: string) => gatehouse.call('DELETE', '/api/users/a%20b', { token });

  const responses = [await deleteAs(tokens.analyst), await deleteAs(tokens.admin)];

  expect(responses.map(({ status }) => status)).toEqual([403, 404]);
});

describe('a request body', () => {
  it.each(routesWithBody)(
    'is checked for authentication, size, media type and JSON syntax in this order by %s',
    async (_, route) => {
      const [method, path] = requestOf(route);
      const malformed = {
        body: '{'.repeat((route.contract.bodyBytesMax ?? 64 * KIB) + 1),
        headers: { 'Content-Type': 'application/xml' },
      };
      const isProtected = route.contract.access !== 'public';

      const responses = [
        ...(isProtected ? [await gatehouse.call(method, path, malformed)] : []),
        await gatehouse.call(method, path, { ...malformed, token: tokens.analyst }),
        await gatehouse.call(method, path, { ...malformed, token: tokens.analyst, body: '{' }),
        await gatehouse.call(method, path, { token: tokens.analyst, body: '{' }),
      ];

      expect(responses.map(({ status }) => status)).toEqual([
        ...(isProtected ? [401] : []),
        413,
        415,
        400,
      ]);
    },
  );

  it('is validated before authorization, existence and business rules, in this order', async () => {
    const { body: callerUser } = await gatehouse.call('GET', '/api/account', {
      token: tokens.admin,
    });
    const taken = { id: 777_777, login: 'analyst', email: 'ANALYST@example.com', authorities: [] };
    const put = (token: string, body: unknown) =>
      gatehouse.call('PUT', '/api/users', { token, body });

    const responses = [
      await put(tokens.analyst, { ...taken, authorities: ['ROLE_NOBODY'] }),
      await put(tokens.analyst, taken),
      await put(tokens.admin, taken),
      await put(tokens.admin, { ...taken, id: callerUser.id }),
      await put(tokens.admin, { ...taken, id: callerUser.id, login: 'admin' }),
      await put(tokens.admin, {
        ...taken,
        id: callerUser.id,
        login: 'admin',
        email: callerUser.email,
      }),
      await put(tokens.admin, callerUser),
    ];

    expect(responses.map(({ status, body }) => `${status} ${body.message}`)).toEqual([
      '400 error.validation',
      '403 error.http.403',
      '404 error.idnotfound',
      '400 error.userexists',
      '400 error.emailexists',
      '400 error.lastadmin',
      '200 undefined',
    ]);
  });

  // test/unit/request-headers.test.ts has the syntax of media types.
  it.each([
    { 'Content-Type': [] },
    { 'Content-Type': 'text/plain' },
    { 'Content-Encoding': 'gzip' },
  ])('is rejected with 415 for %j', async (headers) => {
    const { status, body } = await create(INTEGRATION, headers);

    expect(status).toBe(415);
    expect(body.message).toBe('error.http.415');
  });

  it.each([
    ['application/json', 'x', 201],
    ['application/json', 'é', 201],
    ['application/octet-stream', 'x', 415],
  ])('of %s with %j is rejected with 413 beyond 64 KiB', async (type, letter, within) => {
    const json = JSON.stringify({ ...INTEGRATION, note: letter.repeat(32_000) });
    const spaces = ' '.repeat(64 * KIB - Buffer.byteLength(json));

    const fits = await create(json + spaces, { 'Content-Type': type });
    const tooLarge = await create(`${json}${spaces} `, { 'Content-Type': type });

    expect(fits.status).toBe(within);
    expect(tooLarge).toMatchObject({ status: 413, body: { message: 'error.http.413' } });
  });

  it.each(
    [
      '',
      '{"name":',
      '[]',
      'null',
      '"name"',
      '{"__proto__":{}}',
      '\ufeff{}',
      '{"name":"x","name":"y"}',
      nested(32),
      nested(30_000),
      Buffer.from('{"name":"a\xffb"}', 'latin1'),
    ].map((body) => [String(body).slice(0, 24), body] as const),
  )('of %j is rejected with 400 by every route', async (_, body) => {
    for (const [, route] of routesWithBody) {
      const response = await gatehouse.call(...requestOf(route), { token: tokens.admin, body });

      expect(response, route.route).toMatchObject({
        status: 400,
        body: isScim(route) ? { scimType: 'invalidSyntax' } : { message: 'error.http.400' },
      });
    }
  });

  it('with a number that a double would round is rejected with 400', async () => {
    const { status, body } = await gatehouse.call('PUT', '/api/utm-integrations', {
      token: tokens.admin,
      body: '{"id":1.00000000000000001,"name":"n","shortName":"s","integrationType":"API"}',
    });

    expect(status).toBe(400);
    expect(body.fieldErrors).toContainEqual(
      expect.objectContaining({ field: 'id', message: 'TypeMismatch' }),
    );
  });
});

describe('a text that takes a second to normalize', () => {
  const MARKS = `a${'\u0344'.repeat(16_000)}${'\u0316'.repeat(16_000)}`;

  it.each([
    ['POST /api/authenticate', { username: 'nobody' }, 'password', 401],
    ['POST /api/authenticate', { password: 'x' }, 'username', 401],
    ['POST /api/account/change-password', { newPassword: 'fresh' }, 'currentPassword', 400],
    ['POST /api/account/change-password', { currentPassword: 'admin' }, 'newPassword', 400],
    ['POST /api/account/reset-password/finish', { key: 'key' }, 'newPassword', 400],
    ['POST /api/account/reset-password/init', {}, 'email', 400],
  ])('is not normalized by %s %j in the field %s', async (route, body, field, status) => {
    const [method, path] = methodAndPath(route);
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${tokens.admin}` };
    // Not with `gatehouse.call`, which normalizes passwords to compare the request with the API
    // document.
    const timed = async (value: string) => {
      const request = { method, headers, body: JSON.stringify({ ...body, [field]: value }) };
      let responseStatus = 0;
      const cpuMs = await cpuMsOf(async () => {
        responseStatus = (await fetch(`${gatehouse.cloud.url}${path}`, request)).status;
      });
      return [responseStatus, cpuMs] as const;
    };

    const [, usualMs] = await timed('x'.repeat(64_000));
    const [rejected, ms] = await timed(MARKS);

    expect(rejected).toBe(status);
    expect(ms).toBeLessThan(usualMs + 500);
  });
});

describe('a line break', () => {
  const BREAK = '\r\nX-Injected: yes';
  const paths = [
    `/api/users?login.contains=${encodeURIComponent(BREAK)}&sort=id,asc`,
    `/api/utm-integrations?${encodeURIComponent(BREAK)}=${encodeURIComponent(BREAK)}`,
    `/api/users/${encodeURIComponent(BREAK)}`,
    `/api/utm-integrations/${encodeURIComponent(BREAK)}`,
  ];

  it.each(paths)('does not reach a response header: %s', async (path) => {
    const { status, headers } = await gatehouse.call('GET', path, { token: tokens.admin });

    expect([200, 404]).toContain(status);
    expect(headers['x-injected']).toBeUndefined();
    expect(JSON.stringify(headers)).not.toMatch(/X-Injected: yes|\\r|\\n/);
  });
});
