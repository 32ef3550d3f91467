import { describe, expect, it } from 'vitest';
import { type Route, routes } from '../../routes.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { methodAndPath } from '../support/instance/method-and-path.ts';
import { useAdminAndAnalyst } from '../support/instance/users.ts';

const gatehouse = await useGatehouse();

const tokens = useAdminAndAnalyst(gatehouse);
const KIB = 1024;

const requestOf = ({ route }: Route) => methodAndPath(route, { login: '7', id: 7 });

const routesWhere = (predicate: (route: Route) => unknown) =>
  routes.filter(predicate).map((route) => [route.route, route] as const);
const protectedRoutes = routesWhere(({ contract }) => contract.access !== 'public');
const routesWithBody = routesWhere(({ contract }) => contract.body);

const create = (body: unknown, headers = {}) =>
  gatehouse.call('POST', '/api/utm-integrations', { token: tokens.admin, body, headers });

describe('a request without a valid token', () => {
  it.each(protectedRoutes)('is rejected with 401 and a Bearer challenge: %s', async (_, route) => {
    const [method, path] = requestOf(route);

    const { status, headers, body } = await gatehouse.call(method, path);

    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer');
    expect(body).toMatchObject({
      title: 'Unauthorized',
      status: 401,
      path,
      message: 'error.http.401',
    });
  });

  it.each(['Bearer', 'Bearer ', 'Bearer x.y.z', 'Basic YWRtaW46YWRtaW4='])(
    'is rejected with 401 for "Authorization: %s"',
    async (Authorization) => {
      const { status } = await gatehouse.call('GET', '/api/account', {
        headers: { Authorization },
      });

      expect(status).toBe(401);
    },
  );

  it('is rejected with 401 for two Authorization headers', async () => {
    const Authorization = [`Bearer ${tokens.admin}`, `Bearer ${tokens.admin}`];

    const { status } = await gatehouse.call('GET', '/api/account', { headers: { Authorization } });

    expect(status).toBe(401);
  });
});

it.each(['bearer', 'BEARER'])(
  'a request with a valid token is accepted with the scheme %s',
  async (scheme) => {
    const { status } = await gatehouse.call('GET', '/api/account', {
      headers: { Authorization: `${scheme} ${tokens.admin}` },
    });

    expect(status).toBe(200);
  },
);

describe('a request body', () => {
  it.each(routesWithBody)(
    'is checked for authentication, size, media type and JSON syntax in this order by %s',
    async (_, route) => {
      const [method, path] = requestOf(route);
      const malformed = {
        body: '{'.repeat(64 * KIB + 1),
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

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset=utf-8',
    'Application/JSON; Charset="utf-8"',
    'application/json;',
    'application/json;charset=utf-8;',
    'application/json; profile="a;\\"b"; charset=utf8',
  ])('may have the media type %s', async (type) => {
    const { status } = await create(INTEGRATION, { 'Content-Type': type });

    expect(status).toBe(201);
  });

  it.each([
    { 'Content-Type': 'text/plain' },
    { 'Content-Type': [] },
    { 'Content-Type': '' },
    { 'Content-Type': 'application/x-www-form-urlencoded' },
    { 'Content-Type': 'application/octet-stream' },
    { 'Content-Type': 'application/json; charset=iso-8859-1' },
    { 'Content-Type': 'application/json; charset=utf-16' },
    { 'Content-Type': 'application/jsonp' },
    { 'Content-Type': 'application/json, text/plain' },
    { 'Content-Type': ['application/json', 'application/json'] },
    { 'Content-Type': 'application/json; =x' },
    { 'Content-Encoding': 'gzip' },
    { 'Content-Encoding': 'identity' },
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

  it.each([
    '',
    '   ',
    'text',
    '{"name":',
    '{"name":"x"} {}',
    "{'name':'x'}",
    '[]',
    '[{}]',
    '"text"',
    'null',
    'true',
    '0',
    '{"__proto__":{}}',
    '{"constructor":{"prototype":{"name":"x"}}}',
    '\ufeff{}',
    '{"name":"x","name":"y"}',
    '{"note":{"a":1,"b":2,"\\u0061":3}}',
    `{"note":${'['.repeat(32)}${']'.repeat(32)}}`,
    Buffer.from('{"name":"a\xffb"}', 'latin1'),
  ])('of %j is rejected with 400 by every route', async (body) => {
    for (const [, route] of routesWithBody) {
      const response = await gatehouse.call(...requestOf(route), { token: tokens.admin, body });

      expect(response, route.route).toMatchObject({
        status: 400,
        body: { message: 'error.http.400' },
      });
    }
  });

  it.each([
    '1.0000000000000001',
    '0.99999999999999999',
    '9007199254740993',
    '1e400',
    '1e-400',
    '1.5',
  ])('with the number %s is rejected with 400 where an integer is required', async (number) => {
    const { body } = await create(INTEGRATION);
    const put = `{"id":${number},"name":"n","shortName":"s","integrationType":"API","active":true}`;
    const created = `{"integration":{"id":${number}},"confName":"n","confValue":"v"}`;

    const responses = [
      await gatehouse.call('PUT', '/api/utm-integrations', { token: tokens.admin, body: put }),
      await gatehouse.call('POST', '/api/utm-integration-confs', {
        token: tokens.admin,
        body: created,
      }),
      await gatehouse.call('POST', `/api/utm-integrations/${body.id}/module/restarted`, {
        token: tokens.admin,
        body: `{"changes":${number}}`,
      }),
    ];

    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(responses.map((response) => response.body.fieldErrors[0])).toMatchObject([
      { field: 'id', message: 'TypeMismatch' },
      { field: 'integration.id', message: 'TypeMismatch' },
      { field: 'changes', message: 'TypeMismatch' },
    ]);
  });

  it('may spell an integer with a fraction or an exponent', async () => {
    const { body } = await create(INTEGRATION);
    const digits = String(body.id);
    const put = (id: string) =>
      gatehouse.call('PUT', '/api/utm-integrations', {
        token: tokens.admin,
        body: `{"id":${id},"name":"n","shortName":"s","integrationType":"API","active":true,"ratio":9007199254740993}`,
      });

    const responses = [
      await put(`${digits}.0`),
      await put(`${digits}0e-1`),
      await put(`0.${digits}e${digits.length}`),
    ];

    expect(responses.map((response) => [response.status, response.body.id])).toEqual(
      responses.map(() => [200, body.id]),
    );
  });

  it('may be nested 32 levels deep', async () => {
    const note = JSON.parse('['.repeat(31) + ']'.repeat(31));

    const { status } = await create({ ...INTEGRATION, note });

    expect(status).toBe(201);
  });

  it('nested 30,000 levels deep is rejected with 400 by every route', async () => {
    const depth = 30_000;
    const body = `{"note":${'['.repeat(depth)}${']'.repeat(depth)}}`;

    for (const [, route] of routesWithBody) {
      const { status } = await gatehouse.call(...requestOf(route), { token: tokens.admin, body });

      expect(status, route.route).toBe(400);
    }
  });
});
