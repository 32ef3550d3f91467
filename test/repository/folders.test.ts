import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** For each file below this folder, the files below it that it imports, types included. */
function importsBelow(folder: string): Imports {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file));
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const targets = [...text.matchAll(/^(?:import|export|\}) .*from '(\.[^']+)';$/gm)]
        .map(([, target = '']) => join(dirname(file), target))
        .filter((target) => files.includes(target));
      return [file, new Set(targets)];
    }),
  );
}

/** The same for groups of files, without imports within a group. */
function importsByGroup(files: Imports, groupOf: (file: string) => string): Imports {
  const groups = new Map<string, Set<string>>();
  for (const [file, targets] of files) {
    const group = groupOf(file);
    const others = groups.get(group) ?? new Set();
    groups.set(group, others);
    for (const other of [...targets].map(groupOf)) if (other !== group) others.add(other);
  }
  return groups;
}

/** Whether a chain of imports leads from here back to itself. */
function isInCycle(start: string, imports: Imports): boolean {
  const seen = new Set<string>();
  const visit = (from: string): boolean =>
    [...(imports.get(from) ?? [])].some((next) => {
      if (next === start) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return visit(next);
    });
  return visit(start);
}

const cyclesIn = (imports: Imports) => [...imports.keys()].filter((it) => isInCycle(it, imports));

it.each(['lib', 'infra', 'console'])('files in %s import each other without cycles', (below) => {
  const files = importsBelow(below);

  expect(files.size).toBeGreaterThan(20);
  expect(cyclesIn(files)).toEqual([]);
});

it.each(['lib', 'infra'])('folders in %s import each other without cycles', (below) => {
  expect(cyclesIn(importsByGroup(importsBelow(below), dirname))).toEqual([]);
});

// It cannot be used outside its tests, but what they share may import it.
it.each(['bench', 'emulator', 'mutation'])('test/%s runs without vitest', (folder) => {
  const files = importsBelow('test');
  const reached = [`test/${folder}/run.ts`];
  for (const file of reached)
    reached.push(...[...(files.get(file) ?? [])].filter((target) => !reached.includes(target)));

  const usesVitest = (file: string) =>
    readFileSync(join(ROOT, file), 'utf8').includes("from 'vitest'");
  expect(reached.length).toBeGreaterThan(1);
  expect(reached.filter(usesVitest)).toEqual([]);
});

const RAISE = 'Raise a limit only for a folder that is needed';

it('lib has at most 18 folders on 7 levels, of which 92 pairs import each other', () => {
  const folders = importsByGroup(importsBelow('lib'), (file) => String(file.split('/')[1]));
  const levelOf = (folder: string): number =>
    1 + Math.max(0, ...[...(folders.get(folder) ?? [])].map(levelOf));

  expect(folders.size, RAISE).toBeLessThanOrEqual(18);
  expect(Math.max(...[...folders.keys()].map(levelOf)), RAISE).toBeLessThanOrEqual(7);
  expect([...folders.values()].flatMap((others) => [...others]).length, RAISE).toBeLessThanOrEqual(
    92,
  );
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
