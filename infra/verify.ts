import { parseArgs } from 'node:util';
import { Failure } from '../lib/contract/failure.ts';
import { VERIFIED_ATTRIBUTES } from '../lib/integrity/item-kinds.ts';
import { repairTable } from '../lib/integrity/repair-table.ts';
import { type Verification, verifyTable } from '../lib/integrity/verify-table.ts';
import { openTable } from '../lib/table/table.ts';
import { NotGatehouseTable, openTableScanner, scannerClient } from '../lib/table/table-scanner.ts';
import { openLocalTable, type TableConnection } from './local/aws/local-table.ts';

/* `npm run verify`: checks the rules that span several items; --repair corrects items that follow from other items. */

const USAGE = 'npm run verify -- [--table NAME] [--repair]';
const PROGRESS_EVERY = 10_000;

// Exit statuses.
const INTACT = 0;
const FINDINGS = 1;
const NOT_VERIFIED = 2;

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const printError = (line: string): void => void process.stderr.write(`${line}\n`);

function fail(message: string): never {
  printError(message);
  process.exit(NOT_VERIFIED);
}

// Exiting runs the handlers that stop an engine started by this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(NOT_VERIFIED));

const { table: name, repair } = readArguments();
const connection: TableConnection = await open().catch((error) => fail(messageOf(error)));
const status = await run().catch((error) => {
  printError(messageOf(error));
  return NOT_VERIFIED;
});
await connection.close();
process.exit(status);

async function run(): Promise<number> {
  const scanner = openTableScanner(VERIFIED_ATTRIBUTES, connection.tableName, connection.client);
  print(`Verifying ${connection.tableName}`);
  let verification = await verifyTable(scanner, progress());
  if (repair && verification.findings.some(({ remedy }) => 'writes' in remedy)) {
    report(verification);
    await repairTable(openTable(connection.tableName, connection.client), verification.findings, (description) =>
      print(`Repair: ${description}`),
    );
    print('Verifying the repaired table');
    verification = await verifyTable(scanner, progress());
  }
  report(verification);
  const { findings, undecided } = verification;
  if (findings.length > 0) return FINDINGS;
  return undecided.length > 0 ? NOT_VERIFIED : INTACT;
}

function progress(): (items: number) => void {
  let next = PROGRESS_EVERY;
  return (items) => {
    if (items < next) return;
    printError(`${items} items read`);
    next = items - (items % PROGRESS_EVERY) + PROGRESS_EVERY;
  };
}

function report({ items, users, integrations, parameters, findings, undecided }: Verification): void {
  for (const { kind, message, remedy } of findings) {
    print(`${kind}: ${message}`);
    print('writes' in remedy ? `  --repair ${remedy.description}` : `  cannot be repaired: ${remedy.advice}`);
  }
  for (const sentence of undecided) print(`Undecided: ${sentence}. Verify again at a quieter time.`);
  print(
    `${items} items (users: ${users}, integrations: ${integrations}, parameters: ${parameters}): ` +
      (findings.length === 1 ? '1 finding' : `${findings.length || 'no'} findings`),
  );
}

async function open(): Promise<TableConnection> {
  if (name === undefined) return openLocalTable(process.env.STATE_DIR ?? '.local');
  const client = scannerClient();
  return { tableName: name, client, close: async () => client.destroy() };
}

function readArguments(): { table: string | undefined; repair: boolean } {
  const options = { table: { type: 'string' }, repair: { type: 'boolean', default: false } } as const;
  try {
    const { table, repair } = parseArgs({ options }).values;
    if (table === '') fail(`--table requires a name\n${USAGE}`);
    return { table, repair };
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}

function messageOf(error: unknown): string {
  if (error instanceof NotGatehouseTable) return `${connection.tableName} is not a Gatehouse table.`;
  if (error instanceof Failure)
    return 'The table did not respond in time. The last repair may have taken effect: verify again.';
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (error.name === 'ResourceNotFoundException')
    return `There is no table ${name ?? 'of that name'} in this account and region.`;
  if (error.name === 'CredentialsProviderError') return `There are no AWS credentials: ${error.message}`;
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET')
    return 'The table cannot be reached: the service may have been stopped.';
  // Errors thrown by this project are complete sentences; those of the SDK have their own names or codes.
  if (error.name === 'Error' && code === undefined) return error.message;
  return `The table could not be verified: ${error.message || error.name}`;
}
