import { randomInt } from 'node:crypto';

/** Of all that is random in a run: SEED, or a new one. What fails names it. */
export const seed = Number(process.env.SEED ?? randomInt(2 ** 31));
