import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import type { Tally } from '../../../lib/transfer/import-records.ts';
import type { RecordError } from '../../../lib/transfer/record.ts';
import {
  exitOnSignal,
  fail,
  finish,
  print,
  readArguments,
  rejectArguments,
  reportProgress,
  WRONG_ARGUMENTS,
} from '../command-line.ts';
import { explainError } from '../explain-error.ts';

/*
 * `npm run import`: imports users and integrations from a JSON Lines file. docs/migrating.md has
 * the procedure.
 */

// Exit statuses.
const IMPORTED = 0;
const REJECTIONS = 1;
const NOT_COMPLETED = 3;

const COMMAND = {
  usage: 'npm run import -- [--table NAME] [--apply] [--again] FILE',
  help: `Imports users and integrations with their parameters from a JSON Lines file.
docs/import.schema.json describes a line; docs/migrating.md explains how to export other systems.
Records that the table already contains are skipped, and so are those whose users and integrations have been changed
or removed since an earlier import: the command can be repeated.

FILE          the file to import; /dev/stdin is allowed
--table NAME  the table of a deployed stack; without it, the table of the local service that
              runs on STATE_DIR (default .local)
--apply       write to the table; without it, the command only reports what it would do
--again       import records again whose users and integrations have been removed since

Exit status
  ${IMPORTED}  every record is imported, would be, or was skipped
  ${REJECTIONS}  some records were rejected; each is printed with its line, its fields and their codes
  ${WRONG_ARGUMENTS}  wrong arguments
  ${NOT_COMPLETED}  not completed: run the command again`,
  options: {
    table: { type: 'string' },
    apply: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  },
  positionals: ['FILE'],
} as const;

// An interrupted import leaves whole records only: each is one transaction.
exitOnSignal(NOT_COMPLETED);

const { values, positionals } = readArguments(COMMAND);
const { apply, again } = values;
const [file = ''] = positionals;
requireReadable(file);
// After the arguments: the AWS SDK takes most of the start of a command.
const { openStackTable } = await import('../stack-table.ts');
const { importRecords } = await import('../../../lib/transfer/import-records.ts');
const { linesOf } = await import('../../../lib/transfer/lines.ts');

const tally = await run().catch((error) => fail(explainError(error, values.table), NOT_COMPLETED));
const { imported, present, changed, removed, rejected } = tally;
print(
  `${imported} ${apply ? 'imported' : 'would be imported'}, ${present} already there, ${changed} changed since, ` +
    `${removed} removed since, ${rejected} rejected${apply ? '' : '. Nothing was written: add --apply to import'}`,
);
await finish(rejected > 0 ? REJECTIONS : IMPORTED);

async function run(): Promise<Tally> {
  const target = await openStackTable(values.table);
  print(`${apply ? 'Importing into' : 'Checking an import into'} ${target.name}`);
  return importRecords(target, linesOf(createReadStream(file)), {
    apply,
    again,
    onRejected,
    onSkipped: (line, outcome, entity) =>
      print(`Line ${line}: ${outcome} since its import as ${entity}`),
    onProgress: reportProgress('record'),
  });
}

function onRejected(line: number, errors: readonly RecordError[]): void {
  const reasons = errors.map(({ field, code }) =>
    field === undefined ? code : `${field} ${code}`,
  );
  print(`Line ${line}: ${reasons.join(', ')}`);
}

function requireReadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch {
    rejectArguments(`${path} cannot be read.`, COMMAND);
  }
  if (statSync(path).isDirectory()) rejectArguments(`${path} is a folder.`, COMMAND);
}
