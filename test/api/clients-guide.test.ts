import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { claim } from '../../lib/table/write.ts';
import { publicKeyItemKey } from '../../lib/tokens/token.ts';
import { routes } from '../../routes.ts';
import { startGatehouse, useGatehouse } from '../support/instance/gatehouse.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { makeSigningKeyPair, type Part } from '../support/instance/mint.ts';
import { startReverseProxy } from '../support/instance/reverse-proxy.ts';
import { signedBy } from '../support/instance/tokens.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * Checks docs/clients.md: its code is extracted and run, its tables are compared with the service.
 */

const ROOT = join(import.meta.dirname, '../..');
const guide = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8');
const run = promisify(execFile);

/** The text under a heading of the guide. */
const section = (title: string): string =>
  guide.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';

/** The first code block in this language under a heading. */
const block = (title: string, language: string): string =>
  new RegExp(`^ *\`\`\`${language}\n(.*?)^ *\`\`\``, 'ms').exec(section(title))?.[1] ?? '';

/**
 * The cells of the first table under a heading, row by row, without its head and without backticks.
 */
function rows(title: string): string[][] {
  const [table = ''] = /^\|.*\n(^\|.*\n)+/m.exec(section(title)) ?? [];
  const [, , ...lines] = table.replaceAll('`', '').trimEnd().split('\n');
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const gatehouse = await useGatehouse();
let token: string;
beforeAll(async () => {
  token = await gatehouse.adminToken();
});

describe('the table of calls by JHipster 7 to 9', () => {
  const calls = rows('JHipster 7 to 9');

  it.each(calls)('%s does not exist, and %s does', async (sent = '', used = '') => {
    const [method = '', path = ''] = sent.split(' ');
    const names = { '{login}': 'admin', '{id}': '1' };
    const exact = path.replace(/\{\w+\}/, (name) => names[name as keyof typeof names]);

    const { status, body } = await gatehouse.call(method, exact, {
      token,
      ...(/^P/.test(method) && { body: {} }),
    });

    expect([status, body]).toEqual([404, { message: 'Not Found' }]);
    if (used) expect(routes.map(({ route }) => route)).toContain(used);
  });
});

describe('the steps for CORS', () => {
  const CHANGES = { corsOrigins: ['http://localhost:9000'] };
  let elsewhere: Gatehouse;
  beforeAll(async () => {
    elsewhere = await startGatehouse({ assembly: assemblyWith('dev', CHANGES) });
  });
  afterAll(() => elsewhere.stop());

  const preflight = async (url: string): Promise<string[]> => {
    const { stdout } = await run('bash', ['-c', block('CORS', 'sh')], {
      env: { ...process.env, URL: url },
    });
    return stdout.split('\r\n');
  };

  it('lead to the response that the guide shows', async () => {
    const shown = block('CORS', 'http')
      .split('\n')
      .map((line) => line.trim());

    expect(await preflight(elsewhere.cloud.url)).toEqual(expect.arrayContaining(shown));
  });

  it('expose the headers that the guide names, even in errors', async () => {
    const [, named = ''] =
      /Scripts of an allowed origin can read(.*?)The API uses/s.exec(section('CORS')) ?? [];
    const names = [...named.matchAll(/`(.*?)`/g)].map(([, name = '']) => name.toLowerCase());

    const { status, headers } = await elsewhere.call('GET', '/api/account', {
      headers: { Origin: 'http://localhost:9000' },
    });

    expect(status).toBe(401);
    expect(headers['access-control-expose-headers']?.split(',')).toEqual(names);
  });
});

it('the configuration of vite lets a page log in', async () => {
  const code = block('A web server in front of the API', 'js').replace(
    'https://gatehouse.example.com',
    gatehouse.cloud.url,
  );
  const { default: config } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const proxy = await startReverseProxy(gatehouse, config.server.proxy);

  const body = { username: 'user', password: 'user' };
  const { status } = await proxy.call('POST', '/api/authenticate', { body });
  const info = await proxy.call('GET', '/management/info');

  expect([status, info.status]).toEqual([200, 200]);
  await proxy.stop();
});

describe('the code that verifies tokens', () => {
  const key = makeSigningKeyPair();
  beforeAll(async () => {
    await commit(gatehouse.table, [
      claim(publicKeyItemKey(key.jwk.kid), { jwk: key.jwk }, 'retry'),
    ]);
  });
  const minted = (claims: Part, header: Part = {}) =>
    signedBy(key, { iss: 'gatehouse-dev', ...claims }, header);
  const now = () => Math.floor(Date.now() / 1000);

  /** What a script prints as JSON that begins with the code of the guide. */
  async function runWithGuide(script: string, headers: string[], before = ''): Promise<unknown> {
    const code = `${before}
      ${block('Verifying tokens', 'ts')}
      const headers = JSON.parse(process.env.HEADERS);
      const outcomeOf = (header) => callerOf(header).catch(({ constructor }) => constructor.name);
      ${script}`;
    const env = {
      ...process.env,
      HEADERS: JSON.stringify(headers),
      GATEHOUSE_URL: gatehouse.cloud.url,
      GATEHOUSE_ISSUER: 'gatehouse-dev',
    };
    const { stdout } = await run(process.execPath, ['--input-type=module-typescript', '-e', code], {
      cwd: ROOT,
      env,
    });
    return JSON.parse(stdout);
  }

  /** The callers of these Authorization headers, or the names of the errors. */
  const callersOf = (headers: string[]) =>
    runWithGuide(
      'console.log(JSON.stringify(await Promise.all(headers.map(outcomeOf))));',
      headers,
    );

  it('returns the caller of a token, and tolerates a minute of clock skew', async () => {
    const late = minted({ exp: now() - 30, preferred_username: 'late' });

    expect(await callersOf([`Bearer ${token}`, late])).toEqual([
      { id: 1, login: 'admin', roles: ['ROLE_ADMIN', 'ROLE_USER'] },
      { id: 7, login: 'late', roles: ['ROLE_USER'] },
    ]);
  });

  it('rejects every token that is not valid', async () => {
    const invalid = [
      minted({ exp: now() - 90 }),
      minted({ iss: 'gatehouse-prod' }),
      minted({ aud: 'other' }),
      minted({}, { typ: 'JWT' }),
      signedBy(makeSigningKeyPair(key.jwk.kid), { iss: 'gatehouse-dev' }),
      '',
    ];

    expect(await callersOf(invalid)).toEqual([
      'JwtExpiredError',
      'JwtInvalidIssuerError',
      'JwtInvalidAudienceError',
      'Error',
      'JwtInvalidSignatureError',
      'JwtParseError',
    ]);
  });

  it('rejects the tokens of a key within five minutes after it was removed', async () => {
    const before = `
      import { mock } from 'node:test';
      mock.timers.enable({ apis: ['setInterval'] });
      const readKeys = fetch;
      let isRemoved = false;
      globalThis.fetch = async (uri) => (isRemoved ? Response.json({ keys: [] }) : readKeys(uri));`;
    const script = `
      const published = await outcomeOf(headers[0]);
      isRemoved = true;
      mock.timers.tick(5 * 60_000);
      await new Promise((resolve) => setTimeout(resolve, 50));
      console.log(JSON.stringify([published.id, await outcomeOf(headers[0])]));`;

    expect(await runWithGuide(script, [minted({})], before)).toEqual([7, 'KidNotFoundInJwksError']);
  });

  it('knows the claims that the guide lists', () => {
    const listed = rows('Verifying tokens').flatMap(([names = '']) => names.split(', '));
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

    expect(Object.keys(claims)).toEqual(listed);
  });
});
