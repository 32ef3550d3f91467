import { adoptTable } from '../../../lib/restore/adopt-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { NotGatehouseTable } from '../../../lib/table/not-gatehouse-table.ts';
import { openTable } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { print, printError, reportProgress } from '../command-line.ts';
import type { TableConnection } from '../tables.ts';
import { verifyAndReport } from '../verify/verify-and-repair.ts';
import { type OriginalWishes, planRepetition } from './adopt-accounts.ts';
import { planSettings, type Wishes } from './restored-settings.ts';

interface Options {
  /** Whether AWS has the table. The settings of a local one are not changed. */
  readonly isDeployed: boolean;
  readonly wishes: Wishes;
  readonly skippedIds: number;
  /** The table that was backed up, if it still exists, and what is to be done with its accounts. */
  readonly original?: OriginalWishes | undefined;
  readonly explain: (error: unknown) => string;
}

/**
 * Adopts and verifies a table, and prints each change. Returns whether it is adopted and intact,
 * and all changes of accounts that are to be repeated are. Errors say whether anything was changed.
 */
export async function adoptAndVerify(
  connection: TableConnection,
  { isDeployed, wishes, skippedIds, original, explain }: Options,
): Promise<boolean> {
  const { tableName, client } = connection;
  const table = openTable(tableName, client);
  let isChanged = false;
  try {
    print(`Adopting ${tableName}`);
    const applySettings = isDeployed && (await planSettings(client, tableName, wishes));
    const repeat = original && (await planRepetition(table, client, tableName, original));
    isChanged = true;
    const adoption = await adoptTable(table, openTableScanner([], tableName, client), {
      skippedIds,
      original: original && openTable(original.name, client),
      onProgress: reportProgress('item', ' read'),
    });
    report(adoption);
    if (!repeat)
      print(
        'Accounts are as in the backup: deletions, deactivations, changes of roles and ' +
          'replaced passwords since then are ' +
          'undone. --original TABLE lists them if the original table still exists',
      );
    const isRepeated = !repeat || (await repeat());
    if (applySettings) for (const sentence of await applySettings()) print(sentence);

    // A backup need not contain the changes of a transaction together, so a restored table can need
    // a repair.
    print(`Verifying ${tableName}`);
    const { findings, undecided } = await verifyAndReport(connection);
    if (findings.length + undecided.length === 0) return isRepeated;
    printError(
      'The table is adopted, but not intact: ' +
        `npm run verify -- ${isDeployed ? `--table ${tableName} ` : ''}--repair`,
    );
    return false;
  } catch (error) {
    if (error instanceof NotGatehouseTable)
      throw new Error(
        `${tableName} is not a Gatehouse table: it has no administrator roster. ` +
          'Nothing was changed.',
      );
    throw new Error(
      isChanged
        ? `The adoption is incomplete. ${explain(error)} Run the command again.`
        : `${explain(error)} Nothing was changed.`,
    );
  }
}

function report(adoption: Awaited<ReturnType<typeof adoptTable>>): void {
  const { sequences, resetKeys, publicKeys, restarts, notBefore } = adoption;
  for (const { kind, before, after } of sequences)
    print(`The next ${kind} id is ${after + 1}; it was ${before + 1}`);
  print(
    `Tokens issued before ${notBefore.toISOString()} are rejected: all users must log in again`,
  );
  print(
    `Deleted ${counted(resetKeys, 'reset key')}: users who still need one must request another`,
  );
  print(
    `Public signing keys deleted, of which the first login publishes the current ones: ${publicKeys}`,
  );
  print(
    `Modules flagged to restart, because the restore may have undone their parameters: ${restarts}`,
  );
}
