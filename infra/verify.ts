import { Failure } from '../lib/contract/failure.ts';
import { VERIFIED_ATTRIBUTES } from '../lib/integrity/item-kinds.ts';
import { repairTable } from '../lib/integrity/repair-table.ts';
import { verifyTable } from '../lib/integrity/verify-table.ts';
import { NotGatehouseTable } from '../lib/table/not-gatehouse-table.ts';
import { exitOnSignal, fail, finish, print, printError, readArguments, reportProgress } from './command-line.ts';
import { explainError } from './explain-error.ts';
import { reportVerification } from './report-verification.ts';

/* `npm run verify`: checks the rules that span several items; --repair corrects items that follow from other items. */

// Exit statuses; wrong arguments end with NOT_VERIFIED, too.
const INTACT = 0;
const FINDINGS = 1;
const NOT_VERIFIED = 2;

const HELP = `Verifies that a table is intact, and prints each finding with its remedy. The service may keep running.

--table NAME  verifies a deployed table, with the AWS credentials and the region of the environment;
              without it, the local table in STATE_DIR (default .local)
--repair      corrects guards, roster, totals, counters and sequences, then verifies again

Exit status
  ${INTACT}  no findings
  ${FINDINGS}  findings
  ${NOT_VERIFIED}  the table could not be verified completely, or wrong arguments

docs/operating.md explains the findings and lists the permissions.`;

const { table: name, repair } = readArguments({
  usage: 'npm run verify -- [--table NAME] [--repair]',
  help: HELP,
  options: { table: { type: 'string' }, repair: { type: 'boolean', default: false } },
}).values;
exitOnSignal(NOT_VERIFIED);
// After the arguments: the AWS SDK takes most of the start of a command.
const { openCommandTable } = await import('./command-table.ts');
const { openTable } = await import('../lib/table/table.ts');
const { openTableScanner } = await import('../lib/table/table-scanner.ts');

const connection = await openCommandTable(name).catch((error) => fail(explainError(error, name), NOT_VERIFIED));
const status = await run().catch((error) => {
  printError(sentenceOf(error));
  return NOT_VERIFIED;
});
await connection.close();
await finish(status);

async function run(): Promise<number> {
  const scanner = openTableScanner(VERIFIED_ATTRIBUTES, connection.tableName, connection.client);
  print(`Verifying ${connection.tableName}`);
  let verification = await verifyTable(scanner, reportProgress('items read'));
  if (repair && verification.findings.some(({ remedy }) => 'writes' in remedy)) {
    reportVerification(verification);
    await repairTable(openTable(connection.tableName, connection.client), verification.findings, (description) =>
      print(`Repair: ${description}`),
    );
    print('Verifying the repaired table');
    verification = await verifyTable(scanner, reportProgress('items read'));
  }
  reportVerification(verification);
  const { findings, undecided } = verification;
  if (findings.length > 0) return FINDINGS;
  return undecided.length > 0 ? NOT_VERIFIED : INTACT;
}

function sentenceOf(error: unknown): string {
  if (error instanceof NotGatehouseTable) return `${connection.tableName} is not a Gatehouse table.`;
  if (error instanceof Failure)
    return 'The table did not respond in time. The last repair may have taken effect: verify again.';
  return explainError(error, name);
}
