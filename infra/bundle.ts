import { join } from 'node:path';
import { build } from 'esbuild';
import { routes } from '../routes.ts';

/** Where a function's bundle lies, below the folder of all bundles. */
export const bundleOf = (folder: string, file: string): string => join(folder, file);

/**
 * Bundles all functions, each into a folder of its own. One call of esbuild for all, because it reads every module once;
 * the libraries' ES modules first, because only those can be shaken.
 */
export async function bundle(folder: string): Promise<void> {
  await build({
    entryPoints: routes.map(({ file }) => ({ in: `functions/${file}.ts`, out: `${file}/index` })),
    absWorkingDir: join(import.meta.dirname, '..'),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    legalComments: 'none',
    logLevel: 'warning',
    // Some of the libraries still call require.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
}
