import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant, Results } from './results.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Which test detected a mutant last time. */
const LAST_DETECTIONS = join(ROOT, 'node_modules/.cache/mutants.json');
/** How near two mutants are if a test of one is likely to detect the other. */
const NEAR_LINES = 8;

/** The file of a test. */
export const fileOf = (test: string): string => test.slice(0, test.indexOf(' '));

/**
 * The tests of each mutant: first the one that detected it last time, then those that reach what
 * few tests reach in the lines around it, in a short time and of many files.
 */
export function rankedTests(
  mutants: ReadonlyMap<number, Mutant>,
  { durations, testsOf, onLoad }: Results,
): Map<number, string[]> {
  const last = lastDetections();
  const inFile = Map.groupBy(mutants.values(), ({ fileName }) => fileName);
  const testsIn = ({ id }: Mutant) => testsOf.get(Number(id)) ?? [];
  const ranked = [...mutants].map(([id, mutant]): [number, string[]] => {
    const ofFile = inFile.get(mutant.fileName) ?? [];
    const own = testsIn(mutant);
    // What functions make when they are loaded is used by tests that do not reach it.
    const tests = onLoad.has(id) && own.length > 0 ? ofFile.flatMap(testsIn) : own;
    const rarity = new Map(tests.map((test) => [test, 0]));
    for (const other of ofFile) {
      const distance = 1 + Math.abs(other.location.start.line - mutant.location.start.line);
      if (distance > NEAR_LINES) continue;
      const others = testsIn(other);
      for (const test of others) {
        const value = rarity.get(test);
        if (value !== undefined) rarity.set(test, value + 1 / (distance * others.length));
      }
    }
    const counts = new Map<string, number>();
    const order = [...rarity]
      .map(([test, value]) => ({ test, rank: value / Math.sqrt((durations.get(test) ?? 0) + 60) }))
      .toSorted((one, other) => other.rank - one.rank)
      .map(({ test, rank }) => {
        const n = (counts.get(fileOf(test)) ?? 0) + 1;
        counts.set(fileOf(test), n);
        const isLast = test === last[nameOf(mutant)];
        return { test, rank: isLast ? Number.POSITIVE_INFINITY : rank / Math.sqrt(n) };
      })
      .toSorted((one, other) => other.rank - one.rank);
    return [id, order.map(({ test }) => test)];
  });
  return new Map(ranked);
}

/** Stores which tests have detected mutants, for the next run. */
export function remember(
  mutants: ReadonlyMap<number, Mutant>,
  detected: ReadonlyMap<number, string>,
): void {
  const entries = [...detected].map(([id, test]) => [nameOf(mutants.get(id) as Mutant), test]);
  const all = { ...lastDetections(), ...Object.fromEntries(entries) };
  writeFileSync(LAST_DETECTIONS, JSON.stringify(all));
}

const lastDetections = (): Record<string, string> =>
  existsSync(LAST_DETECTIONS) ? JSON.parse(readFileSync(LAST_DETECTIONS, 'utf8')) : {};

/** Names a mutant as long as its line is the same, wherever it is in the file. */
function nameOf({ fileName, location, mutatorName, replacement }: Mutant): string {
  const { line, column } = location.start;
  return [fileName, linesOf(fileName)[line], column, mutatorName, replacement].join(' ');
}

const lines = new Map<string, string[]>();
function linesOf(file: string): string[] {
  const known = lines.get(file) ?? readFileSync(join(ROOT, file), 'utf8').split('\n');
  lines.set(file, known);
  return known;
}
