import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundle, bundleOf } from '../../infra/bundle/bundle.ts';
import { routes } from '../../routes.ts';

const ROOT = join(import.meta.dirname, '../..');

/** How a function is built, the least possible first. */
export const VARIANTS = ['floor', 'gatehouse', 'sdk', 'default'] as const;
export type Variant = (typeof VARIANTS)[number];

/**
 * All variants. The order changes with the round, so that no variant always runs next to the same
 * one.
 */
export const variantsInTurn = (round: number): Variant[] => {
  const first = round % VARIANTS.length;
  return [...VARIANTS.slice(first), ...VARIANTS.slice(0, first)];
};

/** The bundles of every variant. */
export interface Bundles {
  fileOf(variant: Variant, handler: string): string;
  bytesOf(variant: Variant, handler: string): number;
  /** A handler that does nothing. */
  readonly empty: string;
}

/** Bundles every function in every variant, each below its own folder. */
export async function buildVariants(folder: string): Promise<Bundles> {
  const files = routes.map(({ handler }) => handler);
  const [gatehouse, sdk] = [join(folder, 'gatehouse'), join(folder, 'sdk')];
  await bundle(gatehouse, { transport: 'minimal', files });
  await bundle(sdk, { transport: 'sdk', files });
  const common = {
    absWorkingDir: ROOT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  } as const;
  await build({
    ...common,
    entryPoints: files.map((file) => ({ in: `functions/${file}.ts`, out: `${file}/index` })),
    outdir: join(folder, 'default'),
    // Some libraries call `require`, which ES modules do not have.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  await build({
    ...common,
    entryPoints: ['test/bench/floor.ts'],
    outdir: join(folder, 'floor'),
    minify: true,
  });
  mkdirSync(join(folder, 'empty'));
  const empty = join(folder, 'empty/index.mjs');
  writeFileSync(empty, 'export const handler = async () => ({ statusCode: 200 });\n');

  const fileOf = (variant: Variant, handler: string): string =>
    variant === 'floor'
      ? join(folder, 'floor/floor.mjs')
      : join(bundleOf(join(folder, variant), handler), 'index.mjs');
  return { fileOf, bytesOf: (variant, handler) => statSync(fileOf(variant, handler)).size, empty };
}
