import { VERIFIED_ATTRIBUTES } from '../../../lib/integrity/item-kinds.ts';
import { verifyTable } from '../../../lib/integrity/verify-table.ts';
import { adoptTable } from '../../../lib/restore/adopt-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { NotGatehouseTable } from '../../../lib/table/not-gatehouse-table.ts';
import { openTable } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { print, printError, reportProgress } from '../command-line.ts';
import type { TableConnection } from '../tables.ts';
import { reportVerification } from '../verify/report-verification.ts';
import {
  compareWithOriginal,
  type OriginalWishes,
  repeatAccountChanges,
  reportAccounts,
} from './adopt-accounts.ts';
import { carryMarkersOver, missingMarkers } from './adopt-markers.ts';
import { applySettings, planSettings, type Wishes } from './restored-settings.ts';

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
  { tableName, client }: TableConnection,
  { isDeployed, wishes, skippedIds, original, explain }: Options,
): Promise<boolean> {
  let isChanged = false;
  const table = openTable(tableName, client);
  try {
    const isRepeated = await adopt();
    return (await verify()) && isRepeated;
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

  async function adopt(): Promise<boolean> {
    print(`Adopting ${tableName}`);
    const plan = isDeployed ? await planSettings(client, tableName, wishes) : undefined;
    const comparison = original && (await compareWithOriginal(client, tableName, original));
    const markers = original && (await missingMarkers(client, tableName, original));
    isChanged = true;
    const { sequences, resetKeys, publicKeys, restarts, notBefore } = await adoptTable(
      table,
      openTableScanner([], tableName, client),
      {
        skippedIds,
        original: original && openTable(original.name, client),
        onProgress: reportProgress('item', ' read'),
      },
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
      'Public signing keys deleted, of which the first login publishes the current ones: ' +
        publicKeys,
    );
    print(
      'Modules flagged to restart, because the restore may have undone their parameters: ' +
        restarts,
    );
    reportAccounts(original, comparison);
    const isRepeated =
      !original?.apply || !comparison || (await repeatAccountChanges(table, original, comparison));
    if (original && markers) await carryMarkersOver(table, original, markers);
    if (plan) for (const sentence of await applySettings(client, plan)) print(sentence);
    return isRepeated;
  }

  /**
   * A backup need not contain the changes of a transaction together, so a restored table can need a
   * repair.
   */
  async function verify(): Promise<boolean> {
    print(`Verifying ${tableName}`);
    const verification = await verifyTable(
      openTableScanner(VERIFIED_ATTRIBUTES, tableName, client),
      reportProgress('item', ' read'),
    );
    reportVerification(verification);
    if (verification.findings.length + verification.undecided.length === 0) return true;
    printError(
      'The table is adopted, but not intact: ' +
        `npm run verify -- ${isDeployed ? `--table ${tableName} ` : ''}--repair`,
    );
    return false;
  }
}
