import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, it } from 'vitest';
import { assemblyOf, synthesizeInProcess } from '../support/stack.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Everything that a synthesis reads except the installed packages. */
const SOURCES = ['functions', 'infra', 'lib', 'cdk.json', 'openapi.json', 'package.json', 'routes.ts', 'tsconfig.json'];

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-reproducible-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Synthesizes the production template from a copy of the source, in a folder at another depth. Returns its output. */
async function synthesizeCopy(): Promise<string> {
  const root = join(folder, 'at/another/depth');
  const assembly = join(root, 'cdk.out');
  mkdirSync(root, { recursive: true });
  for (const source of SOURCES) cpSync(join(ROOT, source), join(root, source), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const copy = await import(join(root, 'infra/local/stack/synthesize.ts'));
  await copy.synthesize(assembly, { env: 'prod', checked: false, allowPlaceholders: 'true' });
  return assembly;
}

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
const hashesOf = (assembly: string): string[] =>
  Object.keys(JSON.parse(read(assembly, 'Gatehouse-prod.assets.json')).files);

it('two syntheses of one source in different folders have the same template, bundles and asset hashes', async () => {
  synthesizeInProcess('prod');
  const original = assemblyOf('prod', {});
  const bundles = join(inject('assembly'), 'bundles');
  const copy = await synthesizeCopy();

  expect(globSync('*.template.json', { cwd: copy })).toEqual(['Gatehouse-prod.template.json']);
  const files = globSync('*/*', { cwd: bundles }).sort();
  expect(files.length).toBeGreaterThan(50);
  expect(globSync('*/*', { cwd: join(copy, 'bundles') }).sort()).toEqual(files);
  expect(files.filter((file) => read(copy, 'bundles', file) !== read(bundles, file))).toEqual([]);
  expect(hashesOf(copy)).toEqual(hashesOf(original));
  expect(read(copy, 'Gatehouse-prod.template.json')).toBe(read(original, 'Gatehouse-prod.template.json'));
}, 60_000);
