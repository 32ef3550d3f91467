import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { exitOnSignal, print, printError } from './command-line.ts';
import { explainError } from './explain-error.ts';
import { type LocalTables, openStackTable, openTable, type TableConnection } from './tables.ts';

export type ValuesOf<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: O }>
>['values'];

type Status = readonly [status: number, meaning: string];

interface Definition<O extends ParseArgsOptionsConfig, R extends keyof O, S extends string> {
  readonly usage: string;
  readonly help: string;
  readonly options: O;
  readonly required?: readonly R[];
  readonly positionals?: readonly string[];
  /** By names for `run`. Errors and signals end the command with `failed`. */
  readonly statuses: Readonly<Record<S | 'failed', Status>>;
  readonly seeAlso?: string;
  /** Returns the name of the exit status. */
  run(
    invocation: ReturnType<typeof tablesOf> & {
      readonly values: ValuesOf<O> & { readonly [option in R]: string };
      readonly positionals: readonly string[];
    },
  ): Promise<S>;
}

type Arguments = Omit<Definition<ParseArgsOptionsConfig, string, string>, 'run'>;

type LoadLocalTables = () => Promise<{ readonly localTables: LocalTables }>;

/** Rejects the arguments of a command with one sentence, which is printed with the usage. */
export class WrongArguments extends Error {}

const WRONG_ARGUMENTS: Status = [2, 'wrong arguments'];

const DEPLOYED_TABLE_HELP = `\
--table NAME  a deployed table, with the AWS credentials and the region of the environment, which
              need the permissions in docs/commands.md; without it,`;

/** The help of an option `table` that need not be given, for `openTable`. */
export const TABLE_HELP = `${DEPLOYED_TABLE_HELP} the local table of STATE_DIR
              (default .local)`;

/** The help of an option `table` that need not be given, for `openStackTable`. */
export const STACK_TABLE_HELP = `${DEPLOYED_TABLE_HELP} the table of the service that
              runs on STATE_DIR (default .local)`;

export function defineCommand<
  const O extends ParseArgsOptionsConfig,
  S extends string,
  R extends keyof O & string = never,
>(definition: Definition<O, R, S>) {
  const { usage, statuses, run } = definition;
  const [failed] = statuses.failed;
  return {
    failed,
    async execute(args: readonly string[], loadLocalTables?: LoadLocalTables): Promise<number> {
      if (args.includes('--help') || args.includes('-h')) {
        print(helpOf(definition));
        return 0;
      }
      let tables: ReturnType<typeof tablesOf> | undefined;
      try {
        const { values, positionals } = readArguments(definition, args);
        tables = tablesOf(values.table as string | undefined, loadLocalTables);
        return statuses[await run({ values: values as never, positionals, ...tables })][0];
      } catch (error) {
        const mistake = mistakeIn(error as Error);
        const explain = tables?.explain ?? explainError;
        printError(mistake ? `${mistake}\nUsage: ${usage}` : explain(error));
        return mistake ? WRONG_ARGUMENTS[0] : failed;
      } finally {
        await tables?.close();
      }
    },
  };
}

/** The process ends after its output: on a pipe, output can still be on its way. */
export async function runCommand(
  { failed, execute }: ReturnType<typeof defineCommand>,
  args: readonly string[],
  loadLocalTables?: LoadLocalTables,
): Promise<never> {
  exitOnSignal(failed);
  const status = await execute(args, loadLocalTables);
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.exit(status);
}

function helpOf({ usage, help, statuses, seeAlso }: Arguments): string {
  const lines = [...Object.values(statuses), WRONG_ARGUMENTS]
    .map(([status, meaning]) => `  ${status}  ${meaning}`)
    .sort();
  const paragraphs = [`Usage: ${usage}`, help, ['Exit status', ...lines].join('\n'), seeAlso];
  return paragraphs.filter(Boolean).join('\n\n');
}

function readArguments(
  { options, required = [], positionals: names = [] }: Arguments,
  args: readonly string[],
) {
  const read = parseArgs({ args: [...args], options, allowPositionals: true });
  const reject = (sentence: string): never => {
    throw new WrongArguments(sentence);
  };
  for (const [index, name] of names.entries())
    if (!read.positionals[index]) reject(`${name} is missing.`);
  const excess = read.positionals[names.length];
  if (excess !== undefined) reject(`Unexpected argument: ${excess}.`);
  for (const name of [...required, ...Object.keys(read.values)]) {
    if (read.values[name] === undefined) reject(`--${name} is missing.`);
    if (read.values[name] === '') reject(`--${name} requires a value.`);
  }
  return read;
}

function mistakeIn(error: NodeJS.ErrnoException): string | undefined {
  if (error instanceof WrongArguments) return error.message;
  if (!error.code?.startsWith('ERR_PARSE_ARGS')) return undefined;
  // Node also explains how to pass arguments that start with a hyphen.
  return `${error.message.split(/\.\s|\.?$/)[0]}.`;
}

function tablesOf(
  name: string | undefined,
  loadLocalTables: LoadLocalTables = () => Promise.reject(new Error('No local tables.')),
) {
  let connection: TableConnection | undefined;
  const local = async () => (await loadLocalTables()).localTables;
  return {
    /** Opens the table of --table; without it, the table of the local state folder. */
    async openTable(): Promise<TableConnection> {
      connection = await (name ? openTable({ tableName: name }) : (await local()).open());
      return connection;
    },
    /** Opens the table of --table; without it, the table of the running local service. */
    async openStackTable() {
      const location = name ? { tableName: name } : (await local()).ofRunningService();
      const table = await openStackTable(location);
      connection = table;
      return table;
    },
    explain: (error: unknown): string => explainError(error, name ?? connection?.tableName),
    close: async () => connection?.close(),
  };
}
