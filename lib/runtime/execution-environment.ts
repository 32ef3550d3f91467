/*
 * The execution environment of a function: its variables, its cold start, the current request, and
 * what it remembers between requests. It processes one request at a time, so the deadline and the
 * retries of the current request are module state and need not be passed as arguments.
 */

/** Reads an environment variable that the stack sets. Throws if it is missing or empty. */
export function requireEnv(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} is not set`);
  return value;
}

/** The time that calls to AWS leave for the response of the current request. */
export const CALL_RESERVE_MS = 500;

let deadline = Number.POSITIVE_INFINITY;
/**
 * Shared by the calls of the current request, because they all end at the same time and a signal
 * is expensive to make.
 */
let signal: AbortSignal | undefined;

/** Sets the deadline of the current request, in milliseconds from now. */
export function setDeadline(durationMs: number): void {
  deadline = Date.now() + durationMs;
  signal = undefined;
}

/**
 * The deadline of the current request, in milliseconds since 1970; infinite outside of a request.
 */
export const currentDeadline = (): number => deadline;

/**
 * How often a throttled call is tried: a request gives up soon, because it occupies an execution
 * while it waits.
 */
export const throttledTriesMax = (): number =>
  deadline === Number.POSITIVE_INFINITY ? Number.POSITIVE_INFINITY : 2;

/** What calls may use of that time to undo the work of a request that has none left. */
const UNDO_MS = 300;

/** Lets the following calls undo work even if the deadline of the request leaves them no time. */
export function allowTimeToUndo(): void {
  setDeadline(Math.max(deadline - Date.now(), CALL_RESERVE_MS + UNDO_MS));
}

/**
 * The SDK option that aborts a request CALL_RESERVE_MS before the deadline, or after `maxMs` if
 * that is earlier.
 */
export function abortBeforeDeadline(maxMs = Number.POSITIVE_INFINITY): {
  abortSignal?: AbortSignal;
} {
  const leftMs = deadline - CALL_RESERVE_MS - Date.now();
  if (maxMs < leftMs) return { abortSignal: signalAfter(maxMs) };
  if (leftMs === Number.POSITIVE_INFINITY) return {};
  signal ??= signalAfter(leftMs);
  return { abortSignal: signal };
}

const signalAfter = (timeoutMs: number): AbortSignal =>
  timeoutMs > 0 ? AbortSignal.timeout(Math.floor(timeoutMs)) : AbortSignal.abort();

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

/** Values by key that are forgotten after a while. */
export interface RecentValues<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

/** Remembers each value for `lifeMs`, and no more than `countMax` of them: the latest. */
export function recentValues<V>(countMax: number, lifeMs: number): RecentValues<V> {
  const values = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(key) {
      const found = values.get(key);
      return found && Date.now() < found.until ? found.value : undefined;
    },
    set(key, value) {
      // A map keeps the order of insertion.
      values.delete(key);
      if (values.size >= countMax) values.delete(values.keys().next().value as string);
      values.set(key, { value, until: Date.now() + lifeMs });
    },
  };
}
