import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { bundle } from '../../infra/bundle/bundle.ts';
import { buildConsole } from '../../infra/bundle/console.ts';
import { localTransport } from '../../infra/settings/transport.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';

afterAll(removeFolders);

const ROOT = join(import.meta.dirname, '../..');
const bundles = join(inject('assembly'), 'bundles');
const functions = readdirSync(join(ROOT, 'functions')).map((file) => file.replace(/\.ts$/, ''));
const isMinimal = localTransport() === 'minimal';

const textOf = (file: string): string => readFileSync(join(bundles, file, 'index.mjs'), 'utf8');
const sourcesOf = (file: string): string[] =>
  JSON.parse(readFileSync(join(bundles, file, 'index.mjs.map'), 'utf8')).sources;

const kilobytesOf = (folder: string, file: string): number =>
  statSync(join(folder, file, 'index.mjs')).size / 1024;

/** The functions that the list of common passwords is for. */
const SETTING_PASSWORDS = ['change-password', 'create-user', 'finish-reset'];

describe('a bundle', () => {
  it('exists for each function, as a folder with a module and its source map', () => {
    expect(readdirSync(bundles).sort()).toEqual(functions.sort());
    for (const file of functions) {
      expect(readdirSync(join(bundles, file))).toEqual([
        ...(SETTING_PASSWORDS.includes(file) ? ['common-passwords.json'] : []),
        ...(file === 'get-console' ? ['console'] : []),
        'index.mjs',
        'index.mjs.map',
        ...(file === 'send-mail' ? ['texts.json'] : []),
      ]);
    }
  });

  it.runIf(isMinimal)('has at most 75 KB in the median, and never more than 120 KB', () => {
    const sizes = functions.map((file) => kilobytesOf(bundles, file)).sort((a, b) => a - b);

    expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThanOrEqual(75);
    expect(sizes.at(-1)).toBeLessThanOrEqual(120);
  });

  // The texts of the SDK name modules to import.
  it.runIf(isMinimal).each(functions)('of %s imports no module of Node', (file) => {
    const text = textOf(file);

    // An import of a built-in module reads all of its exports; for http that loads the whole fetch
    // implementation.
    expect(text).not.toMatch(/\bimport\s*(?:[\w*{][^;]*?from\s*)?["']/);
    expect(text).not.toMatch(/\brequire\(/);
    expect(text).toMatch(/process\.getBuiltinModule\("node:(crypto|fs)"\)/);
    // esbuild copies all exports of a CommonJS module for each importer, so only what CommonJS
    // requires may be one.
    const commonJs = [...text.matchAll(/\.exports=process\.getBuiltinModule\("node:(\w+)"\)/g)].map(
      ([, name]) => name,
    );
    const required = ['crypto', 'querystring', 'url'];
    expect(commonJs.filter((name) => !required.includes(String(name)))).toEqual([]);
  });

  it('calls AWS through the configured transport only, and has portable paths', () => {
    const other = isMinimal ? /node_modules\/(@aws-sdk|@smithy)\// : /^infra\/bundle\/transport\//;
    const portable =
      /^(builtin:|(lib|functions|infra|node_modules)\/|openapi\.json$|<define:BUILD>$)/;
    const sources = new Set(functions.flatMap(sourcesOf));

    expect([...sources].filter((source) => other.test(source) || !portable.test(source))).toEqual(
      [],
    );
    // A namespace object, as for a dynamic import, would read every export of http, and so load
    // the fetch implementation of Node.
    expect(functions.filter((file) => textOf(file).includes('.WebSocket'))).toEqual([]);
  });
});

it('a bundle with the AWS SDK consists of its ES modules, within its budget', async () => {
  const folder = join(inject('assembly'), '../bundles-with-sdk');
  const files = ['get-health', 'list-users', 'create-parameter', 'change-password'];
  await bundle(folder, { transport: 'sdk', files });

  for (const file of files) {
    const map = readFileSync(join(folder, file, 'index.mjs.map'), 'utf8');
    const { sources } = JSON.parse(map) as { sources: string[] };
    expect(sources.filter((source) => source.includes('/@smithy/')).length).toBeGreaterThan(10);
    expect(sources.filter((source) => source.includes('/dist-cjs/'))).toEqual([]);
  }
  expect(files.filter((file) => kilobytesOf(folder, file) > 470)).toEqual([]);
});

it('the transport has fewer than 550 lines', () => {
  const folder = join(ROOT, 'infra/bundle/transport');
  const lines = readdirSync(folder).map(
    (file) => readFileSync(join(folder, file), 'utf8').split('\n').length - 1,
  );

  expect(lines.reduce((sum, count) => sum + count)).toBeLessThan(550);
});

it('a second build of the console has the same bytes, also over an older one', async () => {
  const folder = newFolder();
  const contentsOf = (build: string) =>
    globSync('**/*.*', { cwd: build })
      .sort()
      .map((name) => [name, readFileSync(join(build, name), 'base64')]);
  writeFileSync(join(folder, 'older.js'), '');

  await buildConsole(folder);

  expect(contentsOf(folder)).toEqual(contentsOf(join(bundles, 'get-console/console')));
});
