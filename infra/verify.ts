import { parseArgs } from 'node:util';
import { Failure } from '../lib/contract/failure.ts';
import { VERIFIED_ATTRIBUTES } from '../lib/integrity/item-kinds.ts';
import { repairTable } from '../lib/integrity/repair-table.ts';
import { NotGatehouseTable } from '../lib/integrity/survey.ts';
import { type Verification, verifyTable } from '../lib/integrity/verify-table.ts';
import { openTable } from '../lib/table/table.ts';
import { openTableScanner, patientClient } from '../lib/table/table-scanner.ts';
import { type LocalTable, openLocalTable } from './local/aws/local-table.ts';

/* `npm run verify`: whether every rule that spans items of a table holds; with --repair, mends what follows from others. */

const USAGE = 'npm run verify -- [--table NAME] [--repair]';
const PROGRESS_EVERY = 10_000;

/** How it ends. */
const INTACT = 0;
const FINDINGS = 1;
const NOT_VERIFIED = 2;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const note = (line: string): void => void process.stderr.write(`${line}\n`);

function fail(message: string): never {
  note(message);
  process.exit(NOT_VERIFIED);
}

// Its exit takes an engine along that was started for it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(NOT_VERIFIED));

const { table: name, repair } = readArguments();
const place: LocalTable = await open().catch((error) => fail(messageOf(error)));
const status = await run().catch((error) => {
  note(messageOf(error));
  return NOT_VERIFIED;
});
await place.close();
process.exit(status);

async function run(): Promise<number> {
  const whole = openTableScanner(VERIFIED_ATTRIBUTES, place.tableName, place.client);
  say(`Verifying ${place.tableName}`);
  let verification = await verifyTable(whole, progress());
  if (repair && verification.findings.some(({ remedy }) => 'writes' in remedy)) {
    report(verification);
    await repairTable(openTable(place.tableName, place.client), verification.findings, (does) =>
      say(`Repairing: ${does}`),
    );
    say('Verifying what was repaired');
    verification = await verifyTable(whole, progress());
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
    note(`${items} items read`);
    next = items - (items % PROGRESS_EVERY) + PROGRESS_EVERY;
  };
}

function report({ items, users, integrations, parameters, findings, undecided }: Verification): void {
  for (const { kind, says, remedy } of findings) {
    say(`${kind}: ${says}`);
    say('writes' in remedy ? `  --repair ${remedy.does}` : `  cannot be repaired: ${remedy.advice}`);
  }
  for (const sentence of undecided) say(`Undecided: ${sentence}. Verify again at a quieter time.`);
  say(
    `${items} items, ${users} users, ${integrations} integrations, ${parameters} parameters: ` +
      (findings.length === 1 ? '1 finding' : `${findings.length || 'no'} findings`),
  );
}

async function open(): Promise<LocalTable> {
  if (name === undefined) return openLocalTable(process.env.STATE_DIR ?? '.local');
  const client = patientClient();
  return { tableName: name, client, close: async () => client.destroy() };
}

function readArguments(): { table: string | undefined; repair: boolean } {
  const options = { table: { type: 'string' }, repair: { type: 'boolean', default: false } } as const;
  try {
    const { table, repair } = parseArgs({ options }).values;
    if (table === '') fail(`--table wants a name\n${USAGE}`);
    return { table, repair };
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  }
}

/** What went wrong, in one sentence. */
function messageOf(error: unknown): string {
  if (error instanceof NotGatehouseTable) return `${name} is no table of Gatehouse.`;
  if (error instanceof Failure)
    return 'The table did not answer in time. Perhaps the last repair is made: verify again.';
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (error.name === 'ResourceNotFoundException')
    return `There is no table ${name ?? 'of that name'} in this account and region.`;
  if (error.name === 'CredentialsProviderError') return `There are no AWS credentials: ${error.message}`;
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET')
    return 'The table cannot be reached: perhaps the service was stopped meanwhile.';
  // Our own say all there is to say.
  if (error.name === 'Error' && code === undefined) return error.message;
  return `The table could not be verified: ${error.message || error.name}`;
}
