import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/** Where a function's bundle lies, below the folder of all bundles. */
export const bundleOf = (folder: string, file: string): string => join(folder, file);

/** The functions that there are, by their files. */
const functionFiles = (): string[] => readdirSync(join(ROOT, 'functions')).map((file) => basename(file, '.ts'));

/**
 * Bundles all functions, or some, each into a folder of its own. One call of esbuild for all, because it reads every module once;
 * the libraries' ES modules first, because only those can be shaken.
 */
export async function bundle(folder: string, plugins: Plugin[] = [], files = functionFiles()): Promise<void> {
  await build({
    entryPoints: files.map((file) => ({ in: `functions/${file}.ts`, out: `${file}/index` })),
    absWorkingDir: ROOT,
    outdir: folder,
    plugins,
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
