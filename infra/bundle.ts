import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/** Where a function's bundle lies, below the folder of all bundles. */
export const bundleOf = (folder: string, file: string): string => join(folder, file);

/** The functions that there are, by their files. */
const functionFiles = (): string[] => readdirSync(join(ROOT, 'functions')).map((file) => basename(file, '.ts'));

/**
 * Requires Node's HTTP modules instead of importing them: an import reads every export of a built-in module, and those of
 * `http` include WebSocket, for which Node then loads all of its fetch. That took a fifth of a cold start.
 */
const requireHttp: Plugin = {
  name: 'require-http',
  setup(build) {
    build.onResolve({ filter: /^(node:)?https?$/ }, ({ path }) => ({ path, namespace: 'require' }));
    build.onLoad({ filter: /./, namespace: 'require' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
  },
};

/**
 * Bundles all functions, or some, each into a folder of its own. One call of esbuild for all, because it reads every module once;
 * the libraries' ES modules first, because only those can be shaken.
 */
export async function bundle(folder: string, plugins: Plugin[] = [], files = functionFiles()): Promise<void> {
  await build({
    entryPoints: files.map((file) => ({ in: `functions/${file}.ts`, out: `${file}/index` })),
    absWorkingDir: ROOT,
    outdir: folder,
    plugins: [...plugins, requireHttp],
    outExtension: { '.js': '.mjs' },
    bundle: true,
    alias: { '@aws-sdk/credential-provider-node': './infra/environment-credentials.ts' },
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
