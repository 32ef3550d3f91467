import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import ts from 'typescript';
import type { Build } from '../../lib/operations/status/status-contracts.ts';
import project from '../../package.json' with { type: 'json' };
import type { Transport } from '../settings/transport.ts';
import { buildConsole } from './console.ts';

const ROOT = join(import.meta.dirname, '../..');

const MINIMAL_TRANSPORT = {
  '@aws-sdk/client-dynamodb': './infra/bundle/transport/dynamodb.ts',
  '@aws-sdk/lib-dynamodb': './infra/bundle/transport/dynamodb.ts',
  '@aws-sdk/client-kms': './infra/bundle/transport/client-kms.ts',
  '@aws-sdk/client-sesv2': './infra/bundle/transport/client-sesv2.ts',
};

/**
 * Loads Node's modules with `getBuiltinModule`. A native import reads every export of a built-in
 * module, and reading `WebSocket` of `http` makes Node load its entire fetch implementation: a
 * fifth of a cold start.
 */
const builtins: Plugin = {
  name: 'builtins',
  setup(build) {
    build.onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return undefined;
      const name = path.replace(/^node:/, '');
      const module = { namespace: 'builtin', sideEffects: false };
      if (kind === 'import-statement')
        return { ...module, path: name, pluginData: esModuleOf(name) };
      // The result of a dynamic import has all exports, so an ES module would read each of them.
      const pluginData = `module.exports = ${loadBuiltin(name)};`;
      return { ...module, path: `require:${name}`, pluginData };
    });
    build.onLoad({ filter: /./, namespace: 'builtin' }, ({ pluginData }) => ({
      contents: pluginData,
    }));
  },
};

const loadBuiltin = (name: string): string => `process.getBuiltinModule('node:${name}')`;

/** Of an ES module esbuild keeps only the exports in use; of a CommonJS one it would copy all. */
function esModuleOf(name: string): string {
  const names = Object.keys(process.getBuiltinModule(`node:${name}`) as object);
  const keys = names.filter((key) => key !== 'default');
  return [
    `const builtin = /* @__PURE__ */ ${loadBuiltin(name)};`,
    ...keys.map((key, index) => `const v${index} = /* @__PURE__ */ (() => builtin.${key})();`),
    `export { builtin as default, ${keys.map((key, index) => `v${index} as ${key}`).join()} };`,
  ].join('\n');
}

const COMMON_PASSWORDS = 'lib/passwords/common-passwords';

/** The function that states the release and the commit. */
const BUILD_FILE = 'get-info';

/**
 * Bundles each function into its own folder. `forDebugger` keeps names and lets a debugger find the
 * sources.
 */
export async function bundle(
  folder: string,
  {
    transport,
    plugins = [],
    files = readdirSync(join(ROOT, 'functions')).map((file) => basename(file, '.ts')),
    forDebugger = false,
  }: { transport: Transport; plugins?: Plugin[]; files?: string[]; forDebugger?: boolean },
): Promise<void> {
  // On its own: esbuild chooses short names by all that it bundles, so the commit would change
  // the hashes of other functions too.
  const others = files.filter((file) => file !== BUILD_FILE);
  await bundleTogether(others, {});
  if (others.length < files.length)
    await bundleTogether([BUILD_FILE], { BUILD: JSON.stringify(buildInfo()) });
  if (files.includes('get-console')) await buildConsole(join(folder, 'get-console/console'));

  async function bundleTogether(names: string[], define: Record<string, string>): Promise<void> {
    const { outputFiles, metafile } = await build({
      write: false,
      metafile: true,
      entryPoints: names.map((file) => `functions/${file}.ts`),
      absWorkingDir: ROOT,
      // A link to node_modules elsewhere would otherwise put that path into the source maps, and so
      // into the asset hashes.
      preserveSymlinks: true,
      // The paths in source maps are relative to it: a bundle does not depend on its own folder.
      outdir: ROOT,
      plugins: [...plugins, builtins, unusedConstants, compressedDocument],
      bundle: true,
      minify: !forDebugger,
      // For the file names and lines in the log, which need no sources.
      sourcemap: 'external',
      sourcesContent: false,
      sourceRoot: forDebugger ? pathToFileURL(`${ROOT}/`).href : undefined,
      footer: { js: '//# sourceMappingURL=index.mjs.map' },
      alias: transport === 'minimal' ? MINIMAL_TRANSPORT : {},
      define,
      platform: 'node',
      target: 'node24',
      format: 'esm',
      // esbuild cannot remove unused parts of CommonJS.
      mainFields: ['module', 'main'],
      legalComments: 'none',
    });
    for (const { path, contents } of outputFiles) {
      const file = join(folder, basename(path).replace('.js', '/index.mjs'));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, contents);
    }
    for (const [output, { inputs }] of Object.entries(metafile.outputs))
      if (inputs[`${COMMON_PASSWORDS}.ts`])
        cpSync(
          join(ROOT, `${COMMON_PASSWORDS}.json`),
          join(folder, basename(output, '.js'), 'common-passwords.json'),
        );
  }
}

const LIB = join(import.meta.dirname, '../../lib/');

/**
 * Lets esbuild drop the constants of `lib` that a function does not use, such as the contracts of
 * other endpoints and their schemas: it keeps what a call or a spread makes, unless that happens in
 * a function marked as pure.
 */
const unusedConstants: Plugin = {
  name: 'unused-constants',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) =>
      path.startsWith(LIB)
        ? { contents: withPureConstants(readFileSync(path, 'utf8')), loader: 'ts' }
        : undefined,
    );
  },
};

function withPureConstants(source: string): string {
  const initializers = ts
    .createSourceFile('', source, ts.ScriptTarget.Latest)
    .statements.filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => declarationList.declarations)
    .flatMap(({ initializer }) => initializer ?? []);
  return initializers.reduceRight(
    (text, { pos, end }) =>
      `${text.slice(0, pos)} /* @__PURE__ */ (() => (${text.slice(pos, end)}))()${text.slice(end)}`,
    source,
  );
}

/** Stores the API document compressed: it would be most of its bundle. */
const compressedDocument: Plugin = {
  name: 'compressed-document',
  setup(build) {
    build.onLoad({ filter: /\/openapi\.json$/ }, ({ path }) => {
      const text = JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
      const base64 = deflateRawSync(text, { level: 9 }).toString('base64');
      return {
        contents: `import { inflateRawSync } from 'node:zlib';
          export default JSON.parse(inflateRawSync(Buffer.from('${base64}', 'base64')));`,
      };
    });
  },
};

const { version } = project;

/** The release of this source, and its commit if this folder is a clone. */
function buildInfo(): Build {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', ROOT, ...args], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    // The folder may be part of another repository, whose commits say nothing about it.
    if (git('rev-parse', '--show-toplevel') !== realpathSync(ROOT)) return { version };
    return {
      version,
      commit: git('describe', '--always', '--exclude=*', '--dirty', '--abbrev=40'),
      time: git('log', '-1', '--format=%cd', '--date=format-local:%Y-%m-%dT%H:%M:%SZ'),
    };
  } catch {
    // There is no git, or no repository.
    return { version };
  }
}
