import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, inject, it } from 'vitest';
import { expectCommonHeaders } from '../support/instance/api-document.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { testProvider } from '../support/instance/provider.ts';

/* GET /console and GET /console/{path+}: the page of the console and its files. */

const gatehouse = await useGatehouse();
const BUILD = join(inject('assembly'), 'bundles/get-console/console');
const built = (name: string) => readFileSync(join(BUILD, name));
const assetOf = (pattern: RegExp) =>
  readdirSync(join(BUILD, 'assets')).find((name) => pattern.test(name)) ?? '';
const [script, style] = [assetOf(/^main-.*\.js$/), assetOf(/^style-.*\.css$/)];

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' " +
  `${new URL(testProvider().issuer.tokenEndpoint).origin}; ` +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";
const HTML = 'text/html; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const REVALIDATED = 'no-cache';
const IMMUTABLE = 'public, max-age=31536000, immutable';

const get = (path: string, headers: Record<string, string> = {}) =>
  gatehouse.call('GET', path, { headers });

it.each([
  ['/console', 'index.html', HTML, REVALIDATED],
  ['/console/', 'index.html', HTML, REVALIDATED],
  ['/console/users', 'index.html', HTML, REVALIDATED],
  ['/console/users/anna.smith', 'index.html', HTML, REVALIDATED],
  ['/console/users/a%40b.js?page=2', 'index.html', HTML, REVALIDATED],
  [`/console/users/assets/${script}`, 'index.html', HTML, REVALIDATED],
  ['/console/index.html', 'index.html', HTML, REVALIDATED],
  ['/console/../index.mjs', 'index.html', HTML, REVALIDATED],
  ['/console/..%2F..%2Findex.mjs', 'index.html', HTML, REVALIDATED],
  [`/console/assets/${script}`, `assets/${script}`, JAVASCRIPT, IMMUTABLE],
  [`/console/assets/${style}`, `assets/${style}`, CSS, IMMUTABLE],
])('%s is served as %s', async (path, name, type, caching) => {
  const { status, headers, text } = await get(path);

  expect([status, text]).toEqual([200, built(name).toString()]);
  expect(headers).toMatchObject({
    'content-type': type,
    'cache-control': caching,
    'content-length': String(built(name).length),
    'content-security-policy': POLICY,
    etag: expect.stringMatching(/^"[\w-]{43}"$/),
    'referrer-policy': 'no-referrer',
    'strict-transport-security': 'max-age=63072000; includeSubDomains',
    vary: 'Accept-Encoding, Origin',
    'x-content-type-options': 'nosniff',
  });
  expect(headers).not.toHaveProperty('content-encoding');
});

it.each([
  '/console/assets/',
  '/console/assets/unknown.js',
  '/console/assets/unknown',
  '/console/assets/a%0Ab',
  `/console/assets/${script}.br`,
  `/console/assets/${script}%20br`,
  `/console/${script}`,
  '/console/favicon.ico',
  '/console/assets/../../index.mjs',
  '/console/assets/..%252f..%252findex.mjs',
  '/console/assets/%2e%2e/%2e%2e/index.mjs',
  '/console/assets//etc/passwd',
  '/console/index.mjs%00.js',
])('%s is not found', async (path) => {
  const { status, headers, body } = await get(path);

  expect([status, body.message]).toEqual([404, 'error.http.404']);
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expectCommonHeaders(headers, path);
});

it('is where the links in mails lead to, with the key in the fragment', async () => {
  const token = await gatehouse.adminToken();
  const body = { login: 'invited', email: 'invited@example.com' };
  await gatehouse.call('POST', '/api/users', { token, body });
  const [mail] = await gatehouse.mailsTo(body.email);

  expect(mail?.text).toContain(`${gatehouse.cloud.url}/console/set-password#login=invited&key=`);
});

describe('the content coding', () => {
  const DECODED = {
    br: brotliDecompressSync,
    gzip: gunzipSync,
    none: (bytes: Buffer) => bytes,
  };
  const sizes = (name: string) => ({
    br: built(`${name}.br`).length,
    gzip: built(`${name}.gz`).length,
    none: built(name).length,
  });

  it.each<[keyof typeof DECODED, string | undefined]>([
    ['br', 'gzip, deflate, br, zstd'],
    ['gzip', 'gzip'],
    ['none', undefined],
    ['gzip', 'br;q=0.5, gzip;q=0.9'],
  ])('is %s with Accept-Encoding: %s', async (coding, accepted) => {
    for (const [path, name] of [
      ['/console', 'index.html'],
      [`/console/assets/${script}`, `assets/${script}`],
    ] as const) {
      const { headers } = await get(path, accepted ? { 'Accept-Encoding': accepted } : {});

      expect(headers['content-encoding'] ?? 'none').toBe(coding);
      expect(headers['content-length']).toBe(String(sizes(name)[coding]));
      const response = await fetch(`${gatehouse.cloud.url}${path}`, {
        headers: { 'Accept-Encoding': accepted ?? 'identity' },
      });
      // Without knowing the coding, `fetch` would not return the original text.
      expect(await response.text()).toBe(built(name).toString());
    }
  });

  it('has compressed the files that it serves', () => {
    for (const name of ['index.html', `assets/${script}`, `assets/${style}`]) {
      expect(DECODED.br(built(`${name}.br`)).toString()).toBe(built(name).toString());
      expect(DECODED.gzip(built(`${name}.gz`)).toString()).toBe(built(name).toString());
    }
  });
});

describe('the page', () => {
  const coded = (coding: string, tag?: string) => ({
    'Accept-Encoding': coding,
    ...(tag && { 'If-None-Match': tag }),
  });

  it('is not sent again to a client that has it, in the same coding', async () => {
    const tags = new Map<string, string>();
    for (const coding of ['br', 'gzip', 'identity']) {
      const { headers } = await get('/console', coded(coding));
      tags.set(coding, headers.etag as string);
    }
    const again = await get('/console/users', coded('br', tags.get('br')));
    const other = await get('/console/users', coded('gzip', tags.get('br')));

    expect(new Set(tags.values()).size).toBe(3);
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', tags.get('br')]);
    expect(again.headers).toMatchObject({
      'cache-control': REVALIDATED,
      'content-security-policy': POLICY,
      vary: 'Accept-Encoding, Origin',
    });
    expect(other.status).toBe(200);
  });

  it('names its icon, scripts and style sheet, and has nothing inline', async () => {
    const { text } = await get('/console');
    const urls = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url);

    expect(urls).toEqual([
      expect.stringMatching(/^\/console\/assets\/icon-\w+\.svg$/),
      `/console/assets/${style}`,
      expect.stringMatching(/^\/console\/assets\/chunk-\w+\.js$/),
      `/console/assets/${script}`,
    ]);
    const icon = await get(urls[0] ?? '');
    expect([icon.status, icon.headers['content-type']]).toEqual([200, 'image/svg+xml']);
    expect((await get(urls[2] ?? '')).status).toBe(200);
    expect(text).not.toMatch(/%\w+%|<style|style=|<script(?![^>]* src=)| on\w+=/);
  });
});
