import { afterAll, describe, expect, it } from 'vitest';
import { mutants } from '../mutants/mutants.ts';
import { openSandbox } from '../mutants/sandbox.ts';
import { sampleOf, seed } from '../support/model/seed.ts';

/* A sample of the mutants. `node test/mutants/run.ts` tries all of them. */
const SIZE = 12;

const sandbox = openSandbox();
afterAll(() => sandbox.remove());

describe(`the tests (SEED=${seed})`, () => {
  it.each(sampleOf(mutants, SIZE, seed))(
    'kill the mutant of $file: $to',
    { timeout: 200_000 },
    async (mutant) => {
      const { outcome, detail } = await sandbox.try(mutant);

      expect(outcome, detail).toBe('killed');
    },
  );
});
