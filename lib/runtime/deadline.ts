/** The time that calls to AWS leave for the response of the current request. */
export const CALL_RESERVE_MS = 500;

/*
 * A Lambda environment processes one request at a time, so the deadline of the current request is
 * module state and need not be passed as an argument.
 */
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
