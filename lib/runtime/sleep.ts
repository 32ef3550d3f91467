import { randomInt } from 'node:crypto';

/** Waits this long; milliseconds. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits up to this long, so that competitors do not try again at the same moment; milliseconds. */
export function sleepJittered(maxMs: number): Promise<void> {
  return sleep(randomInt(maxMs));
}
