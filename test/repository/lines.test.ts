import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = 'lib,functions,infra,console,test,examples,docs';

/** Files at the root and in its folders, without those that are generated or installed. */
const filesOf = (...patterns: string[]): string[] =>
  globSync(
    patterns.flatMap((pattern) => [pattern, `{${FOLDERS}}/**/${pattern}`]),
    {
      cwd: ROOT,
      exclude: ['examples/client/**', 'console/api/generated/**', '**/node_modules/**'],
    },
  );
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const SOURCES = filesOf('*.ts', '*.tsx', '*.mjs').map((file) => ({ file, text: textOf(file) }));

const DOCUMENTS = filesOf('*.md')
  .filter((file) => !file.startsWith('test/'))
  .map((file) => ({ file, text: textOf(file) }));

/** A line that is one literal, a row of a table in Markdown, or one import. */
const UNBREAKABLE =
  /^(?:\w+: )?(?:'[^']*'|"[^"]*"|`[^`]*`|\/.*\/\w*)[,;]?$|^\|.*\|$|^(?:import|\}) .*from '\S+';$/;

it('no line has more than 100 columns unless it cannot be divided', () => {
  const tooLong = SOURCES.flatMap(({ file, text }) =>
    text
      .split('\n')
      .map((line, index) => ({ line, place: `${file}:${index + 1}` }))
      .filter(({ line }) => line.length > 100 && !UNBREAKABLE.test(line.trim())),
  );

  expect(SOURCES.length).toBeGreaterThan(300);
  expect(tooLong.map(({ place }) => place)).toEqual([]);
});

it('no object literal is spread', () => {
  expect(
    SOURCES.filter(({ text }) => /\.{3}\{ *[\w'"]/.test(text)).map(({ file }) => file),
  ).toEqual([]);
});

it('no file contains a private key', () => {
  const files = filesOf('*').filter((file) => statSync(join(ROOT, file)).isFile());

  expect(files).toContain('README.md');
  expect(files.filter((file) => /BEGIN [A-Z ]*PRIVATE KEY/.test(textOf(file)))).toEqual([]);
});

it('no text says "that of" for what it can name: English repeats the noun', () => {
  const phrase = /\b(?:that|those)[\s*/]+of\b/i;
  const texts = [...SOURCES, ...DOCUMENTS].filter(({ file }) => !file.endsWith('/lines.test.ts'));

  expect(texts.filter(({ text }) => phrase.test(text)).map(({ file }) => file)).toEqual([]);
});
