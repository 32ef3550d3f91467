import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { exitOnSignal, print, printError } from './command-line.ts';
import { explainError } from './explain-error.ts';
import type { LocalTables, StackTable, TableConnection } from './tables.ts';

type Values<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: O }>
>['values'];

/** What a command works with. */
interface Invocation<V> {
  readonly values: V;
  readonly positionals: readonly string[];
  /** Opens the table of --table; without it, that of the local state folder. */
  openTable(): Promise<TableConnection>;
  /** Opens the table of --table; without it, that of the running local service. */
  openStackTable(): Promise<StackTable>;
  /** Explains an error to the operator, in one sentence. */
  explain(error: unknown): string;
}

/** An exit status and when the command ends with it. */
type Status = readonly [status: number, meaning: string];

interface Definition<O extends ParseArgsOptionsConfig, R extends keyof O, S extends string> {
  /** The command with its arguments, on one line or several. */
  readonly usage: string;
  /** What the command does, its options and its environment variables. */
  readonly help: string;
  readonly options: O;
  readonly required?: readonly R[];
  /** The names of the required positional arguments, in their order. */
  readonly positionals?: readonly string[];
  /** By names for `run`. Errors and signals end the command with `failed`. */
  readonly statuses: Readonly<Record<S, Status> & Record<'failed', Status>>;
  /** The end of the help. */
  readonly seeAlso?: string;
  /**
   * Checks the values of the arguments, then does the work. Imports the AWS SDK and what else loads
   * slowly after the checks. Returns the name of the exit status.
   */
  run(invocation: Invocation<Values<O> & { readonly [option in R]: string }>): Promise<S>;
}

interface Command {
  readonly failed: number;
  /** Prints results and errors. Returns the exit status. */
  execute(args: readonly string[], loadLocalTables?: LoadLocalTables): Promise<number>;
}

type LoadLocalTables = () => Promise<LocalTables>;

/** Rejects the arguments of a command with one sentence, which is printed with the usage. */
export class WrongArguments extends Error {}

const WRONG_ARGUMENTS = [2, 'wrong arguments'] as const;

/** Defines a command. Its help lists the statuses. */
export function defineCommand<
  const O extends ParseArgsOptionsConfig,
  S extends string,
  R extends keyof O & string = never,
>(definition: Definition<O, R, S>): Command {
  const { usage, statuses, run } = definition;
  const [failed] = statuses.failed;
  return {
    failed,
    async execute(args, loadLocalTables = () => Promise.reject(new Error('No local tables.'))) {
      if (args.some((argument) => argument === '--help' || argument === '-h')) {
        print(helpOf(definition));
        return 0;
      }
      let tables: ReturnType<typeof tablesOf> | undefined;
      try {
        const { values, positionals } = readArguments(definition, args);
        tables = tablesOf(values.table as string | undefined, loadLocalTables);
        const status = await run({ values: values as never, positionals, ...tables });
        return statuses[status][0];
      } catch (error) {
        if (error instanceof WrongArguments) {
          printError(`${error.message}\nUsage: ${usage}`);
          return WRONG_ARGUMENTS[0];
        }
        printError(tables ? tables.explain(error) : explainError(error, undefined));
        return failed;
      } finally {
        await tables?.close();
      }
    },
  };
}

/**
 * Runs a command as this process. The process ends after its output: on a pipe, output can still be
 * on its way.
 */
export async function runCommand(
  { failed, execute }: Command,
  args: readonly string[],
  loadLocalTables?: LoadLocalTables,
): Promise<never> {
  exitOnSignal(failed);
  const status = await execute(args, loadLocalTables);
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit(status);
}

function helpOf({
  usage,
  help,
  statuses,
  seeAlso,
}: Pick<
  Definition<ParseArgsOptionsConfig, never, string>,
  'usage' | 'help' | 'statuses' | 'seeAlso'
>): string {
  // In ascending order, because the keys are integers.
  const byStatus = Object.groupBy(
    [...Object.values(statuses), WRONG_ARGUMENTS],
    ([status]) => status,
  );
  const lines = Object.entries(byStatus).map(([status, ends = []]) => {
    const meanings = ends.map(([, meaning]) => meaning).join(', or ');
    return `  ${status}  ${meanings.replaceAll('\n', '\n     ')}`;
  });
  const paragraphs = [`Usage: ${usage}`, help, ['Exit status', ...lines].join('\n'), seeAlso];
  return paragraphs.filter(Boolean).join('\n\n');
}

function readArguments(
  {
    options,
    required = [],
    positionals: names = [],
  }: Pick<
    Definition<ParseArgsOptionsConfig, string, string>,
    'options' | 'required' | 'positionals'
  >,
  args: readonly string[],
) {
  const { values, positionals } = parse();
  const reject = (sentence: string): never => {
    throw new WrongArguments(sentence);
  };
  const missing = names.find((_, index) => !positionals[index]);
  if (missing) reject(`${missing} is missing.`);
  if (positionals.length > names.length)
    reject(`Unexpected argument: ${positionals[names.length]}.`);
  for (const [name, value] of Object.entries(values))
    if (value === '') reject(`--${name} requires a value.`);
  for (const name of required) if (values[name] === undefined) reject(`--${name} is missing.`);
  return { values, positionals };

  function parse() {
    try {
      return parseArgs({ args: [...args], options, allowPositionals: true });
    } catch (error) {
      throw new WrongArguments(mistakeIn(error as Error));
    }
  }
}

/** Names the mistake alone: Node also explains how to pass arguments that start with a hyphen. */
function mistakeIn({ message }: Error): string {
  const [, option] = /^Option '(--[\w-]+).*argument (?:missing|is ambiguous)/.exec(message) ?? [];
  if (option) return `${option} requires a value.`;
  const [sentence] = message.split(/(?<=\.)\s|\. /);
  return sentence?.endsWith('.') ? sentence : `${sentence}.`;
}

/** Opens the table of a command, which is closed when the command ends. */
function tablesOf(name: string | undefined, loadLocalTables: LoadLocalTables) {
  let local: LocalTables | undefined;
  let connection: TableConnection | undefined;
  return {
    async openTable() {
      if (name === undefined) {
        local = await loadLocalTables();
        connection = await local.open();
      } else {
        const { openTable } = await import('./tables.ts');
        connection = openTable(name);
      }
      return connection;
    },
    async openStackTable() {
      const { openStackTable } = await import('./tables.ts');
      let location = { tableName: name ?? '' };
      if (name === undefined) {
        local = await loadLocalTables();
        location = local.ofRunningService();
      }
      const table = await openStackTable(location);
      connection = table;
      return table;
    },
    explain: (error: unknown) =>
      local?.explain(error) ?? explainError(error, name ?? connection?.tableName),
    close: async () => connection?.close(),
  };
}
