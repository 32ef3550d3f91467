import { expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/*
 * The log lines of requests; test/unit/log.test.ts has their fields. That no line of any test has a
 * secret is checked by watch-secrets.ts.
 */

const gatehouse = await useGatehouse();

const PASSWORD = 'pa55word-of-keeper';
/** What must not be logged: of a person, and what a client has sent in the place of another. */
const PERSONAL = ['keeper@example.com', 'Ada Lovelace', 'api key of the gate'];
const MISPLACED = [PASSWORD, 'broken-json'];
const ALLOWED = [
  ...['requestId', 'route', 'kind', 'status', 'milliseconds', 'callerId', 'failure'],
  ...['loginPseudonym', 'version', '_aws', 'mailSent'],
];

it('each request has one log line, with its caller and failure but no personal data', async () => {
  const admin = await gatehouse.adminToken();
  const fields = { password: PASSWORD, authorities: ['ROLE_USER'], firstName: 'Ada Lovelace' };
  const { id: keeper } = await gatehouse.makeUser('keeper', fields);
  const token = await gatehouse.logIn('keeper', PASSWORD);
  /** The ids of the requests with what their lines have to say. */
  const expected = new Map<string | undefined, object>();
  const call = async (request: string, body: unknown, line: object, as?: string) => {
    const [method = '', path = ''] = request.split(' ');
    const {
      status,
      headers,
      body: received,
    } = await gatehouse.call(method, path, {
      ...(as && { token: as }),
      ...(body !== undefined && { body }),
    });
    const route = request.replace(/\/\d+$/, '/{id}');
    const kind = path === '/api/authenticate' ? 'login' : method === 'GET' ? 'read' : 'change';
    expected.set(headers['apigw-requestid'] as string, { route, kind, status, ...line });
    return received;
  };
  const byKeeper = { callerId: keeper };
  const byAdmin = { callerId: 1 };
  const LOG_IN = 'POST /api/authenticate';
  const [CREATE, UPDATE] = ['POST /api/utm-integration-confs', 'PUT /api/utm-integration-confs'];

  const gate = { name: 'Gate', shortName: 'gate', integrationType: 'API' };
  const integration = await call('POST /api/utm-integrations', gate, byKeeper, token);
  await call(LOG_IN, { username: 'keeper', password: PASSWORD }, byKeeper);
  await call(
    LOG_IN,
    { username: 'keeper', password: 'wrong-pa55word' },
    { failure: 'bad-credentials', loginPseudonym: expect.stringMatching(/^[\w-]{43}$/) },
  );
  await call(LOG_IN, '{"username":"keeper","password":broken-json}', { failure: 'malformed' });
  const taken = { login: 'keeper', email: 'x@example.com', password: PASSWORD };
  await call('POST /api/users', taken, { ...byAdmin, failure: 'login-taken' }, admin);
  const invalid = { login: PASSWORD, email: PASSWORD, password: 'abc' };
  await call('POST /api/users', invalid, { ...byAdmin, failure: 'invalid' }, admin);
  const parameter = { confName: 'api key of the gate', confValue: 'a value', integration };
  const created = await call(CREATE, parameter, byKeeper, token);
  const unnamed = { ...created, confName: '' };
  await call(UPDATE, unnamed, { ...byKeeper, failure: 'invalid' }, token);
  const path = `GET /api/utm-integration-confs/${created.id}`;
  await call(path, undefined, byKeeper, token);
  await call('GET /api/users', undefined, { failure: 'invalid-token' }, `${token}x`);

  const entries = () => gatehouse.lines.map((line) => JSON.parse(line));
  const logged = () => entries().filter(({ requestId }) => expected.has(requestId));
  await expect.poll(logged).toHaveLength(expected.size);
  const version = '$LATEST';
  expect(
    logged().map(({ milliseconds: _m, _aws: _a, requestId, ...line }) => [requestId, line]),
  ).toEqual([...expected].map(([requestId, line]) => [requestId, { ...line, version }]));
  expect(entries().flatMap((entry) => Object.keys(entry))).toEqual(
    expect.toSatisfy((names: string[]) => names.every((name) => ALLOWED.includes(name))),
  );
  const text = gatehouse.lines.join('\n');
  expect([...PERSONAL, ...MISPLACED].filter((each) => text.includes(each))).toEqual([]);
  for (const { milliseconds } of logged()) expect(milliseconds).toBeLessThan(10_000);
  const { _aws } = logged().find(({ failure }) => !failure);
  // test/unit/log.test.ts has their dimensions.
  expect(_aws.CloudWatchMetrics).toMatchObject([{ Namespace: 'Gatehouse/dev' }]);
  expect(Math.abs(_aws.Timestamp - Date.now())).toBeLessThan(60_000);
});
