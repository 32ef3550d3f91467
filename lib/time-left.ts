/*
 * Lambda hands an environment one request at a time, so the moment by which the current request must be answered
 * is a fact of the process, like the environment itself. Nobody has to pass it along.
 */
let answerBy = Number.POSITIVE_INFINITY;

/** Starts the clock of a request that may take so many milliseconds. */
export function startClock(milliseconds: number): void {
  answerBy = Date.now() + milliseconds;
}

/** Milliseconds until the current request must be answered; infinite outside of a request. */
export function timeLeft(): number {
  return answerBy - Date.now();
}
