import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildConsole } from '../../infra/bundle/console.ts';

const folder = mkdtempSync(join(tmpdir(), 'console-size-'));
beforeAll(() => buildConsole(folder));
afterAll(() => rmSync(folder, { recursive: true }));

/** The files that the page loads before it shows the log-in, without what `import()` loads. */
function firstLoad(): string[] {
  const page = readFileSync(join(folder, 'index.html'), 'utf8');
  const named = [...page.matchAll(/\/console\/(assets\/[\w-]+\.(?:js|css))/g)].map(([, name]) =>
    String(name),
  );
  const imported = named
    .filter((name) => name.endsWith('.js'))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), 'utf8').matchAll(/from"\.\/([\w-]+\.js)"/g),
    ])
    .map(([, name]) => `assets/${name}`);
  return [...new Set(['index.html', ...named, ...imported, fileOf('en')])];
}

function fileOf(name: string): string {
  const files = readdirSync(join(folder, 'assets'));
  return `assets/${files.find((file) => file.startsWith(`${name}-`) && file.endsWith('.js'))}`;
}

const bytesOf = (files: readonly string[], coding: string): number =>
  files.reduce((sum, file) => sum + statSync(join(folder, `${file}.${coding}`)).size, 0);

it.each(['br', 'gz'])('the log-in page loads at most 25 KB as %s', (coding) => {
  const files = firstLoad();

  expect(files).toHaveLength(5);
  expect(bytesOf(files, coding)).toBeLessThanOrEqual(25 * 1024);
});

it.each(['br', 'gz'])('the whole console in one language has at most 45 KB as %s', (coding) => {
  const files = [...firstLoad(), fileOf('signed-in')];
  const all = readdirSync(join(folder, 'assets')).filter((file) => /\.(js|css)$/.test(file));

  // The page, everything in the folder, and no other language.
  expect(files).toHaveLength(1 + all.length - 1);
  expect(bytesOf(files, coding)).toBeLessThanOrEqual(45 * 1024);
});

it.each(['br', 'gz'])('a further language has at most 6 KB as %s', (coding) => {
  expect(bytesOf([fileOf('de')], coding)).toBeLessThanOrEqual(6 * 1024);
});
