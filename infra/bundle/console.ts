import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '../..');
const PLACEHOLDERS = { '%SCRIPT%': '.js', '%STYLE%': '.css' } as const;

/**
 * Builds the console into a folder, which is emptied first: the page, and its script and style
 * sheet under names with a hash of their content, each also compressed as well as possible. If it
 * fails, the folder is unchanged.
 */
export async function buildConsole(outdir: string): Promise<void> {
  const { outputFiles } = await build({
    write: false,
    entryPoints: ['console/main.tsx', 'console/style.css'],
    absWorkingDir: ROOT,
    preserveSymlinks: true,
    outdir: ROOT,
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
  });
  const assets = outputFiles.map(({ path, contents }) => {
    const extension = extname(path);
    const hash = createHash('sha256').update(contents).digest('hex').slice(0, 16);
    return { name: `assets/${basename(path, extension)}-${hash}${extension}`, contents };
  });
  const page = Object.entries(PLACEHOLDERS).reduce(
    (text, [placeholder, extension]) => {
      const asset = assets.find(({ name }) => name.endsWith(extension));
      return text.replaceAll(placeholder, `/console/${asset?.name}`);
    },
    readFileSync(join(ROOT, 'console/index.html'), 'utf8'),
  );

  rmSync(outdir, { recursive: true, force: true });
  for (const { name, contents } of [
    ...assets,
    { name: 'index.html', contents: Buffer.from(page) },
  ]) {
    const file = join(outdir, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
    writeFileSync(`${file}.br`, brotli(contents));
    writeFileSync(`${file}.gz`, gzip(contents));
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
