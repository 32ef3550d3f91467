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

function fileOf(name: string, type = '.js'): string {
  const files = readdirSync(join(folder, 'assets'));
  return `assets/${files.find((file) => file.startsWith(`${name}-`) && file.endsWith(type))}`;
}

const bytesOf = (files: readonly string[], coding: string): number =>
  files.reduce((sum, file) => sum + statSync(join(folder, `${file}.${coding}`)).size, 0);

it.each(['br', 'gz'])('the log-in page loads at most 45 KB as %s', (coding) => {
  const files = firstLoad();

  // The page, its scripts and its style sheet, the texts, and the icon.
  expect(files).toHaveLength(5);
  expect(bytesOf([...files, fileOf('icon', '.svg')], coding)).toBeLessThanOrEqual(45 * 1024);
});

it.each(['br', 'gz'])('everything else, in all languages, has at most 60 KB as %s', (coding) => {
  const all = readdirSync(join(folder, 'assets')).filter((file) => /\.(js|css)$/.test(file));
  const rest = all.map((file) => `assets/${file}`).filter((file) => !firstLoad().includes(file));

  expect(rest.length).toBeGreaterThan(1);
  expect(bytesOf(rest, coding)).toBeLessThanOrEqual(60 * 1024);
});
