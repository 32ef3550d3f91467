import { randomInt } from 'node:crypto';

/** The seed of all randomness in a run: SEED, or a random one, which failures report. */
export const seed = Number(process.env.SEED ?? randomInt(2 ** 31));
