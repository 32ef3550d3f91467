import { beforeAll, expect, it, vi } from 'vitest';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

const gatehouse = await useGatehouse();

const PASSWORD = 'pa55word-of-keeper';
const VALUE = 'value-of-parameter';
/** Values that must never be logged. */
const secrets: string[] = [
  PASSWORD,
  'wrong-pa55word',
  'next-pa55word',
  VALUE,
  'next-value',
  'broken-json',
];
const personal: string[] = ['keeper@example.com', 'Ada Lovelace', 'api key of the gate'];
const requests: string[] = [];
let keeperId: number;
let adminId: number;

/** Calls as a client would, and notes the request id, by which the test waits for the log line. */
async function call(method: string, path: string, sent: { token?: string; body?: unknown } = {}) {
  const response = await gatehouse.call(method, path, sent);
  requests.push(`${response.headers['apigw-requestid']} ${response.status}`);
  return response;
}

/** The stored hash in PHC format, and its digest alone. */
async function hashesOf(id: number): Promise<string[]> {
  const hash = String((await gatehouse.table.get(entityKey('USER', id)))?.passwordHash);
  return [hash, hash.slice(hash.lastIndexOf('$') + 1)];
}

beforeAll(async () => {
  const admin = await gatehouse.adminToken();
  const fields = { password: PASSWORD, authorities: ['ROLE_USER'], firstName: 'Ada Lovelace' };
  const { id } = await gatehouse.makeUser('keeper', fields);
  keeperId = id;
  adminId = (await gatehouse.call('GET', '/api/account', { token: admin })).body.id;
  const before = await hashesOf(id);
  const logIn = (password: string) =>
    call('POST', '/api/authenticate', { body: { username: 'keeper', password } });
  const token: string = (await logIn(PASSWORD)).body.id_token;
  const { body: integration } = await call('POST', '/api/utm-integrations', {
    token,
    body: { name: 'Gate', shortName: 'gate', integrationType: 'API' },
  });
  const parameter = { confName: 'api key of the gate', confValue: VALUE, integration };

  await logIn('wrong-pa55word');
  await call('POST', '/api/authenticate', { body: '{"username":"keeper","password":broken-json}' });
  await call('POST', '/api/users', {
    token: admin,
    body: { login: 'keeper', email: 'x@example.com', password: PASSWORD },
  });
  await call('POST', '/api/users', {
    token: admin,
    body: { login: PASSWORD, email: PASSWORD, password: 'abc' },
  });
  const { body: created } = await call('POST', '/api/utm-integration-confs', {
    token,
    body: parameter,
  });
  await call('PUT', '/api/utm-integration-confs', {
    token,
    body: { ...created, confValue: 'next-value' },
  });
  await call('PUT', '/api/utm-integration-confs', { token, body: { ...created, confName: '' } });
  await call('GET', `/api/utm-integration-confs/${created.id}`, { token });
  await call('GET', '/api/utm-integration-confs', { token: `${token}x` });
  await call('POST', '/api/account/change-password', {
    token,
    body: { currentPassword: PASSWORD, newPassword: 'next-pa55word' },
  });

  await logIn('next-pa55word');
  secrets.push(
    token,
    admin,
    token.slice(token.lastIndexOf('.')),
    ...before,
    ...(await hashesOf(id)),
  );
  await vi.waitFor(() => {
    for (const request of requests) {
      expect(gatehouse.lines.join('\n')).toContain(`"requestId":"${request.split(' ')[0]}"`);
    }
  });
});

it('the log contains no password, token, parameter value, hash, name or e-mail address', () => {
  const log = gatehouse.lines.join('\n');

  expect([...secrets, ...personal].filter((text) => log.includes(text))).toEqual([]);
});

it('the log has one line per request, with the allowed fields only', () => {
  const entries = gatehouse.lines.map((line) => JSON.parse(line));

  const logged = requests.map((request) =>
    entries.filter(({ requestId }) => request.startsWith(requestId)),
  );
  const allowed = [
    'requestId',
    'route',
    'kind',
    'status',
    'milliseconds',
    'callerId',
    'failure',
    'loginPseudonym',
    'version',
    '_aws',
    'mailSent',
  ];
  expect(logged.map(([entry]) => `${entry.requestId} ${entry.status}`)).toEqual(requests);
  expect(logged.map((lines) => lines.length)).toEqual(requests.map(() => 1));
  expect(
    entries.flatMap((entry) => Object.keys(entry).filter((key) => !allowed.includes(key))),
  ).toEqual([]);
});

it('a log line has the route, status, caller, failure, duration and version of its request', () => {
  const byKeeper = { callerId: keeperId };
  const byAdmin = { callerId: adminId };
  const authenticate = { route: 'POST /api/authenticate' };
  const loginPseudonym = expect.stringMatching(/^[\w-]{43}$/);
  const parameter = { route: 'PUT /api/utm-integration-confs', ...byKeeper };

  const lines = requests.map((request) => {
    const [id] = request.split(' ');
    return JSON.parse(
      gatehouse.lines.find((line) => line.includes(`"requestId":"${id}"`)) as string,
    );
  });

  expect(new Set(lines.map(({ version }) => version))).toEqual(new Set(['$LATEST']));
  expect(
    lines.map(
      ({
        version: _version,
        requestId: _id,
        milliseconds: _time,
        kind: _kind,
        _aws: _metrics,
        ...line
      }) => line,
    ),
  ).toEqual([
    { ...authenticate, status: 200, ...byKeeper },
    { route: 'POST /api/utm-integrations', status: 201, ...byKeeper },
    { ...authenticate, status: 401, failure: 'bad-credentials', loginPseudonym },
    { ...authenticate, status: 400, failure: 'malformed' },
    { route: 'POST /api/users', status: 400, ...byAdmin, failure: 'login-taken' },
    { route: 'POST /api/users', status: 400, ...byAdmin, failure: 'invalid' },
    { route: 'POST /api/utm-integration-confs', status: 201, ...byKeeper },
    { ...parameter, status: 200 },
    { ...parameter, status: 400, failure: 'invalid' },
    { route: 'GET /api/utm-integration-confs/{id}', status: 200, ...byKeeper },
    { route: 'GET /api/utm-integration-confs', status: 401, failure: 'invalid-token' },
    { route: 'POST /api/account/change-password', status: 200, ...byKeeper },
    { ...authenticate, status: 200, ...byKeeper },
  ]);
  for (const { milliseconds } of lines) {
    expect(Number.isInteger(milliseconds)).toBe(true);
    expect(milliseconds).toBeGreaterThanOrEqual(0);
    expect(milliseconds).toBeLessThan(10_000);
  }
  // The first request hashes a password, which takes longer than this.
  expect(lines[0].milliseconds).toBeGreaterThan(5);
});

it('a log line has the metrics of its request, in the namespace of the environment', () => {
  const { _aws } = gatehouse.lines.map((line) => JSON.parse(line)).find(({ _aws }) => _aws);

  expect(_aws.CloudWatchMetrics).toMatchObject([{ Namespace: 'Gatehouse/dev' }]);
  expect(Math.abs(_aws.Timestamp - Date.now())).toBeLessThan(60_000);
});
