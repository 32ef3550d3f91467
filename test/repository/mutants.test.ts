import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stackMutants } from '../support/stack/mutants.ts';

const ROOT = join(import.meta.dirname, '../..');

it('every mutant of a stack matches the source exactly once and changes it', () => {
  const stale = Object.values(stackMutants)
    .flat()
    .filter(({ file, from, to }) => {
      const parts = readFileSync(join(ROOT, file), 'utf8').split(from);
      return parts.length !== 2 || from === to;
    });

  expect(stale.map(({ file, from }) => `${file}: ${from}`)).toEqual([]);
});
