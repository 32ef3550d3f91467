import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');

/** The folder of a function's bundle, below the folder of all bundles. */
export const bundleOf = (folder: string, file: string): string => join(folder, file);

const functionFiles = (): string[] => readdirSync(join(ROOT, 'functions')).map((file) => basename(file, '.ts'));

/**
 * Loads Node's HTTP modules without `import`, which reads every export of a built-in module: reading `WebSocket` of
 * `http` makes Node load its entire fetch implementation, which took a fifth of a cold start.
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
 * Bundles all functions, or the given ones, each into its own folder. A single esbuild call reads each module once.
 * `mainFields` prefers the libraries' ES modules because esbuild cannot tree-shake CommonJS.
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
    // Some libraries still call require.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
}
