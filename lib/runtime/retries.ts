import { randomInt } from 'node:crypto';

/*
 * A Lambda environment processes one request at a time, so the retries of the current request are
 * module state and need not be passed as an argument.
 */
let retries = 0;

/** Counts a retry of a change that conflicted with another one. */
export function countRetry(): void {
  retries++;
}

/** The number of retries of the current request. */
export const retryCount = (): number => retries;

/** Starts the count of the next request. */
export function resetRetries(): void {
  retries = 0;
}

/** Waits for a random time up to `maxMs`, so that competitors do not try again at once. */
export function sleepJittered(maxMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, randomInt(maxMs)));
}
