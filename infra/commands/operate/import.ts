import { open } from 'node:fs/promises';
import { importRecords } from '../../../lib/operations/transfer/import-records.ts';
import { linesOf } from '../../../lib/operations/transfer/record.ts';
import { print, reportProgress } from '../command-line.ts';
import { defineCommand, STACK_TABLE_HELP, WrongArguments } from '../define-command.ts';

export const command = defineCommand({
  usage: 'npm run admin -- import [--table NAME] [--apply] [--again] FILE',
  help: `Imports users and integrations with their parameters from a JSON Lines file, or from
/dev/stdin. It can be repeated: records are skipped that the table already contains, or whose users
and integrations have been changed or removed since an earlier import. Imported users have no second
factor.

${STACK_TABLE_HELP}
--apply       writes to the table; without it, the command only reports what it would do
--again       imports records again whose users and integrations have been removed since`,
  options: {
    table: { type: 'string' },
    apply: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  },
  positionals: ['FILE'],
  statuses: {
    imported: [0, 'every record is imported, would be, or was skipped'],
    rejections: [1, 'some records were rejected, which are printed with their lines and fields'],
    // An interrupted import leaves whole records only: each is one transaction.
    failed: [3, 'not completed: run the command again'],
  },
  seeAlso: 'docs/migrating.md describes the file.',
  async run({ values: { apply, again }, positionals: [file = ''], openStackTable }) {
    await using handle = await open(file).catch(({ message }) => {
      throw new WrongArguments(`${message}.`);
    });
    if ((await handle.stat()).isDirectory())
      throw new WrongArguments(`${file} is a folder, not a file in JSON Lines.`);
    const target = await openStackTable();
    print(`${apply ? 'Importing into' : 'Checking an import into'} ${target.tableName}`);
    const { imported, present, changed, removed, rejected } = await importRecords(
      target,
      linesOf(jsonLinesIn(file, handle.createReadStream())),
      {
        apply,
        again,
        onRejected: (line, errors) => {
          const reasons = errors.map(({ field, code, detail }) =>
            [field, code, detail && `(${detail})`].filter(Boolean).join(' '),
          );
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

/** The content of a file in JSON Lines. Fails at once if the file is of another kind. */
export async function* jsonLinesIn(
  file: string,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let isBeginning = true;
  for await (const chunk of chunks) {
    const kind = isBeginning && otherKindOf(chunk);
    if (kind)
      throw new WrongArguments(
        `${file} is ${kind}: an import needs JSON Lines, one JSON object per line in UTF-8.`,
      );
    isBeginning = false;
    yield chunk;
  }
}

/** What a file is by its beginning, if not JSON Lines. */
function otherKindOf(beginning: Buffer): string | undefined {
  const [first = 1, second = 1] = beginning;
  const isUtf16 = first === 0 || second === 0 || first + second === 0xff + 0xfe;
  if (isUtf16) return 'in UTF-16';
  const text = beginning.toString();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: texts have none but blanks
  if (/[\0-\x08\x0e-\x1f]/.test(text.slice(0, 100))) return 'binary';
  const [line = '', next] = text
    .replace(/^\ufeff/, '')
    .trimStart()
    .split(/\r?\n/);
  if (line.startsWith('[')) return 'a JSON array';
  // A line that the chunk cuts off can end in the same way.
  if (next !== undefined && /^\{(.*[{[,])?\s*$/.test(line))
    return 'JSON that continues on the next line';
  if (line !== '' && !line.startsWith('{')) return /[,;\t]/.test(line) ? 'CSV' : 'not JSON';
  return undefined;
}
