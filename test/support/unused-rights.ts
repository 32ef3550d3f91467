import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * Finds rights that no test uses. Each instance of a run appends the rights it did not use; those that every instance
 * lists were never used.
 */

const fileOf = (assembly: string): string => join(assembly, '../unused-rights.jsonl');

/** Appends the rights that the functions of one instance did not use. */
export function recordUnused(assembly: string, rights: readonly string[]): void {
  appendFileSync(fileOf(assembly), `${JSON.stringify(rights)}\n`);
}

/** The rights that no instance of this run used. */
export function neverUsed(assembly: string): string[] {
  const [first = [], ...others]: string[][] = readFileSync(fileOf(assembly), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return first.filter((right) => others.every((rights) => rights.includes(right)));
}
