import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { mutants } from '../mutants/mutants.ts';
import { openSandbox } from '../mutants/sandbox.ts';
import { sampleOf, seed } from '../support/seed.ts';

/* A sample of the mutants. `node test/mutants/run.ts` tries all of them. */
const SIZE = 12;

const sandbox = openSandbox();
afterAll(() => sandbox.remove());

describe(`the tests (SEED=${seed})`, () => {
  it.each(sampleOf(mutants, SIZE, seed))('kill the mutant of $file: $to', { timeout: 200_000 }, async (mutant) => {
    const { outcome, detail } = await sandbox.try(mutant);

    expect(outcome, detail).toBe('killed');
  });
});

// Only among the long tests: these tests read the source, so they would fail for any mutant.
describe('every mutant', () => {
  const root = join(import.meta.dirname, '../..');
  const files = new Set(mutants.map(({ file }) => file));
  const sources = new Map([...files].map((file) => [file, readFileSync(join(root, file), 'utf8')]));

  it('matches the source exactly once and changes it', () => {
    const lost = mutants.filter(({ file, from, to }) => sources.get(file)?.split(from).length !== 2 || from === to);

    expect(lost.map(({ file, from }) => `${file}: ${from}`)).toEqual([]);
  });

  it('names existing test files', () => {
    const named = new Set(mutants.flatMap(({ killedBy }) => [...killedBy, ...(killedBy.length === 0 ? ['none'] : [])]));

    expect([...named].filter((test) => !existsSync(join(root, test)))).toEqual([]);
  });

  it('is listed only once', () => {
    const names = mutants.map(({ file, from, to }) => JSON.stringify([file, from, to]));

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
