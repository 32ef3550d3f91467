import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from 'vitest';
import { routes } from '../../routes.ts';
import { startGatehouse } from '../support/gatehouse.ts';
import { OTHER_SETTINGS } from '../support/other-settings.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack.ts';

/* `npm run smoke` on the local cloud, directly and through a proxy that breaks something. */

const ROOT = join(import.meta.dirname, '../..');
const ORIGIN = 'https://admin.example.com';
const USAGE = 'Usage: npm run smoke -- --url URL [--mail ADDRESS] [--origin ORIGIN] [--past-edge URL]';

/** The route of a function that must not use KMS. */
let denied = '';
const gatehouse = await startGatehouse({
  intercept: async ({ service, functionName }, forward) =>
    service === 'KMS' && functionName === denied
      ? { status: 400, body: { __type: 'AccessDeniedException', message: 'not authorized' } }
      : forward(),
});
afterAll(() => gatehouse.stop());

interface Run {
  readonly url?: string;
  readonly options?: readonly string[];
  readonly environment?: Record<string, string>;
  /** What standard input contains from the start. */
  readonly input?: string;
  /** The link in the mail, as soon as the user is invited. */
  readonly link?: () => string;
}

async function smoke({ url = gatehouse.cloud.url, options = [], environment = {}, input = '', link }: Run = {}) {
  const child = spawn(process.execPath, ['infra/smoke.ts', ...(url ? ['--url', url] : []), ...options], {
    cwd: ROOT,
    env: { ...process.env, SMOKE_LOGIN: 'admin', SMOKE_PASSWORD: 'admin', ...environment },
  });
  child.stdin.write(input);
  if (!link) child.stdin.end();
  const stdout: string[] = [];
  let stderr = '';
  createInterface(child.stdout).on('line', (line) => {
    stdout.push(line);
    if (link && line === 'ok    POST /api/users') child.stdin.end(`${link()}\n`);
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr, failures: stdout.filter((line) => line.startsWith('FAIL')) };
}

/** What a proxy does to a request and to its response. */
interface Changes {
  readonly toRequest?: (headers: IncomingHttpHeaders) => void;
  readonly toResponse?: (headers: IncomingHttpHeaders, target: string, method: string) => void;
  /** The URL of the service; that of the shared instance unless given. */
  readonly target?: string;
}

/** Starts a proxy in front of the service. */
async function proxy({ toRequest, toResponse, target = gatehouse.cloud.url }: Changes) {
  const server = createServer((incoming, outgoing) => {
    const { method = '', url: path = '', headers } = incoming;
    toRequest?.(headers);
    const forwarded = request(`${target}${path}`, { method, headers }, (response) => {
      toResponse?.(response.headers, path, method);
      outgoing.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() };
}

/** The logins of users and the names of integrations. */
async function stored() {
  const token = await gatehouse.logIn('admin');
  const [users, integrations] = await Promise.all(
    ['/api/users', '/api/utm-integrations'].map((path) => gatehouse.call('GET', path, { token })),
  );
  const logins = users?.body.map(({ login }: { login: string }) => login);
  return [...logins, ...(integrations?.body.map(({ name }: { name: string }) => name) ?? [])];
}

it('passes on an intact service, checks every route and deletes only what carries its mark', {
  timeout: 60_000,
}, async () => {
  const token = await gatehouse.logIn('admin');
  const create = (path: string, body: object) => gatehouse.call('POST', path, { token, body });
  const integration = { name: 'gatehouse-smoke', shortName: 'smoke', integrationType: 'API' };
  // What an interrupted run has left, and an integration that only has the same name.
  const email = 'success+gatehouse-smoke@simulator.amazonses.com';
  await create('/api/users', { login: 'gatehouse-smoke', email, lastName: 'Created by npm run smoke' });
  await create('/api/utm-integrations', { ...integration, description: 'Created by npm run smoke' });
  const kept = await create('/api/utm-integrations', integration);

  const { code, stdout, stderr } = await smoke();

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout[0]).toBe(`Checking ${gatehouse.cloud.url}`);
  expect(stdout.at(-1)).toBe(`${stdout.length - 2} passed, 0 failed`);
  const checked = routes.filter(({ route }) => stdout.some((line) => `${line} `.startsWith(`ok    ${route} `)));
  expect(checked).toHaveLength(routes.length);
  expect(await stored()).toEqual(['admin', 'user', 'gatehouse-smoke']);
  await gatehouse.call('DELETE', `/api/utm-integrations/${kept.body.id}`, { token });
});

it('passes with a mailed invitation and an origin', async () => {
  const { url, stop } = await proxy({
    toResponse(headers, _, method) {
      headers['access-control-allow-origin'] = ORIGIN;
      headers['access-control-expose-headers'] = 'authorization,etag,link,x-total-count';
      if (method !== 'OPTIONS') return;
      headers['access-control-allow-methods'] = 'GET,POST,PUT,DELETE';
      headers['access-control-allow-headers'] = 'authorization,content-type,if-match';
    },
  });
  const link = () => /http\S+/.exec(gatehouse.mailsTo('ann@example.com').at(-1)?.text ?? '')?.[0] ?? '';

  const { failures, stdout, code } = await smoke({
    url,
    options: ['--mail', 'ann@example.com', '--origin', ORIGIN],
    link,
  });
  stop();

  expect({ code, failures }).toEqual({ code: 0, failures: [] });
  expect(stdout).toEqual(
    expect.arrayContaining([
      'ok    the mail to ann@example.com has arrived',
      'ok    POST /api/account/reset-password/finish',
      `ok    pages of ${ORIGIN} may send changes`,
      `ok    pages of ${ORIGIN} may read the headers of responses`,
    ]),
  );
});

it('uses all permissions except those of rare cases', () => {
  const unused = gatehouse.cloud.unusedPermissions();

  // The read budget is for long lists, precedence for concurrent changes.
  expect(unused.filter((sentence) => !/ for (READS|PRECEDENCE)#\*$/.test(sentence))).toEqual([
    // An outdated hash.
    'POST /api/authenticate does not use dynamodb:UpdateItem on Table for USER',
    // An address outside of ASCII.
    'POST /api/account does not use dynamodb:ConditionCheckItem on Table for EMAIL#*',
    // The marked user is no administrator.
    'POST /api/users does not use dynamodb:UpdateItem on Table for ADMINS',
    'POST /api/users does not use dynamodb:ConditionCheckItem on Table for EMAIL#*',
    'PUT /api/users does not use dynamodb:UpdateItem on Table for ADMINS',
    'PUT /api/users does not use dynamodb:ConditionCheckItem on Table for EMAIL#*',
    'DELETE /api/users/{login} does not use dynamodb:UpdateItem on Table for ADMINS',
    // A filter, which is rejected if there are too many integrations.
    'GET /api/utm-integrations/count does not use dynamodb:Query on Table for INTEGRATION',
  ]);
});

it('fails when headers are renamed, lost or not forwarded and when a function lacks a permission', async () => {
  denied = 'PUT /api/utm-integration-confs';
  const { url, stop } = await proxy({
    toRequest: (headers) => delete headers['if-match'],
    toResponse(headers, path) {
      if (path === '/management/info') delete headers['strict-transport-security'];
      if (path !== '/api/account' || !headers['www-authenticate']) return;
      headers['x-amzn-remapped-www-authenticate'] = headers['www-authenticate'];
      delete headers['www-authenticate'];
    },
  });
  const { code, failures } = await smoke({ url, options: ['--origin', ORIGIN] });
  stop();
  denied = '';

  expect(code).toBe(1);
  expect(failures).toEqual([
    'FAIL  GET /management/info: the header strict-transport-security is null',
    'FAIL  a request without a token is rejected with 401 and WWW-Authenticate: a header was renamed to x-amzn-remapped-www-authenticate',
    `FAIL  pages of ${ORIGIN} may send changes: the header access-control-allow-origin is null, without ${ORIGIN}`,
    expect.stringMatching(
      /^FAIL {2}PUT \/api\/users rejects an outdated If-Match with 412: 200 instead of 412; the access log has its requestId \S+$/,
    ),
    expect.stringMatching(/^FAIL {2}PUT \/api\/utm-integration-confs: 500 with error\.http\.500 instead of 200; /),
    expect.stringMatching(/^FAIL {2}every route was checked: not GET \/\.well-known\/jwks\.json, /),
  ]);
  expect(await stored()).toEqual(['admin', 'user']);
});

it('passes through an edge, and proves that nothing passes it by', { timeout: 60_000 }, async () => {
  const secret = '5f'.repeat(32);
  const secretHashes = [createHash('sha256').update(secret).digest('hex')];
  const changes = { domain: OTHER_SETTINGS.domain, edge: { ...OTHER_SETTINGS.edge, secretHashes } };
  synthesizeInProcess('dev', changes);
  const origin = await startGatehouse({ assembly: assemblyOf('dev', changes) });
  const edge = await proxy({
    target: origin.cloud.url,
    toRequest: (headers) =>
      Object.assign(headers, { 'gatehouse-edge-secret': secret, 'gatehouse-client-address': '203.0.113.7' }),
  });

  const passed = await smoke({ url: edge.url, options: ['--past-edge', origin.cloud.url] });
  const open = await smoke({ url: edge.url, options: ['--past-edge', edge.url] });
  edge.stop();
  await origin.stop();

  expect({ code: passed.code, failures: passed.failures }).toEqual({ code: 0, failures: [] });
  expect(passed.stdout.filter((line) => line.includes('past the edge'))).toEqual([
    'ok    GET /api/health past the edge is rejected with 403',
    'ok    GET /api/health past the edge is rejected with 403, also with the headers of the edge',
    'ok    POST /api/authenticate past the edge is rejected with 403',
    'ok    POST /api/authenticate past the edge is rejected with 403, also with the headers of the edge',
  ]);
  expect(open.failures).toEqual([
    expect.stringMatching(/^FAIL {2}GET \/api\/health past the edge is rejected with 403: 200 instead of 403; /),
  ]);
});

it('fails when the header Authorization is renamed, and checks nothing that needs a token', async () => {
  const { url, stop } = await proxy({
    toResponse(headers) {
      if (headers.authorization) headers['x-amzn-remapped-authorization'] = headers.authorization;
      delete headers.authorization;
    },
  });
  const { code, failures } = await smoke({ url });
  stop();

  expect(code).toBe(1);
  expect(failures[0]).toBe('FAIL  POST /api/authenticate: the header Authorization is missing');
  expect(failures).toHaveLength(2);
});

it('fails for a caller without ROLE_ADMIN, and checks nothing else that needs a token', async () => {
  const { code, stdout, failures } = await smoke({ environment: { SMOKE_LOGIN: 'user', SMOKE_PASSWORD: 'user' } });

  expect(code).toBe(1);
  expect(failures[0]).toBe('FAIL  the account has ROLE_ADMIN: its roles are ROLE_USER');
  expect(failures).toHaveLength(2);
  expect(stdout.at(-2)).toMatch(/^FAIL {2}every route was checked: not /);
});

it('fails on a service that does not respond', async () => {
  const { url, stop } = await proxy({});
  stop();

  const { code, failures } = await smoke({ url });

  expect(code).toBe(1);
  expect(failures[0]).toBe('FAIL  GET /api/health: no response: ECONNREFUSED');
});

it('explains itself with --help', async () => {
  const { code, stdout, stderr } = await smoke({ options: ['--help'] });

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout[0]).toBe(USAGE);
  expect(stdout).toContain('Exit status');
});

it('reads the login and the password from standard input', async () => {
  const environment = { SMOKE_LOGIN: '', SMOKE_PASSWORD: '' };

  const { stdout, stderr } = await smoke({ input: 'admin\nadmin\n', environment });

  expect([stdout.at(-1), stderr]).toEqual([expect.stringMatching(/^\d+ passed, 0 failed$/), '']);
});

it.each<[string, Run, string]>([
  ['no URL', { url: '' }, '--url is missing.'],
  [
    'a URL without TLS',
    { url: 'http://gatehouse.example.com' },
    '--url must start with https://, because a password is sent to it.',
  ],
  [
    'a URL with credentials',
    { url: 'http://u@127.0.0.1' },
    '--url and --past-edge must not contain credentials, because they are printed.',
  ],
  [
    'another URL with credentials',
    { options: ['--past-edge', 'https://:pw@example.com'] },
    '--url and --past-edge must not contain credentials, because they are printed.',
  ],
  ['a mail address that is none', { options: ['--mail', 'foo'] }, '--mail must be an e-mail address.'],
  [
    'an origin that is none',
    { options: ['--origin', 'https://a.example.com/'] },
    '--origin must be an origin, such as https://admin.example.com.',
  ],
  [
    'another URL that is none',
    { options: ['--past-edge', 'foo'] },
    '--past-edge must be a URL that starts with https:// or http://.',
  ],
  ['an unknown option', { options: ['--user', 'x'] }, "Unknown option '--user'."],
  ['no login', { environment: { SMOKE_LOGIN: '' } }, 'SMOKE_LOGIN is missing.'],
  ['no password', { environment: { SMOKE_PASSWORD: '' } }, 'SMOKE_PASSWORD is missing.'],
])('ends with 2 for %s', async (_, run, message) => {
  expect(await smoke(run)).toMatchObject({ code: 2, stdout: [], stderr: `${message}\n${USAGE}\n` });
});
