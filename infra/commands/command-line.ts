import { counted } from '../../lib/runtime/counted.ts';

/** Prints a result of a command. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Prints progress or an error to standard error, separate from the results of a command. */
export const printError = (line: string): void => void process.stderr.write(`${line}\n`);

/**
 * Prints a sentence to standard error and exits. Exiting runs the handlers that stop processes
 * started here.
 */
export function fail(sentence: string, status: number): never {
  printError(sentence);
  process.exit(status);
}

/**
 * Ends the process with this status on Ctrl-C. Exiting runs the handlers that stop processes
 * started here.
 */
export function exitOnSignal(status: number): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => process.exit(status));
}

/** How often progress is reported: after a number of items, and after a time. */
const PROGRESS_ITEMS = 10_000;
const PROGRESS_MS = 2000;

/**
 * Prints how many items are done so far, such as `20000 users`, every 10,000 items and every two
 * seconds.
 */
export function reportProgress(noun: string, what = ''): (done: number) => void {
  let reported = 0;
  let reportedAt = Date.now();
  return (done) => {
    if (done - reported < PROGRESS_ITEMS && Date.now() - reportedAt < PROGRESS_MS) return;
    printError(`${counted(done, noun)}${what}`);
    reported = done;
    reportedAt = Date.now();
  };
}
