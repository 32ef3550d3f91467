/*
 * Lambda hands an environment one request at a time, so the moment by which the current request must be answered
 * is a fact of the process, like the environment itself. Nobody has to pass it along.
 */
let deadline = Number.POSITIVE_INFINITY;

/** Starts the clock of a request that may take so many milliseconds. */
export function setDeadline(milliseconds: number): void {
  deadline = Date.now() + milliseconds;
}

/** Milliseconds until the current request must be answered; infinite outside of a request. */
export function remainingMs(): number {
  return deadline - Date.now();
}
