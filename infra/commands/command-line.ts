import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { counted } from '../../lib/runtime/counted.ts';

/** A command as its help describes it. */
interface Command<O extends ParseArgsOptionsConfig> {
  /** The command with its arguments, on one line or several. */
  readonly usage: string;
  /** What the command does, its options, environment variables and exit statuses. */
  readonly help: string;
  readonly options: O;
  /** The names of the required positional arguments, in their order. */
  readonly positionals?: readonly string[];
}

/** The exit status of a command with wrong arguments; it has done nothing. */
export const WRONG_ARGUMENTS = 2;

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

/** Rejects the arguments of a command with one sentence and its usage. */
export const rejectArguments = (sentence: string, { usage }: { usage: string }): never =>
  fail(`${sentence}\nUsage: ${usage}`, WRONG_ARGUMENTS);

/**
 * Reads the arguments of this process. `--help` prints the help; wrong arguments end the process
 * with the usage.
 */
export function readArguments<const O extends ParseArgsOptionsConfig>(command: Command<O>) {
  const { usage, help, options, positionals: names = [] } = command;
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    print(`Usage: ${usage}\n\n${help}`);
    process.exit(0);
  }
  const { values, positionals } = parsed();
  const missing = names.find((_, index) => !positionals[index]);
  if (missing) rejectArguments(`${missing} is missing.`, command);
  if (positionals.length > names.length)
    rejectArguments(`Unexpected argument: ${positionals[names.length]}.`, command);
  for (const [name, value] of Object.entries(values)) {
    if (value === '') rejectArguments(`--${name} requires a value.`, command);
  }
  return { values, positionals };

  function parsed() {
    try {
      return parseArgs({ options, allowPositionals: true });
    } catch (error) {
      return rejectArguments(sentenceOf(error as Error), command);
    }
  }
}

/** Names the mistake alone: Node also explains how to pass arguments that start with a hyphen. */
function sentenceOf({ message }: Error): string {
  const [, option] = /^Option '(--[\w-]+).*argument (?:missing|is ambiguous)/.exec(message) ?? [];
  if (option) return `${option} requires a value.`;
  const [sentence] = message.split(/(?<=\.)\s|\. /);
  return sentence?.endsWith('.') ? sentence : `${sentence}.`;
}

/**
 * Ends the process with this status on Ctrl-C, after a sentence if there is one. Exiting runs the
 * handlers that stop processes started here.
 */
export function exitOnSignal(status: number, sentence?: string): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () =>
      sentence === undefined ? process.exit(status) : fail(sentence, status),
    );
  }
}

/**
 * Ends the process with this status after its output: on a pipe, output can still be on its way.
 */
export async function finish(status: number): Promise<never> {
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit(status);
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
