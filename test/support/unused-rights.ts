import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/* What functions may do although no test needs it. Each Gatehouse of a run leaves a line; what stands in all of them was never used. */

const fileOf = (assembly: string): string => join(assembly, '../unused-rights.jsonl');

/** Leaves what the functions of one Gatehouse did not use. */
export function recordUnused(assembly: string, rights: readonly string[]): void {
  appendFileSync(fileOf(assembly), `${JSON.stringify(rights)}\n`);
}

/** The rights that no Gatehouse of this run used. */
export function neverUsed(assembly: string): string[] {
  const [first = [], ...others]: string[][] = readFileSync(fileOf(assembly), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return first.filter((right) => others.every((rights) => rights.includes(right)));
}
