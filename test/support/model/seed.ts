import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/** The seed of all randomness in a run: SEED, or a random one, which failures report. */
export const seed = Number(process.env.SEED ?? randomInt(2 ** 31));

/** Draws a random sample of this size, or of all elements if there are fewer. */
export function sampleOf<T>(all: readonly T[], size: number, sampleSeed: number): T[] {
  const minLength = Math.min(size, all.length);
  const [sample = []] = fc.sample(
    fc.shuffledSubarray([...all], { minLength, maxLength: minLength }),
    {
      seed: sampleSeed,
      numRuns: 1,
    },
  );
  return sample;
}
