import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

/*
 * What nothing imports is deleted. knip would tell, too, but its parser has a package for each
 * platform, and not all of them could be locked, so that `npm ci` would refuse the lock file.
 */

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = ['lib/**/*.ts', 'infra/**/*.ts', 'test/**/*.ts', 'functions/*.ts', 'examples/*.ts'];
const FILES = globSync(['routes.ts', ...FOLDERS], { cwd: ROOT });
const SOURCES = new Map(FILES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

/** Run or loaded by their paths: handlers, scripts, workers, substitutes for modules, tests. */
const ENTRIES = new RegExp(
  [
    '^functions/',
    String.raw`^infra/(app|commands/[\w-]+/command|local/start|api-document/write)\.ts$`,
    String.raw`^infra/bundle/(sdk/(environment-credentials|unused-event-streams|unused-modules)|transport/(client-\w+|lib-dynamodb))\.ts$`,
    String.raw`^test/(long/(contention|soak)|bench/(run|floor|load|local-cloud|replay|stub-network))\.ts$`,
    String.raw`^test/(mutation/vitest.config|support/(doubles/reset-deadline|stack/synthesize-once))\.ts$`,
    String.raw`\.(test|d)\.ts$`,
  ].join('|'),
);

/** The names that a file exports by declaration. */
const exportsOf = (source: string): string[] =>
  [
    ...source.matchAll(
      /^export (?:default )?(?:async )?(?:const|function|class|interface|type) (\w+)/gm,
    ),
  ].map(([, name = '']) => name);

/**
 * `file name` for each name that is imported from a file; `file *` for an import of all of them.
 */
function importsOf(file: string, source: string): string[] {
  const from = (path: string) => relative(ROOT, resolve(ROOT, dirname(file), path));
  const named = [
    ...source.matchAll(/^(?:im|ex)port (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm),
  ].flatMap(([, names = '', path = '']) =>
    names.split(',').map(
      (name) =>
        `${from(path)} ${
          name
            .trim()
            .replace(/^type /, '')
            .split(' as ')[0]
        }`,
    ),
  );
  const all = [...source.matchAll(/^import \* as \w+ from '(\.[^']+)'/gm)].map(
    ([, path = '']) => `${from(path)} *`,
  );
  const types = [...source.matchAll(/import\('(\.[^']+)'\)\.(\w+)/g)].map(
    ([, path = '', name]) => `${from(path)} ${name}`,
  );
  const dynamic = [...source.matchAll(/await import\('(\.[^']+)'\)/g)].map(
    ([, path = '']) => `${from(path)} *`,
  );
  return [...named, ...all, ...types, ...dynamic];
}

const imported = new Set([...SOURCES].flatMap(([file, source]) => importsOf(file, source)));

it('every export is imported by another file', () => {
  const unused = [...SOURCES]
    .filter(([file]) => !ENTRIES.test(file) && !imported.has(`${file} *`))
    .flatMap(([file, source]) => exportsOf(source).map((name) => `${file} ${name}`))
    .filter((name) => !imported.has(name));

  expect(unused).toEqual([]);
});

it('every file is imported or an entry', () => {
  const used = new Set([...imported].map((name) => name.split(' ')[0]));

  expect(FILES.length).toBeGreaterThan(100);
  expect(FILES.filter((file) => !ENTRIES.test(file) && !used.has(file))).toEqual([]);
});
