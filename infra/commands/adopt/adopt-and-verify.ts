import { adoptTable } from '../../../lib/restore/adopt-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { NotGatehouseTable } from '../../../lib/table/not-gatehouse-table.ts';
import { openTable } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { print, printError, reportProgress } from '../command-line.ts';
import type { TableConnection } from '../tables.ts';
import { verifyAndReport } from '../verify/verify-and-repair.ts';
import { planRepetition } from './adopt-accounts.ts';
import type { AdoptOptions } from './command.ts';
import { planSettings } from './restored-settings.ts';

/**
 * Adopts and verifies a table, and prints each change. Returns the name of the exit status. Errors
 * say whether anything was changed.
 */
export async function adoptAndVerify(
  connection: TableConnection,
  options: AdoptOptions,
  explain: (error: unknown) => string,
): Promise<'adopted' | 'failed'> {
  const { tableName, client } = connection;
  let isChanged = false;
  try {
    print(`Adopting ${tableName}`);
    // Only AWS has settings of tables.
    const applySettings = options.table && (await planSettings(connection, options));
    const original = options.original ? openTable(options.original, client) : undefined;
    const repeat = original && (await planRepetition(connection, original, options));
    isChanged = true;
    const { sequences, resetKeys, publicKeys, restarts, notBefore } = await adoptTable(
      openTable(tableName, client),
      openTableScanner([], tableName, client),
      { skippedIds: Number(options.skip), original, onProgress: reportProgress('item', ' read') },
    );
    for (const { kind, before, after } of sequences)
      print(`The next ${kind} id is ${after + 1}; it was ${before + 1}`);
    print(
      `Tokens issued before ${notBefore.toISOString()} are rejected: all users must log in again`,
    );
    print(
      `Deleted ${counted(resetKeys, 'reset key')}: users who still need one must request another`,
    );
    print(
      `Deleted ${counted(publicKeys, 'public signing key')}: the first login publishes those in use`,
    );
    print(`Flagged ${counted(restarts, 'module')} to restart`);
    if (!repeat)
      print('Accounts are as in the backup: --original TABLE lists what has changed since');
    const isRepeated = !repeat || (await repeat());
    if (applySettings) await applySettings();

    // A backup need not contain the changes of a transaction together, so a restored table can need
    // a repair.
    print(`Verifying ${tableName}`);
    const { findings, undecided } = await verifyAndReport(connection);
    if (findings.length + undecided.length === 0) return isRepeated ? 'adopted' : 'failed';
    const option = options.table ? `--table ${tableName} ` : '';
    printError(`The table is adopted, but not intact: npm run verify -- ${option}--repair`);
    return 'failed';
  } catch (error) {
    const isUntouched = !isChanged || error instanceof NotGatehouseTable;
    throw new Error(
      isUntouched
        ? `${explain(error)} Nothing was changed.`
        : `The adoption is incomplete. ${explain(error)} Run the command again.`,
    );
  }
}
