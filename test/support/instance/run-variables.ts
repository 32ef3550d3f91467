import { randomInt } from 'node:crypto';
import { printError } from '../../../infra/commands/command-line.ts';
import { RELEASE_COMMIT, releasedAssembly } from '../release/release.ts';

/* What the environment changes of a run of the tests. */

/** Runs what takes minutes: most interleavings, faults of every route, long lists. */
export const LONG = process.env.LONG === '1';

/** The seed of all randomness in a run: SEED, or a random one, which failures report. */
export const seed = Number(process.env.SEED ?? randomInt(2 ** 31));

/**
 * The assembly of the release whose functions serve half of the requests of tests: `npm run
 * test:mixed` sets it to the last one. Tests of what that release lacks do not run then, until
 * another commit is named; nor do those that count the calls of single function instances.
 */
export const RELEASE = process.env.RELEASE ? releasedAssembly('dev') : undefined;
if (RELEASE) printError(`Half of the requests go to ${RELEASE_COMMIT}; SEED=${seed} decides which`);

/** Numbers from 0 to 1 in an order that the seed determines: mulberry32. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
