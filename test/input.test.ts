import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from './support/gatehouse.ts';

const gatehouse = useGatehouse();
const HALF = 'half\uD800';

let token: string;
let self: Record<string, unknown>;
let integration: Record<string, unknown>;
let parameter: Record<string, unknown>;

beforeAll(async () => {
  token = await gatehouse.logIn('admin');
  self = (await gatehouse.call('GET', '/api/account', { token })).body;
  const body = { name: 'Gate', shortName: 'gate', integrationType: 'API' };
  integration = (await gatehouse.call('POST', '/api/utm-integrations', { token, body })).body;
  const confs = { confName: 'Key', confValue: 'value', integration };
  parameter = (await gatehouse.call('POST', '/api/utm-integration-confs', { token, body: confs })).body;
});

/** Every row that stores text, what it takes, and the fields with text in it. */
const STORING: [string, () => Record<string, unknown>, string[]][] = [
  ['POST /api/users', () => ({ login: 'new', email: 'new@b.c' }), ['login', 'email', 'password', 'langKey']],
  ['PUT /api/users', () => self, ['login', 'email', 'firstName', 'lastName', 'imageUrl', 'langKey']],
  ['POST /api/account', () => self, ['email', 'firstName', 'lastName', 'imageUrl', 'langKey']],
  ['POST /api/account/change-password', () => ({ currentPassword: 'admin' }), ['newPassword']],
  ['POST /api/account/reset-password/finish', () => ({ key: 'key' }), ['newPassword']],
  ['POST /api/utm-integrations', () => ({ ...integration, id: '' }), ['name', 'shortName', 'description']],
  ['PUT /api/utm-integrations', () => integration, ['name', 'shortName', 'description']],
  ['POST /api/utm-integration-confs', () => ({ ...parameter, id: '' }), ['confName', 'confValue', 'confDescription']],
  ['PUT /api/utm-integration-confs', () => parameter, ['confName', 'confValue', 'confDescription']],
];
const FIELDS = STORING.flatMap(([on, body, fields]) => fields.map((field) => [on, field, body] as const));

describe('half of a surrogate pair, which would be stored as something else', () => {
  it.each(FIELDS)('is refused by %s in %s, by name', async (on, field, bodyOf) => {
    const [method = '', path = ''] = on.split(' ');
    // As the field is short, so is what is sent.
    const value = field === 'langKey' ? 'd\uD800' : field === 'email' ? 'a\uD800@b.c' : HALF;

    const { status, body } = await gatehouse.call(method, path, { token, body: { ...bodyOf(), [field]: value } });

    expect(status).toBe(400);
    expect(body.fieldErrors).toContainEqual({ objectName: expect.any(String), field, message: 'Pattern' });
  });
});

describe('a number that is none of ours', () => {
  const IDS = ['9007199254740992', '9007199254740993', '1e400', '-1', '-0', '0', '1.5', '1e21', '[]', '{}', 'true'];

  it.each(IDS)('is refused as an id in a body: %s', async (id) => {
    for (const path of ['/api/users', '/api/utm-integrations', '/api/utm-integration-confs']) {
      const { status, body } = await gatehouse.call('PUT', path, { token, body: `{"id":${id}}` });

      expect(status).toBe(400);
      expect(body.fieldErrors).toContainEqual(expect.objectContaining({ field: 'id', message: 'TypeMismatch' }));
    }
  });

  it.each(['9007199254740992', '1e400', '-1', '1.5', '"1"', 'null', '[1]'])(
    'is refused as a count of changes: %s',
    async (changes) => {
      const path = `/api/utm-integrations/${integration.id}/module/restarted`;

      const { status, body } = await gatehouse.call('POST', path, { token, body: `{"changes":${changes}}` });

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

  it.each(paths)('gets into no header: %s', async (path) => {
    const { status, headers } = await gatehouse.call('GET', path, { token });

    expect([200, 404]).toContain(status);
    expect(headers['x-injected']).toBeUndefined();
    expect(JSON.stringify(headers)).not.toMatch(/X-Injected: yes|\\r|\\n/);
  });

  it.each(['POST /api/users', 'PUT /api/users'])('is no part of a login, which is named in headers: %s', async (on) => {
    const [method = '', path = ''] = on.split(' ');
    const sent = { login: `x${BREAK}`, email: 'x@example.com', id: method === 'PUT' ? self.id : undefined };

    const { status, body } = await gatehouse.call(method, path, { token, body: sent });

    expect(status).toBe(400);
    expect(body.fieldErrors).toEqual([{ objectName: 'user', field: 'login', message: 'Pattern' }]);
  });
});
