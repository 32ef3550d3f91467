import { accessSync, constants, lstatSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { counted } from '../../../lib/runtime/counted.ts';
import {
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
 * `npm run export`: writes users and integrations to a JSON Lines file that `npm run import` reads.
 */

// Exit statuses.
const EXPORTED = 0;
const NOT_COMPLETED = 3;

const COMMAND = {
  usage: 'npm run export -- [--table NAME] FILE',
  help: `Exports all users with their password hashes, and all integrations with their parameters,
whose values are decrypted, to a JSON Lines file that only its owner can read.
docs/import.schema.json describes a line.

FILE          the file to create; it must not exist
--table NAME  the table of a deployed stack; without it, the table of the local service that
              runs on STATE_DIR (default .local)

Exit status
  ${EXPORTED}  exported
  ${WRONG_ARGUMENTS}  wrong arguments
  ${NOT_COMPLETED}  not completed: FILE was not created`,
  options: { table: { type: 'string' } },
  positionals: ['FILE'],
} as const;

const OWNER_ONLY = 0o600;

const { values, positionals } = readArguments(COMMAND);
const [file = ''] = positionals;
/** Gets its name when it is complete, so that an interrupted export is not mistaken for one. */
const partial = `${file}.partial`;
requireNewFile();
// After the arguments: the AWS SDK takes most of the start of a command.
const { openStackTable } = await import('../stack-table.ts');
const { exportRecords } = await import('../../../lib/transfer/export-records.ts');

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(
    signal,
    () => void rm(partial, { force: true }).finally(() => process.exit(NOT_COMPLETED)),
  );
}

const counts = await run().catch((error) => fail(explainError(error, values.table), NOT_COMPLETED));
print(
  `${counted(counts.user, 'user')} and ${counted(counts.integration, 'integration')} exported. ` +
    'The file contains secrets: protect it',
);
await finish(EXPORTED);

function requireNewFile(): void {
  if (isTaken(file)) rejectArguments(`${file} already exists.`, COMMAND);
  try {
    accessSync(`${dirname(file)}/.`, constants.W_OK);
  } catch {
    rejectArguments(
      `${file} cannot be created: its folder does not exist or cannot be written to.`,
      COMMAND,
    );
  }
  if (!isTaken(partial)) return;
  fail(
    `${partial} is what an interrupted export has left, unless another one is running. It contains secrets: delete it.`,
    NOT_COMPLETED,
  );
}

/** Whether there is something at this path, which can be a link to a file that does not exist. */
function isTaken(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

async function run() {
  const { name, table, valuesKey, kms } = await openStackTable(values.table);
  const handle = await open(partial, 'wx', OWNER_ONLY);
  const counts = { user: 0, integration: 0 };
  try {
    print(`Exporting ${name}`);
    // A stream writes many lines at once, and closes the file.
    await pipeline(lines, handle.createWriteStream({ flush: true }));
    // Unlike a rename, this never replaces a file.
    await link(partial, file);
    return counts;
  } finally {
    await rm(partial, { force: true });
  }

  async function* lines() {
    const onProgress = reportProgress('record');
    for await (const record of exportRecords(table, valuesKey, kms)) {
      yield `${JSON.stringify(record)}\n`;
      counts[record.type]++;
      onProgress(counts.user + counts.integration);
    }
  }
}
