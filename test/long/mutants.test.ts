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
