import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/* Each instance of a run appends what it did not use; what every line has was never used. */

const fileOf = (assembly: string): string => join(assembly, '../unused-permissions.jsonl');

/** Appends the permissions that the functions of one instance did not use. */
export function recordUnused(assembly: string, permissions: readonly string[]): void {
  appendFileSync(fileOf(assembly), `${JSON.stringify(permissions)}\n`);
}

/** The permissions that no instance of this run used. */
export function neverUsed(assembly: string): string[] {
  const [first = [], ...others]: string[][] = readFileSync(fileOf(assembly), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return first.filter((permission) =>
    others.every((permissions) => permissions.includes(permission)),
  );
}
