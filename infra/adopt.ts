import { parseArgs } from 'node:util';
import { adoptTable, SKIPPED_IDS } from '../lib/restore/adopt-table.ts';
import { openTable } from '../lib/table/table.ts';
import { NotGatehouseTable, openTableScanner, scannerClient } from '../lib/table/table-scanner.ts';
import { openLocalTable, type TableConnection } from './local/aws/local-table.ts';

/* `npm run adopt`: prepares a table restored from a backup for service. docs/operating.md has the procedure. */

const USAGE = 'npm run adopt -- [--table NAME] [--skip IDS]';

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

// Exiting runs the handlers that stop an engine started by this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(2));

const { table: name, skip } = readArguments();
const connection = await open().catch((error) => fail(error instanceof Error ? error.message : String(error)));
try {
  print(`Adopting ${connection.tableName}`);
  const table = openTable(connection.tableName, connection.client);
  const { sequences, resetKeys, notBefore } = await adoptTable(
    table,
    openTableScanner([], connection.tableName, connection.client),
    skip,
  );
  for (const { kind, before, after } of sequences) print(`The next ${kind} id is ${after + 1}; it was ${before + 1}`);
  print(`Tokens issued before ${notBefore.toISOString()} are rejected: all users must log in again`);
  print(
    `Deleted ${resetKeys} reset ${resetKeys === 1 ? 'key' : 'keys'}: users who still need one must request another`,
  );
  print(`Done. Verify the table next: npm run verify${name === undefined ? '' : ` -- --table ${name}`}`);
} catch (error) {
  await connection.close();
  if (error instanceof NotGatehouseTable)
    fail(`${connection.tableName} is not a Gatehouse table: it has no administrator roster. Nothing was changed.`);
  fail(`The adoption is incomplete: ${error instanceof Error ? error.message : error}. Run the command again.`);
}
await connection.close();
process.exit(0);

async function open(): Promise<TableConnection> {
  if (name === undefined) return openLocalTable(process.env.STATE_DIR ?? '.local');
  const client = scannerClient();
  return { tableName: name, client, close: async () => client.destroy() };
}

function readArguments(): { table: string | undefined; skip: number } {
  try {
    const { values } = parseArgs({ options: { table: { type: 'string' }, skip: { type: 'string' } } });
    const skip = values.skip ?? String(SKIPPED_IDS);
    if (!/^[1-9]\d{0,8}$/.test(skip)) fail(`--skip must be a whole number from 1 to 999999999.\n${USAGE}`);
    return { table: values.table, skip: Number(skip) };
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}
