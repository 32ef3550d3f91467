import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** For each folder below this one, the other folders that its files import from, types included. */
function importsByFolder(below: string): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  for (const file of readdirSync(join(ROOT, below), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const path = join(ROOT, below, file);
    const folder = relative(ROOT, dirname(path));
    const others = imports.get(folder) ?? new Set();
    imports.set(folder, others);
    for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(
      /^(?:import|\}) .*from '(\.[^']+)';$/gm,
    )) {
      const other = relative(ROOT, dirname(resolve(dirname(path), target)));
      if (other !== folder) others.add(other);
    }
  }
  return imports;
}

/** Whether a chain of imports leads from this folder back to itself. */
function cycleOf(start: string, imports: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const seen = new Set<string>();
  const visit = (folder: string): boolean =>
    [...(imports.get(folder) ?? [])].some((next) => {
      if (next === start) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return visit(next);
    });
  return visit(start);
}

it.each(['lib', 'infra'])('folders in %s import each other without cycles', (below) => {
  const imports = importsByFolder(below);

  expect([...imports.values()].flatMap((others) => [...others]).length).toBeGreaterThan(5);
  expect([...imports.keys()].filter((folder) => cycleOf(folder, imports))).toEqual([]);
});

it.each([
  ['lib', []],
  ['infra', ['app.ts']],
  ['test/support', []],
])('the root of %s holds folders, and %j', (folder, files) => {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });

  expect(entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)).toEqual(files);
});

it('no file has the name of a folder beside it', () => {
  const entries = ['lib', 'infra', 'test', 'functions'].flatMap((below) =>
    readdirSync(join(ROOT, below), { recursive: true, withFileTypes: true }),
  );
  const folders = new Set(
    entries
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

  expect(files.filter((file) => folders.has(file.replace(/\.\w+$/, '')))).toEqual([]);
});
