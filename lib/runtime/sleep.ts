import { randomInt } from 'node:crypto';

/** Waits for a random time up to `maxMs`, so that competitors do not try again at once. */
export function sleepJittered(maxMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, randomInt(maxMs)));
}
