import { lstatSync, rmSync } from 'node:fs';
import { link, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { exportRecords } from '../../../lib/operations/transfer/export-records.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { print, reportProgress } from '../command-line.ts';
import { defineCommand, STACK_TABLE_HELP, WrongArguments } from '../define-command.ts';

export const command = defineCommand({
  usage: 'npm run admin -- export [--table NAME] FILE',
  help: `Exports all users with their password hashes, and all integrations with their parameters,
whose values are decrypted, to a new JSON Lines file that only its owner can read. Second factors
are not exported.

${STACK_TABLE_HELP}`,
  options: { table: { type: 'string' } },
  positionals: ['FILE'],
  statuses: { exported: [0, 'exported'], failed: [3, 'not completed: FILE was not created'] },
  seeAlso: 'docs/migrating.md describes the file.',
  async run({ positionals: [file = ''], openStackTable }) {
    // Gets its name when it is complete, so that an interrupted export is not mistaken for one.
    const partial = `${file}.partial`;
    // A link to a file that does not exist is also in the way.
    if (lstatSync(file, { throwIfNoEntry: false }))
      throw new WrongArguments(`${file} already exists.`);
    const { table, tableName, valuesKey, kms } = await openStackTable();
    const handle = await open(partial, 'wx', 0o600).catch(({ code, message }) => {
      if (code !== 'EEXIST') throw new WrongArguments(`${message}.`);
      throw new Error(
        `${partial} was left by an interrupted export, or another export is running. ` +
          'It contains secrets: delete it.',
      );
    });
    process.once('exit', () => rmSync(partial, { force: true }));
    print(`Exporting ${tableName}`);
    const counts = { user: 0, integration: 0 };
    let factors = 0;
    const onProgress = reportProgress('record');
    const lines = async function* () {
      for await (const record of exportRecords(table, valuesKey, kms, () => factors++)) {
        yield `${JSON.stringify(record)}\n`;
        counts[record.type]++;
        onProgress(counts.user + counts.integration);
      }
    };
    // A stream writes many lines at once, and closes the file.
    await pipeline(lines, handle.createWriteStream({ flush: true }));
    // Unlike a rename, this never replaces a file.
    await link(partial, file);
    print(
      `${counted(counts.user, 'user')} and ${counted(counts.integration, 'integration')} ` +
        'exported. The file contains secrets: protect it',
    );
    if (factors > 0) print(`Not exported: second factors of ${counted(factors, 'user')}`);
    return 'exported';
  },
});
