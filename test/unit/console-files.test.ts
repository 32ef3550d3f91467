import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  findConsoleFile,
  preferredCoding,
  readConsoleFiles,
} from '../../lib/operations/status/console-files.ts';

/* test/api/console.test.ts has the responses to requests. */

it('the policy admits each origin of the token endpoints, and its change changes the ETag', () => {
  const folder = mkdtempSync(join(tmpdir(), 'console-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const suffix of ['', '.br', '.gz']) writeFileSync(join(folder, `index.html${suffix}`), '');
  const filesWith = (...endpoints: string[]) => readConsoleFiles(folder, endpoints);
  const headersWith = (...endpoints: string[]) =>
    findConsoleFile(filesWith(...endpoints), '/console', undefined).headers;

  const own = headersWith();
  const others = headersWith('https://a.example/x', 'https://a.example/y', 'https://b.example');

  const origins = 'https://a.example https://b.example';
  expect(own['Content-Security-Policy']).toContain("; connect-src 'self'; ");
  expect(others['Content-Security-Policy']).toContain(`; connect-src 'self' ${origins}; `);
  // Browsers that have the page ask for it again.
  expect(others.ETag).not.toBe(own.ETag);
  const { headers: coded } = findConsoleFile(filesWith(), '/console', 'br');
  expect([own, coded].map((each) => each['Content-Encoding'])).toEqual([undefined, 'br']);
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
