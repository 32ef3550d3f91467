import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { mutants } from '../mutants/mutants.ts';
import { openNursery } from '../mutants/try-mutant.ts';
import { sampleOf, seed } from '../support/seed.ts';

/* A sample of the mutants that are planted; `node test/mutants/run.ts` tries all of them. */
const SIZE = 12;

const nursery = openNursery();
afterAll(() => nursery.remove());

describe(`of the mutants (SEED=${seed})`, () => {
  it.each(sampleOf(mutants, SIZE, seed))('$file: $to is killed', { timeout: 200_000 }, async (mutant) => {
    const { outcome, by } = await nursery.try(mutant);

    expect(outcome, by).toBe('killed');
  });
});

// Not with every test: the test that reads the source would notice any mutant, and for no good reason.
describe('every mutant', () => {
  const root = join(import.meta.dirname, '../..');
  const files = new Set(mutants.map(({ file }) => file));
  const sources = new Map([...files].map((file) => [file, readFileSync(join(root, file), 'utf8')]));

  it('has its place in the source, once, and changes something', () => {
    const lost = mutants.filter(({ file, from, to }) => sources.get(file)?.split(from).length !== 2 || from === to);

    expect(lost.map(({ file, from }) => `${file}: ${from}`)).toEqual([]);
  });

  it('names tests that there are', () => {
    const named = new Set(mutants.flatMap(({ killedBy }) => [...killedBy, ...(killedBy.length === 0 ? ['none'] : [])]));

    expect([...named].filter((test) => !existsSync(join(root, test)))).toEqual([]);
  });

  it('is listed once', () => {
    const names = mutants.map(({ file, from, to }) => JSON.stringify([file, from, to]));

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
