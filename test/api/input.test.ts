import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { methodAndPath } from '../support/instance/method-and-path.ts';

const gatehouse = await useGatehouse();
const LONE_SURROGATE = 'half\uD800';

let token: string;
let callerUser: Record<string, unknown>;
let integration: Record<string, unknown>;
let parameter: Record<string, unknown>;

beforeAll(async () => {
  token = await gatehouse.adminToken();
  callerUser = (await gatehouse.call('GET', '/api/account', { token })).body;
  const body = { name: 'Gate', shortName: 'gate', integrationType: 'API' };
  integration = (await gatehouse.call('POST', '/api/utm-integrations', { token, body })).body;
  const confs = { confName: 'Key', confValue: 'value', integration };
  parameter = (await gatehouse.call('POST', '/api/utm-integration-confs', { token, body: confs }))
    .body;
});

/** Every route that stores text, a valid body for it, and the text fields of the body. */
const STORING: [string, () => Record<string, unknown>, string[]][] = [
  [
    'POST /api/users',
    () => ({ login: 'new', email: 'new@b.c' }),
    ['login', 'email', 'password', 'langKey'],
  ],
  [
    'PUT /api/users',
    () => callerUser,
    ['login', 'email', 'firstName', 'lastName', 'imageUrl', 'langKey'],
  ],
  [
    'POST /api/account',
    () => callerUser,
    ['email', 'firstName', 'lastName', 'imageUrl', 'langKey'],
  ],
  ['POST /api/account/change-password', () => ({ currentPassword: 'admin' }), ['newPassword']],
  ['POST /api/account/reset-password/finish', () => ({ key: 'key' }), ['newPassword']],
  [
    'POST /api/utm-integrations',
    () => ({ ...integration, id: '' }),
    ['name', 'shortName', 'description'],
  ],
  ['PUT /api/utm-integrations', () => integration, ['name', 'shortName', 'description']],
  [
    'POST /api/utm-integration-confs',
    () => ({ ...parameter, id: '' }),
    ['confName', 'confValue', 'confDescription'],
  ],
  ['PUT /api/utm-integration-confs', () => parameter, ['confName', 'confValue', 'confDescription']],
];
const FIELDS = STORING.flatMap(([route, body, fields]) =>
  fields.map((field) => [route, field, body] as const),
);

describe('a lone surrogate, which UTF-8 would replace', () => {
  it.each(FIELDS)('is rejected by %s in the field %s', async (route, field, bodyOf) => {
    const [method, path] = methodAndPath(route);
    // Short enough for the length limit and the pattern of the field.
    const value =
      field === 'langKey' ? 'd\uD800' : field === 'email' ? 'a\uD800@b.c' : LONE_SURROGATE;

    const { status, body } = await gatehouse.call(method, path, {
      token,
      body: { ...bodyOf(), [field]: value },
    });

    expect(status).toBe(400);
    expect(body.fieldErrors).toContainEqual(expect.objectContaining({ field, message: 'Pattern' }));
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
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    // Not with `gatehouse.call`, which normalizes passwords to compare the request with the API
    // document.
    const timed = async (value: string) => {
      const start = performance.now();
      const request = { method, headers, body: JSON.stringify({ ...body, [field]: value }) };
      const response = await fetch(`${gatehouse.cloud.url}${path}`, request);
      return [response.status, performance.now() - start] as const;
    };

    const [, usualMs] = await timed('x'.repeat(64_000));
    const [rejected, ms] = await timed(MARKS);

    expect(rejected).toBe(status);
    expect(ms).toBeLessThan(usualMs + 500);
  });
});

describe('an invalid number', () => {
  const IDS = [
    '9007199254740992',
    '9007199254740993',
    '1e400',
    '-1',
    '-0',
    '0',
    '1.5',
    '1e21',
    '[]',
    '{}',
    'true',
  ];

  it.each(IDS)('is rejected with 400 as an id in a body: %s', async (id) => {
    for (const path of ['/api/users', '/api/utm-integrations', '/api/utm-integration-confs']) {
      const { status, body } = await gatehouse.call('PUT', path, { token, body: `{"id":${id}}` });

      expect(status).toBe(400);
      expect(body.fieldErrors).toContainEqual(
        expect.objectContaining({ field: 'id', message: 'TypeMismatch' }),
      );
    }
  });

  it.each(['9007199254740992', '1e400', '-1', '1.5', '"1"', 'null', '[1]'])(
    'is rejected with 400 as a count of changes: %s',
    async (changes) => {
      const path = `/api/utm-integrations/${integration.id}/module/restarted`;

      const { status, body } = await gatehouse.call('POST', path, {
        token,
        body: `{"changes":${changes}}`,
      });

      expect(status).toBe(400);
      expect(body.fieldErrors.map(({ field }: { field: string }) => field)).toEqual(['changes']);
    },
  );
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
    const { status, headers } = await gatehouse.call('GET', path, { token });

    expect([200, 404]).toContain(status);
    expect(headers['x-injected']).toBeUndefined();
    expect(JSON.stringify(headers)).not.toMatch(/X-Injected: yes|\\r|\\n/);
  });

  it.each(['POST /api/users', 'PUT /api/users'])(
    'is rejected in a login, which response headers contain: %s',
    async (route) => {
      const [method, path] = methodAndPath(route);
      const sent = {
        login: `x${BREAK}`,
        email: 'x@example.com',
        id: method === 'PUT' ? callerUser.id : undefined,
      };

      const { status, body } = await gatehouse.call(method, path, { token, body: sent });

      expect(status).toBe(400);
      expect(body.fieldErrors).toMatchObject([
        { objectName: 'user', field: 'login', message: 'Pattern' },
      ]);
    },
  );
});
