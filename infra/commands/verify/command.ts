import { exitOnSignal, fail, finish, readArguments, WRONG_ARGUMENTS } from '../command-line.ts';
import { explainError } from '../explain-error.ts';

/*
 * `npm run verify`: checks the rules that span several items; --repair corrects items that follow
 * from other items.
 */

// Exit statuses.
const INTACT = 0;
const FINDINGS = 1;
const NOT_VERIFIED = WRONG_ARGUMENTS;

const HELP = `Verifies that a table is intact, and prints each finding with its remedy. The service may keep running.

--table NAME  verifies a deployed table, with the AWS credentials and the region of the environment;
              without it, the local table in STATE_DIR (default .local)
--repair      corrects guards, roster, totals, counters and sequences, then verifies again

Exit status
  ${INTACT}  no findings
  ${FINDINGS}  findings
  ${NOT_VERIFIED}  the table could not be verified completely, or wrong arguments

docs/verification.md explains the findings, docs/commands.md lists the permissions.`;

const { table: name, repair } = readArguments({
  usage: 'npm run verify -- [--table NAME] [--repair]',
  help: HELP,
  options: { table: { type: 'string' }, repair: { type: 'boolean', default: false } },
}).values;
exitOnSignal(NOT_VERIFIED);
// After the arguments: the AWS SDK takes most of the start of a command.
const { openCommandTable } = await import('../command-table.ts');
const { verifyAndRepair } = await import('./verify-and-repair.ts');

const connection = await openCommandTable(name).catch((error) =>
  fail(explainError(error, name), NOT_VERIFIED),
);
const outcome = await verifyAndRepair(connection, { name, repair });
await connection.close();
await finish({ intact: INTACT, findings: FINDINGS, 'not-verified': NOT_VERIFIED }[outcome]);
