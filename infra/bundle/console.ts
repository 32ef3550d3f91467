import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { build } from 'esbuild';
import { SUFFIXES } from '../../lib/operations/status/console-files.ts';

const ROOT = join(import.meta.dirname, '../..');
const ENTRIES = { '%SCRIPT%': 'console/main.tsx', '%STYLE%': 'console/style.css' } as const;
const ICON = readFileSync(join(ROOT, 'console/icon.svg'));
const ICON_NAME = `assets/icon-${createHash('sha256').update(ICON).digest('hex').slice(0, 8)}.svg`;

/** The hash of the content is part of the name. */
const NAMES = 'assets/[name]-[hash]';

/**
 * Builds the console into a folder, which is emptied first: the page, and its scripts and style
 * sheet under names with a hash of their content, each also compressed as well as possible. The
 * script of the page loads the others when they are needed. If it fails, the folder is unchanged.
 */
export async function buildConsole(outdir: string): Promise<void> {
  const { outputFiles, metafile } = await build({
    write: false,
    metafile: true,
    entryPoints: Object.values(ENTRIES),
    entryNames: NAMES,
    chunkNames: NAMES,
    absWorkingDir: ROOT,
    preserveSymlinks: true,
    outdir: ROOT,
    bundle: true,
    splitting: true,
    minify: true,
    charset: 'utf8',
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
  });
  const assets = outputFiles.map(({ path, contents }) => ({
    name: relative(ROOT, path),
    contents,
  }));
  const outputs = Object.entries(metafile.outputs);
  const page = Object.entries(ENTRIES).reduce(
    (text, [placeholder, entry]) => {
      const [name, { imports }] = outputs.find(
        ([, { entryPoint }]) => entryPoint === entry,
      ) as (typeof outputs)[number];
      const shared = imports.find(({ kind }) => kind === 'import-statement');
      return text
        .replaceAll(placeholder, `/console/${name}`)
        .replaceAll('%SHARED%', `/console/${shared?.path}`);
    },
    readFileSync(join(ROOT, 'console/index.html'), 'utf8').replace(
      '%ICON%',
      `/console/${ICON_NAME}`,
    ),
  );

  rmSync(outdir, { recursive: true, force: true });
  for (const { name, contents } of [
    ...assets,
    { name: ICON_NAME, contents: ICON },
    { name: 'index.html', contents: Buffer.from(page) },
  ]) {
    const file = join(outdir, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
    writeFileSync(file + SUFFIXES.br, brotli(contents));
    writeFileSync(file + SUFFIXES.gzip, gzip(contents));
  }
}

const brotli = (contents: Uint8Array): Buffer =>
  brotliCompressSync(contents, {
    params: {
      [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY,
      [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
      [zlib.BROTLI_PARAM_SIZE_HINT]: contents.length,
    },
  });

/** The same bytes on every platform: the header states an unknown one (RFC 1952, 2.3.1). */
function gzip(contents: Uint8Array): Buffer {
  const compressed = gzipSync(contents, { level: zlib.Z_BEST_COMPRESSION });
  compressed[9] = 255;
  return compressed;
}
