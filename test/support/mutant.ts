import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { inject } from 'vitest';
import { bundle } from '../../infra/bundle.ts';

const ROOT = join(import.meta.dirname, '../..');

/** One place in the source, and what a careless hand would have made of it. */
export interface Mutation {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** What reads before it writes reads what its row does not name. */
const anyItem = (name: string, value: unknown): unknown =>
  name === 'dynamodb:LeadingKeys' && Array.isArray(value) ? ['*'] : value;

/** The stack of this run with a rule broken in its functions, which may use any item as they use their own; the source stays as it is. */
export async function mutant(mutations: readonly Mutation[]): Promise<{ assembly: string; remove: () => void }> {
  const original = inject('assembly');
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-mutant-'));
  for (const file of readdirSync(original).filter((name) => name.endsWith('.json'))) {
    writeFileSync(join(folder, file), JSON.stringify(JSON.parse(readFileSync(join(original, file), 'utf8'), anyItem)));
  }
  const sources = new Map<string, string>();
  for (const { file, from, to } of mutations) {
    const path = join(ROOT, file);
    const source = sources.get(path) ?? readFileSync(path, 'utf8');
    if (!source.includes(from)) throw new Error(`${file} has no line with ${from}: the mutant has lost its place`);
    sources.set(path, source.replace(from, to));
  }
  const plugin: Plugin = {
    name: 'mutant',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = sources.get(path);
        return contents === undefined ? undefined : { contents, loader: 'ts' };
      });
    },
  };
  const bundles = join(original, 'bundles');
  const changed = readdirSync(bundles).filter((name) => {
    // A bundle says where each of its parts comes from.
    const text = readFileSync(join(bundles, name, 'index.mjs'), 'utf8');
    return mutations.some(({ file }) => text.includes(`\n// ${file}\n`));
  });
  if (changed.length === 0) throw new Error('No function has any of it: the mutant has lost its place');
  await bundle(join(folder, 'bundles'), [plugin], changed);

  const assets = readdirSync(folder).find((name) => name.endsWith('.assets.json')) as string;
  const paths = changed.reduce(
    (text, name) => text.replaceAll(`"${join(bundles, name)}"`, `"${join(folder, 'bundles', name)}"`),
    readFileSync(join(folder, assets), 'utf8'),
  );
  writeFileSync(join(folder, assets), paths);
  return { assembly: folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
