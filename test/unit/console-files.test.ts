import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../lib/contract/failure.ts';
import {
  type ConsoleFiles,
  findConsoleFile,
  preferredCoding,
  readConsoleFiles,
} from '../../lib/status/console-files.ts';

/* test/api/console.test.ts has the responses to requests. */

const folder = mkdtempSync(join(tmpdir(), 'console-files-'));
let files: ConsoleFiles;
beforeAll(() => {
  mkdirSync(join(folder, 'assets'));
  for (const name of ['index.html', 'assets/a-1.js', 'assets/a-1.css'])
    for (const suffix of ['', '.br', '.gz'])
      writeFileSync(join(folder, name + suffix), name + suffix);
  writeFileSync(join(folder, 'index.mjs'), 'secret');
  files = readConsoleFiles(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

const contentOf = (path: string, accepted?: string): string =>
  Buffer.from(findConsoleFile(files, path, accepted).base64, 'base64').toString();

it('only files of the console are read', () => {
  expect([...files.keys()].sort()).toEqual(['assets/a-1.css', 'assets/a-1.js', 'index.html']);
});

it('files have a policy that admits nothing but the origins of the token endpoints', () => {
  const headersWith = (endpoints: string[], path = '/console', coding?: string) =>
    findConsoleFile(readConsoleFiles(folder, endpoints), path, coding).headers;
  const own = headersWith([]);
  const endpoints = ['https://a.example/x/token', 'https://a.example/y', 'https://b.example'];
  const others = headersWith(endpoints);
  const policyWith = (origins = '') =>
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
    `connect-src 'self'${origins}; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'";
  const page = {
    'Content-Type': 'text/html; charset=utf-8',
    ETag: expect.stringMatching(/^"[\w-]{43}"$/),
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': policyWith(),
    Vary: 'Accept-Encoding, Origin',
  };

  expect(own).toStrictEqual(page);
  expect(headersWith([], '/console/assets/a-1.js', 'gzip')).toStrictEqual({
    ...page,
    'Content-Type': 'text/javascript; charset=utf-8',
    'Content-Encoding': 'gzip',
    'Cache-Control': 'public, max-age=31536000, immutable',
  });
  expect(others['Content-Security-Policy']).toBe(
    policyWith(' https://a.example https://b.example'),
  );
  // Browsers that have the page ask for it again.
  expect(others.ETag).not.toBe(own.ETag);
});

describe('a path', () => {
  it.each([
    ['/console', 'index.html'],
    ['/console/', 'index.html'],
    ['/console/users/a.b', 'index.html'],
    ['/console/users/assets/a-1.js', 'index.html'],
    ['/console/index.html', 'index.html'],
    ['/console/assets/a-1.js', 'assets/a-1.js'],
  ])('%s leads to %s, in the preferred coding', (path, name) => {
    expect(contentOf(path)).toBe(name);
    expect(contentOf(path, 'br')).toBe(`${name}.br`);
    expect(contentOf(path, 'gzip')).toBe(`${name}.gz`);
  });

  it.each([
    '/console/assets/a\nb',
    '/console/assets/a-1.js.br',
    '/console/a-1.js',
    '/console/index.mjs',
    '/console/.',
  ])('%j leads nowhere', (path) => {
    expect(() => contentOf(path)).toThrow(new Failure('not-found'));
  });
});

it.each([
  ['br', 'gzip, deflate, br, zstd'],
  ['br', 'br'],
  ['br', 'BR;Q=1'],
  ['br', '*'],
  ['br', '*;q=0.1'],
  ['br', 'identity, gzip, br'],
  ['br', 'identity;q=0.5, *;q=0.5'],
  ['br', 'gzip;q=0.5, br;q=0.5'],
  ['br', 'br ; q=0.001'],
  ['br', 'br;level=1;q=0.5'],
  ['gzip', 'gzip'],
  ['gzip', 'gzip;q=1.0, br;q=0.9'],
  ['gzip', 'br;q=0, *'],
  ['gzip', 'br;q=none, gzip;q=0.1'],
  ['gzip', 'identity;q=0, gzip;q=0.1'],
  [undefined, undefined],
  [undefined, ''],
  [undefined, 'identity'],
  [undefined, 'deflate, zstd'],
  [undefined, 'br;q=0, gzip;q=0'],
  [undefined, 'identity;q=1, *;q=0'],
  [undefined, 'identity, gzip;q=0.9, br;q=0.9'],
  [undefined, 'gzip2, xbr'],
])('prefers %s with Accept-Encoding: %s', (coding, accepted) => {
  expect(preferredCoding(accepted)).toBe(coding);
});
