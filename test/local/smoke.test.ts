import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import project from '../../package.json' with { type: 'json' };
import { routes } from '../../routes.ts';
import { PROGRAM } from '../support/commands/run-command.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/* `npm run admin -- smoke` on the local cloud, directly and through a proxy that breaks it. */

const ROOT = join(import.meta.dirname, '../..');
const ORIGIN = 'https://admin.example.com';
const USAGE =
  'Usage: npm run admin -- smoke --url URL [--mail ADDRESS] [--origin ORIGIN] [--past-edge URL]';

/** The function whose writes are refused; it needs no KMS, as it keeps data keys. */
let denied = '';
const gatehouse = await useGatehouse({
  intercept: async ({ operation, functionName }, forward) =>
    operation === 'TransactWriteItems' && functionName === denied
      ? { status: 400, body: { __type: 'AccessDeniedException', message: 'not authorized' } }
      : forward(),
});

interface Run {
  readonly url?: string;
  readonly options?: readonly string[];
  readonly environment?: Record<string, string>;
  readonly input?: string;
  /** The link in the mail, as soon as the user is invited. */
  readonly link?: () => Promise<string>;
}

async function smoke({
  url = gatehouse.cloud.url,
  options = [],
  environment = {},
  input = '',
  link,
}: Run = {}) {
  const args = ['admin', 'smoke', ...(url ? ['--url', url] : []), ...options];
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: ROOT,
    env: { ...process.env, SMOKE_LOGIN: 'admin', SMOKE_PASSWORD: 'admin', ...environment },
    // A run that waits for more input ends with an exit status that no test expects.
    timeout: 240_000,
  });
  child.stdin.write(input);
  if (!link) child.stdin.end();
  const stdout: string[] = [];
  createInterface(child.stdout).on('line', (line) => {
    stdout.push(line);
    if (link && line === 'ok    POST /api/users')
      void link().then((url) => child.stdin.end(`${url}\n`));
  });
  const [[code], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)]);
  const failures = stdout
    .filter((line) => line.startsWith('FAIL'))
    .map((line) => line.replace(/; the access log has its requestId \S+$/, ' (logged)'));
  return { code, stdout, stderr, failures };
}

interface Changes {
  readonly toRequest?: (headers: IncomingHttpHeaders) => void;
  readonly toResponse?: (headers: IncomingHttpHeaders, target: string) => void;
  readonly instead?: Readonly<Record<string, readonly [status: number, body: string]>>;
  /** The URL of the service, if it is not the shared instance. */
  readonly target?: string;
}

async function proxy(changes: Changes) {
  const { toRequest, toResponse, instead = {}, target = gatehouse.cloud.url } = changes;
  const server = createServer((incoming, outgoing) => {
    const { method = '', url: path = '', headers } = incoming;
    toRequest?.(headers);
    const forwarded = request(`${target}${path}`, { method, headers }, (response) => {
      toResponse?.(response.headers, path);
      const [status = response.statusCode ?? 0, body] = instead[path] ?? [];
      const { 'content-length': _, 'content-encoding': __, ...others } = response.headers;
      outgoing.writeHead(status, body ? others : response.headers);
      if (body) response.resume().once('end', () => outgoing.end(body));
      else response.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => server.close(),
  };
}

async function stored(
  { call }: Gatehouse,
  sent: { token: string; headers?: Record<string, string> },
) {
  const [users, integrations] = await Promise.all(
    ['/api/users', '/api/utm-integrations'].map((path) => call('GET', path, sent)),
  );
  const logins = users?.body.map(({ login }: { login: string }) => login);
  return [...logins, ...(integrations?.body.map(({ name }: { name: string }) => name) ?? [])];
}

describe.concurrent('npm run admin -- smoke', () => {
  // Runs on one instance disturb each other.
  describe('on an instance', { concurrent: false }, () => {
    it('fails when headers differ or are lost, or a function lacks a permission', async ({
      expect,
    }) => {
      denied = 'PUT /api/utm-integration-confs';
      const { url, stop } = await proxy({
        toRequest: (headers) => delete headers['if-match'],
        toResponse(headers, path) {
          if (path === '/management/info') delete headers['strict-transport-security'];
          if (headers['www-authenticate']) headers['www-authenticate'] = 'Basic';
        },
      });
      const { code, failures } = await smoke({ url, options: ['--origin', ORIGIN] });
      stop();
      denied = '';

      expect(code).toBe(1);
      // One check of each sequence has failed, which ends the sequence.
      expect(failures).toEqual([
        'FAIL  GET /api/account responds with 401: the header WWW-Authenticate is Basic',
        `FAIL  OPTIONS /api/users for a page of ${ORIGIN} responds with 204: 404 with Not Found instead of 204 (logged)`,
        'FAIL  GET /management/info: the header Strict-Transport-Security is missing',
        'FAIL  PUT /api/users responds with 412: 200 instead of 412 (logged)',
        'FAIL  PUT /api/utm-integration-confs: 500 with error.http.500 instead of 200 (logged)',
      ]);
      expect(await stored(gatehouse, { token: await gatehouse.adminToken() })).toEqual([
        'admin',
        'user',
      ]);
    });

    it('deletes no user without its mark', async () => {
      const user = await gatehouse.makeUser('gatehouse-smoke', { lastName: 'Smoke' });

      const { code, failures } = await smoke();
      const admin = { token: await gatehouse.adminToken() };
      const { status, body } = await gatehouse.call('GET', '/api/users/gatehouse-smoke', admin);
      await gatehouse.call('DELETE', '/api/users/gatehouse-smoke', admin);

      expect([code, status, body.id]).toEqual([1, 200, user.id]);
      expect(failures[0]).toMatch(
        /^FAIL {2}POST \/api\/users: 400 with error\.userexists instead of 201/,
      );
    });
  });

  describe('through an edge', { concurrent: false }, () => {
    const SECRET = '5f'.repeat(32);
    const FROM_EDGE = {
      'gatehouse-edge-secret': SECRET,
      'gatehouse-client-address': '203.0.113.7',
    };
    let origin: Gatehouse;
    let edge: Awaited<ReturnType<typeof proxy>>;
    beforeAll(async () => {
      const secretHashes = [createHash('sha256').update(SECRET).digest('hex')];
      const assembly = assemblyWith('dev', {
        domain: OTHER_SETTINGS.domain,
        corsOrigins: [ORIGIN],
        edge: { ...OTHER_SETTINGS.edge, secretHashes },
      });
      origin = await launch({ assembly });
      edge = await proxy({
        target: origin.cloud.url,
        toRequest: (headers) => Object.assign(headers, FROM_EDGE),
      });
    });
    afterAll(async () => {
      edge.stop();
      await origin.stop();
    });

    it('passes with all options, checks each route and deletes only what has its mark', async ({
      expect,
    }) => {
      const body = { username: 'admin', password: 'admin' };
      const login = await origin.call('POST', '/api/authenticate', { body, headers: FROM_EDGE });
      const admin = { token: login.body.id_token, headers: FROM_EDGE };
      const create = (path: string, body: object) => origin.call('POST', path, { ...admin, body });
      const integration = { name: 'gatehouse-smoke', shortName: 'smoke', integrationType: 'API' };
      // What an interrupted run has left, and an integration that only has the same name.
      const email = 'success+gatehouse-smoke@simulator.amazonses.com';
      await create('/api/users', {
        login: 'gatehouse-smoke',
        email,
        lastName: 'Created by npm run admin -- smoke',
      });
      await create('/api/utm-integrations', {
        ...integration,
        description: 'Created by npm run admin -- smoke',
      });
      await create('/api/utm-integrations', integration);

      const link = async () =>
        /http\S+/.exec((await origin.mailsTo('ann@example.com')).at(-1)?.text ?? '')?.[0] ?? '';

      const { code, stdout, stderr, failures } = await smoke({
        url: edge.url,
        options: ['--mail', 'ann@example.com', '--origin', ORIGIN, '--past-edge', origin.cloud.url],
        // Login, password and link are read from standard input.
        environment: { SMOKE_LOGIN: '', SMOKE_PASSWORD: '' },
        input: 'admin\nadmin\n',
        link,
      });

      expect({ code, stderr, failures }).toEqual({ code: 0, stderr: '', failures: [] });
      expect(stdout[0]).toBe(`Checking ${edge.url}`);
      expect(stdout.at(-2)).toMatch(`Version ${project.version}`);
      expect(stdout.at(-1)).toBe(`${stdout.length - 3} passed, 0 failed`);
      const checked = routes.filter(({ route }) => {
        const pattern = new RegExp(`^ok {4}${route.replace(/\{[^}]+\}/g, '[^ ?]+')}( |\\?|$)`);
        return stdout.some((line) => pattern.test(line));
      });
      expect(checked).toHaveLength(routes.length);
      expect(stdout.filter((line) => /^ok.*(console|page of| at http)/.test(line))).toEqual([
        'ok    GET /console',
        expect.stringMatching(/^ok {4}GET \/console\/assets\/.*\.svg$/),
        expect.stringMatching(/^ok {4}GET \/console\/assets\/.*\.css$/),
        expect.stringMatching(/^ok {4}GET \/console\/assets\/.*\.js$/),
        expect.stringMatching(/^ok {4}GET \/console\/assets\/.*\.js$/),
        `ok    GET /api/health at ${origin.cloud.url} responds with 403`,
        `ok    POST /api/authenticate at ${origin.cloud.url} responds with 403`,
        `ok    OPTIONS /api/users for a page of ${ORIGIN} responds with 204`,
        `ok    GET /api/health for a page of ${ORIGIN}`,
      ]);
      expect(await stored(origin, admin)).toEqual(['admin', 'user', 'gatehouse-smoke']);
    });

    it('fails when bodies differ, pages may not read and a token is lost', async ({ expect }) => {
      const { url, stop } = await proxy({
        target: edge.url,
        toResponse(headers, path) {
          if (path === '/api/health') delete headers['access-control-allow-origin'];
          delete headers.authorization;
        },
        // The second is what API Gateway responds where the environment has no console.
        instead: { '/management/info': [200, '{}'], '/console': [404, '{"message":"Not Found"}'] },
      });
      const { code, failures } = await smoke({ url, options: ['--origin', ORIGIN] });
      stop();

      expect(code).toBe(1);
      expect(failures).toEqual([
        `FAIL  GET /api/health for a page of ${ORIGIN}: the header access-control-allow-origin is missing`,
        'FAIL  POST /api/authenticate: the header Authorization is missing',
        'FAIL  GET /management/info: the body does not comply with the contract',
      ]);
    });

    it('fails when a guessed secret works past the edge, and without ROLE_ADMIN', async ({
      expect,
    }) => {
      const trusting = await proxy({
        target: origin.cloud.url,
        toRequest(headers) {
          if (headers['gatehouse-edge-secret']) Object.assign(headers, FROM_EDGE);
        },
      });
      const { code, failures } = await smoke({
        url: edge.url,
        options: ['--past-edge', trusting.url],
        environment: { SMOKE_LOGIN: 'user', SMOKE_PASSWORD: 'user' },
      });
      trusting.stop();

      expect(code).toBe(1);
      expect(failures).toEqual([
        `FAIL  GET /api/health at ${trusting.url} responds with 403: 200 instead of 403 (logged)`,
        'FAIL  GET /api/users/authorities: 403 with error.http.403 instead of 200 (logged)',
      ]);
    });
  });
});

it.concurrent.each<[Run, string]>([
  [{ url: '' }, '--url is missing.'],
  [
    { url: 'http://gatehouse.example.com' },
    '--url must start with https://, because a password is sent to it.',
  ],
  [{ environment: { SMOKE_LOGIN: '' } }, 'SMOKE_LOGIN is missing.'],
])('ends with 2 for %j', async (run, message) => {
  expect(await smoke(run)).toMatchObject({ code: 2, stdout: [], stderr: `${message}\n${USAGE}\n` });
});
