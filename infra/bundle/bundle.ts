import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Metafile, type Plugin } from 'esbuild';
import type { Transport } from '../settings/transport.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The modules of the minimal transport, by the packages of the AWS SDK that they replace. */
const MINIMAL_TRANSPORT = {
  '@aws-sdk/client-dynamodb': './infra/bundle/transport/client-dynamodb.ts',
  '@aws-sdk/client-kms': './infra/bundle/transport/client-kms.ts',
  '@aws-sdk/client-sesv2': './infra/bundle/transport/client-sesv2.ts',
  '@aws-sdk/lib-dynamodb': './infra/bundle/transport/lib-dynamodb.ts',
};

export type Sources = Readonly<Record<string, readonly string[]>>;

/** The file with the sources of all bundles, below the output folder of a synthesis. */
export const SOURCES_FILE = 'sources.json';

export const bundleOf = (folder: string, file: string): string => join(folder, file);

export const functionFiles = (): string[] =>
  readdirSync(join(ROOT, 'functions')).map((file) => basename(file, '.ts'));

const BUILTIN_MODULES = new Set(builtinModules);

/**
 * Loads Node's modules with `getBuiltinModule`. A native import reads every export of a built-in
 * module, and reading `WebSocket` of `http` makes Node load its entire fetch implementation: a
 * fifth of a cold start. Each import becomes an ES module that reads only the exports in use; of a
 * CommonJS module, esbuild would copy all for each importer.
 */
const builtins: Plugin = {
  name: 'builtins',
  setup(build) {
    build.onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, ({ path, kind }) => {
      const name = path.replace(/^node:/, '');
      if (!BUILTIN_MODULES.has(name)) return undefined;
      // The result of a dynamic import has all exports, so an ES module would read each of them.
      const prefix = kind === 'import-statement' ? '' : 'require:';
      return { path: prefix + name, namespace: 'builtin', sideEffects: false };
    });
    build.onLoad({ filter: /^require:/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = ${loadBuiltin(path.replace('require:', ''))};`,
    }));
    build.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: moduleOfBuiltin(path),
    }));
  },
};

const loadBuiltin = (name: string): string => `process.getBuiltinModule('node:${name}')`;

/** An ES module of which esbuild keeps the exports in use only. */
function moduleOfBuiltin(name: string): string {
  const names = Object.keys(process.getBuiltinModule(`node:${name}`) ?? {}).filter(
    (key) => key !== 'default',
  );
  const exported = ['builtin as default', ...names.map((key, index) => `v${index} as ${key}`)];
  return [
    `const builtin = /* @__PURE__ */ ${loadBuiltin(name)};`,
    ...names.map((key, index) => `const v${index} = /* @__PURE__ */ (() => builtin.${key})();`),
    `export { ${exported.join(', ')} };`,
  ].join('\n');
}

/**
 * Bundles all functions, or the given ones, each into its own folder. A single esbuild call reads
 * each module once. `mainFields` prefers the libraries' ES modules because esbuild cannot
 * tree-shake CommonJS. Minification halves every bundle,
 * and saves no time. The source map has no sources: it is only for the file names and lines in the
 * log. `forDebugger` keeps the names of variables, and lets a debugger find the sources. Returns
 * the source files of each bundle, below the repository.
 */
export async function bundle(
  folder: string,
  {
    transport,
    plugins = [],
    files = functionFiles(),
    forDebugger = false,
  }: { transport: Transport; plugins?: Plugin[]; files?: string[]; forDebugger?: boolean },
): Promise<Sources> {
  const { outputFiles, metafile } = await build({
    write: false,
    metafile: true,
    entryPoints: files.map((file) => ({ in: `functions/${file}.ts`, out: `${file}/index` })),
    absWorkingDir: ROOT,
    // A link to node_modules elsewhere would otherwise put that path into the source maps, and so
    // into the asset hashes.
    preserveSymlinks: true,
    outdir: folder,
    plugins: [...plugins, builtins],
    outExtension: { '.js': '.mjs' },
    bundle: true,
    minify: !forDebugger,
    sourcemap: 'linked',
    sourcesContent: false,
    alias: transport === 'minimal' ? MINIMAL_TRANSPORT : {},
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    legalComments: 'none',
    logLevel: 'warning',
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(
      path,
      path.endsWith('.map') ? withPortableSources(path, text, forDebugger) : text,
    );
  }
  return Object.fromEntries(
    files.map((file) => [file, importedBy(`functions/${file}.ts`, metafile)]),
  );
}

/** A file and all that it imports, including what is in no bundle because it is unused. */
function importedBy(file: string, { inputs }: Metafile): string[] {
  const found = new Set([file]);
  // A set also iterates over the elements that are added meanwhile.
  for (const importer of found)
    for (const { path } of inputs[importer]?.imports ?? []) found.add(path);
  return [...found];
}

/**
 * Makes the paths of a source map relative to the repository, so that a bundle does not depend on
 * its own folder; with `hasRoot`, the map says where the repository is.
 */
function withPortableSources(path: string, text: string, hasRoot: boolean): string {
  const map = JSON.parse(text) as { sources: string[] };
  const portable = (source: string) =>
    source.startsWith('builtin:')
      ? source
      : relative(ROOT, join(dirname(path), decodeURIComponent(source)));
  const sourceRoot = hasRoot ? { sourceRoot: pathToFileURL(`${ROOT}/`).href } : {};
  return JSON.stringify({ ...map, ...sourceRoot, sources: map.sources.map(portable) });
}
