/*
 * A Lambda environment processes one request at a time, so the deadline of the current request is module state and need
 * not be passed as an argument.
 */
let deadline = Number.POSITIVE_INFINITY;

/** Sets the deadline of the current request, in milliseconds from now. */
export function setDeadline(durationMs: number): void {
  deadline = Date.now() + durationMs;
}

/** Milliseconds until the deadline of the current request; negative after it, infinite outside of a request. */
export function remainingMs(): number {
  return deadline - Date.now();
}
