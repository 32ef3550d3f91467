import { parseArgs } from 'node:util';
import { adoptTable, NotGatehouseTable, SKIPPED_IDS } from '../lib/restore/adopt-table.ts';
import { openTable } from '../lib/table/table.ts';
import { openTableScanner, patientClient } from '../lib/table/table-scanner.ts';
import { type LocalTable, openLocalTable } from './local/aws/local-table.ts';

/* `npm run adopt`: makes a table that was restored from a backup safe to put into service. docs/operating.md has the procedure. */

const USAGE = 'npm run adopt -- [--table NAME] [--skip IDS]';

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

// The exit also ends an engine that was started for this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(2));

const { table: name, skip } = readArguments();
const place = await open().catch((error) => fail(error instanceof Error ? error.message : String(error)));
try {
  say(`Adopting ${place.tableName}`);
  const table = openTable(place.tableName, place.client);
  const { sequences, resetKeys, notBefore } = await adoptTable(
    table,
    openTableScanner([], place.tableName, place.client),
    skip,
  );
  for (const { kind, before, after } of sequences) say(`The next ${kind} id is ${after + 1}; it was ${before + 1}`);
  say(`Tokens issued before ${notBefore.toISOString()} are rejected: everybody signs in again`);
  say(`Deleted ${resetKeys} reset ${resetKeys === 1 ? 'key' : 'keys'}: whoever needs one asks again`);
  say('Done. Verify the table next: npm run verify');
} catch (error) {
  await place.close();
  if (error instanceof NotGatehouseTable) fail(`${place.tableName} names no administrators: nothing was changed.`);
  fail(`The table is not adopted; run the command again. ${error instanceof Error ? error.message : error}`);
}
await place.close();
process.exit(0);

async function open(): Promise<LocalTable> {
  if (name === undefined) return openLocalTable(process.env.STATE_DIR ?? '.local');
  const client = patientClient();
  return { tableName: name, client, close: async () => client.destroy() };
}

function readArguments(): { table: string | undefined; skip: number } {
  try {
    const { values } = parseArgs({ options: { table: { type: 'string' }, skip: { type: 'string' } } });
    const skip = values.skip ?? String(SKIPPED_IDS);
    if (!/^[1-9]\d{0,8}$/.test(skip)) fail(`--skip takes a whole number from 1 to 999999999.\n${USAGE}`);
    return { table: values.table, skip: Number(skip) };
  } catch (error) {
    fail(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}
