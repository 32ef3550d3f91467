import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import type { Plugin } from 'esbuild';
import ts from 'typescript';

const LIB = join(import.meta.dirname, '../../lib/');

/**
 * Lets esbuild drop the constants of `lib` that a function does not use, such as the contracts of
 * other endpoints and their schemas: it keeps what a call or a spread makes, unless that happens in
 * a function marked as pure.
 */
export const unusedConstants: Plugin = {
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
export const compressedDocument: Plugin = {
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
