import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/** Of all that is random in a run: SEED, or a new one. What fails names it. */
export const seed = Number(process.env.SEED ?? randomInt(2 ** 31));

/** So many of these, or all if there are fewer, by a seed. */
export function sampleOf<T>(all: readonly T[], size: number, by: number): T[] {
  const minLength = Math.min(size, all.length);
  const [sample = []] = fc.sample(fc.shuffledSubarray([...all], { minLength, maxLength: minLength }), {
    seed: by,
    numRuns: 1,
  });
  return sample;
}
