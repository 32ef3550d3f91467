import { randomInt } from 'node:crypto';

/** Waits up to this long, so that competitors do not try again at the same moment; milliseconds. */
export function sleepJittered(maxMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, randomInt(maxMs)));
}
