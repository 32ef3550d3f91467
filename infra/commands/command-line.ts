import { counted } from '../../lib/runtime/counted.ts';

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Prints progress or an error to standard error, separate from the results of a command. */
export const printError = (line: string): void => void process.stderr.write(`${line}\n`);

/** Ends the process on Ctrl-C, after the exit handlers that stop processes started here. */
export function exitOnSignal(status: number): void {
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(status));
}

const PROGRESS_ITEMS = 10_000;
const PROGRESS_MS = 2000;

/** Returns a function that prints progress such as `20000 users`, but not at every call. */
export function reportProgress(noun: string, what = ''): (done: number) => void {
  let [reported, reportedAt] = [0, Date.now()];
  return (done) => {
    if (done - reported < PROGRESS_ITEMS && Date.now() - reportedAt < PROGRESS_MS) return;
    printError(`${counted(done, noun)}${what}`);
    [reported, reportedAt] = [done, Date.now()];
  };
}
