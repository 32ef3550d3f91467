import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import { print, reportProgress } from '../command-line.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';

/** `npm run import`: imports users and integrations from a JSON Lines file. */
export const command = defineCommand({
  usage: 'npm run import -- [--table NAME] [--apply] [--again] FILE',
  help: `Imports users and integrations with their parameters from a JSON Lines file.
docs/import.schema.json describes a line; docs/migrating.md explains how to export other systems.
Records that the table already contains are skipped, and so are those whose users and integrations
have been changed or removed since an earlier import: the command can be repeated.

FILE          the file to import; /dev/stdin is allowed
--table NAME  the table of a deployed stack; without it, the table of the local service that
              runs on STATE_DIR (default .local)
--apply       write to the table; without it, the command only reports what it would do
--again       import records again whose users and integrations have been removed since`,
  options: {
    table: { type: 'string' },
    apply: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  },
  positionals: ['FILE'],
  statuses: {
    imported: [0, 'every record is imported, would be, or was skipped'],
    rejections: [
      1,
      'some records were rejected; each is printed with its line, its fields and their codes',
    ],
    // An interrupted import leaves whole records only: each is one transaction.
    failed: [3, 'not completed: run the command again'],
  },
  async run({ values: { apply, again }, positionals: [file = ''], openStackTable }) {
    requireReadable(file);
    const { importRecords } = await import('../../../lib/transfer/import-records.ts');
    const { linesOf } = await import('../../../lib/transfer/lines.ts');
    const target = await openStackTable();
    print(`${apply ? 'Importing into' : 'Checking an import into'} ${target.tableName}`);
    const { imported, present, changed, removed, rejected } = await importRecords(
      target,
      linesOf(createReadStream(file)),
      {
        apply,
        again,
        onRejected: (line, errors) => {
          const reasons = errors.map(({ field, code }) => (field ? `${field} ${code}` : code));
          print(`Line ${line}: ${reasons.join(', ')}`);
        },
        onSkipped: (line, outcome, entity) =>
          print(`Line ${line}: ${outcome} since its import as ${entity}`),
        onProgress: reportProgress('record'),
      },
    );
    print(
      `${imported} ${apply ? 'imported' : 'would be imported'}, ${present} already there, ` +
        `${changed} changed since, ${removed} removed since, ${rejected} rejected` +
        `${apply ? '' : '. Nothing was written: add --apply to import'}`,
    );
    return rejected > 0 ? 'rejections' : 'imported';
  },
});

function requireReadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch {
    throw new WrongArguments(`${path} cannot be read.`);
  }
  if (statSync(path).isDirectory()) throw new WrongArguments(`${path} is a folder.`);
}
