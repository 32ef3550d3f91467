import { Failure } from '../lib/contract/failure.ts';
import { adoptTable, SKIPPED_IDS } from '../lib/restore/adopt-table.ts';
import { openTable } from '../lib/table/table.ts';
import { NotGatehouseTable, openTableScanner } from '../lib/table/table-scanner.ts';
import {
  exitOnSignal,
  fail,
  finish,
  print,
  readArguments,
  rejectArguments,
  reportProgress,
  WRONG_ARGUMENTS,
} from './command-line.ts';
import { openCommandTable } from './command-table.ts';
import { explainError } from './explain-error.ts';

/* `npm run adopt`: prepares a table restored from a backup for service. docs/operating.md has the procedure. */

// Exit status.
const NOT_ADOPTED = 1;

const COMMAND = {
  usage: 'npm run adopt -- [--table NAME] [--skip IDS]',
  help: `Prepares a table that was restored from a backup for service: skips the ids that were assigned since the backup,
and invalidates all tokens, reset keys and invitations. It can be repeated.

--table NAME  adopts a deployed table, with the AWS credentials and the region of the environment;
              without it, the local table in STATE_DIR (default .local)
--skip IDS    how many ids of users and of integrations are skipped (default ${SKIPPED_IDS})

Exit status
  0  the table is adopted
  ${NOT_ADOPTED}  the table is not adopted, or not completely: run the command again
  ${WRONG_ARGUMENTS}  wrong arguments

docs/operating.md has the procedure and lists the permissions.`,
  options: { table: { type: 'string' }, skip: { type: 'string', default: String(SKIPPED_IDS) } },
} as const;

const { table: name, skip } = readArguments(COMMAND).values;
if (!/^[1-9]\d{0,8}$/.test(skip)) rejectArguments('--skip must be a whole number from 1 to 999999999.', COMMAND);
exitOnSignal(NOT_ADOPTED);
const connection = await openCommandTable(name).catch((error) => fail(explainError(error, name), NOT_ADOPTED));
try {
  print(`Adopting ${connection.tableName}`);
  const { sequences, resetKeys, notBefore } = await adoptTable(
    openTable(connection.tableName, connection.client),
    openTableScanner([], connection.tableName, connection.client),
    Number(skip),
    reportProgress(),
  );
  for (const { kind, before, after } of sequences) print(`The next ${kind} id is ${after + 1}; it was ${before + 1}`);
  print(`Tokens issued before ${notBefore.toISOString()} are rejected: all users must log in again`);
  print(
    `Deleted ${resetKeys} reset ${resetKeys === 1 ? 'key' : 'keys'}: users who still need one must request another`,
  );
  print(`Done. Verify the table next: npm run verify${name === undefined ? '' : ` -- --table ${name}`}`);
} catch (error) {
  await connection.close();
  fail(sentenceOf(error), NOT_ADOPTED);
}
await connection.close();
await finish(0);

function sentenceOf(error: unknown): string {
  if (error instanceof NotGatehouseTable)
    return `${connection.tableName} is not a Gatehouse table: it has no administrator roster. Nothing was changed.`;
  const reason = error instanceof Failure ? 'The table did not respond in time.' : explainError(error, name);
  return `The adoption is incomplete. ${reason} Run the command again.`;
}
