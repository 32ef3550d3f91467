import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Plugin, transform } from 'esbuild';
import type { Shape } from '../../console/languages/shape.ts';

/**
 * Builds each language of the console into the list of its texts. Their names, which all languages
 * share, are part of the script that every page loads.
 */
export const dictionaries: Plugin = {
  name: 'dictionaries',
  setup({ onLoad }) {
    onLoad({ filter: /\/console\/languages\/shape\.ts$/ }, async ({ path }) => {
      const [, texts] = await exportOf(join(path, '../en.ts'));
      return { contents: `export const SHAPE = ${JSON.stringify(shapeOf(texts))};` };
    });
    onLoad({ filter: /\/console\/languages\/[a-z]{2}\.ts$/ }, async ({ path }) => {
      const [name, texts] = await exportOf(path);
      return { contents: `export const ${name} = ${JSON.stringify(textsOf(texts))};` };
    });
  },
};

/** The only export of a file, which is read again each time. */
async function exportOf(path: string): Promise<[name: string, texts: object]> {
  const { code } = await transform(await readFile(path, 'utf8'), { loader: 'ts' });
  const exported = Object.entries(await import(`data:text/javascript,${encodeURIComponent(code)}`));
  if (exported.length !== 1) throw new Error(`${basename(path)} must export its texts only`);
  return exported[0] as [string, object];
}

const textsOf = (texts: object): string[] =>
  Object.values(texts).flatMap((text) => (typeof text === 'string' ? [text] : textsOf(text)));

const shapeOf = (texts: object): Shape =>
  Object.entries(texts).map(([name, text]) =>
    typeof text === 'string' ? name : ([name, shapeOf(text)] as const),
  );
