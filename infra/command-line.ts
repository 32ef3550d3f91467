import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** A command as its help describes it. */
export interface Command<O extends ParseArgsOptionsConfig> {
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

/** Prints progress or an error, apart from the results of a command. */
export const printError = (line: string): void => void process.stderr.write(`${line}\n`);

/** Prints a sentence to standard error and exits. Exiting runs the handlers that stop processes started here. */
export function fail(sentence: string, status: number): never {
  printError(sentence);
  process.exit(status);
}

/** Rejects the arguments of a command with one sentence and its usage. */
export const rejectArguments = (sentence: string, { usage }: { usage: string }): never =>
  fail(`${sentence}\nUsage: ${usage}`, WRONG_ARGUMENTS);

/** Reads the arguments of this process. `--help` prints the help; wrong arguments end the process with the usage. */
export function readArguments<const O extends ParseArgsOptionsConfig>(command: Command<O>) {
  const { usage, help, options, positionals: names = [] } = command;
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    print(`Usage: ${usage}\n\n${help}`);
    process.exit(0);
  }
  const { values, positionals } = parsed();
  const missing = names[positionals.length];
  if (missing) rejectArguments(`${missing} is missing.`, command);
  if (positionals.length > names.length) rejectArguments(`Unexpected argument: ${positionals[names.length]}.`, command);
  for (const [name, value] of Object.entries(values)) {
    if (value === '') rejectArguments(`--${name} requires a value.`, command);
  }
  return { values, positionals };

  function parsed() {
    try {
      return parseArgs({ options, allowPositionals: true });
    } catch (error) {
      // The first sentence names the mistake; the others explain how to pass arguments that start with a hyphen.
      const [sentence] = (error as Error).message.split(/(?<=\.)\s|\. /);
      return rejectArguments(sentence?.endsWith('.') ? sentence : `${sentence}.`, command);
    }
  }
}
