import { CALL_RESERVE_MS, setDeadline } from './deadline.ts';

const COLD_START_MS_MAX = 2000;

/**
 * Aborts the calls of a cold start early: the first request repeats them and needs the remaining
 * time.
 */
export const limitColdStart = (): void => setDeadline(COLD_START_MS_MAX + CALL_RESERVE_MS);

const started: Promise<unknown>[] = [];

/**
 * Starts work in the cold start, so that no request waits for it. Errors are ignored: the first use
 * tries again.
 */
export function startInColdStart(work: () => Promise<unknown>): void {
  limitColdStart();
  awaitInColdStart(work().catch(() => undefined));
}

/** Requests wait for this work before they end. It must not fail. */
export function awaitInColdStart(work: Promise<unknown>): void {
  started.push(work);
}

/**
 * Waits for work started in the cold start, because Lambda freezes the environment after the
 * response. Never fails.
 */
export async function finishColdStart(): Promise<void> {
  await Promise.all(started);
}
