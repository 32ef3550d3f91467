import { VERIFIED_ATTRIBUTES } from '../../../lib/integrity/item-kinds.ts';
import { verifyTable } from '../../../lib/integrity/verify-table.ts';
import { adoptTable } from '../../../lib/restore/adopt-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { NotGatehouseTable } from '../../../lib/table/not-gatehouse-table.ts';
import { openTable } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import type { TableConnection } from '../../local/aws/local-table.ts';
import { print, printError, reportProgress } from '../command-line.ts';
import { explainError } from '../explain-error.ts';
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
  /**
   * The name that the operator has given; undefined for the local table, whose settings are not
   * changed.
   */
  readonly name: string | undefined;
  readonly wishes: Wishes;
  readonly skippedIds: number;
  /** The table that was backed up, if it still exists, and what is to be done with its accounts. */
  readonly original?: OriginalWishes | undefined;
}

/**
 * Adopts and verifies a table, and prints each change. Returns whether it is adopted and intact,
 * and all changes of accounts that are to be repeated are; prints errors, too.
 */
export async function adoptAndVerify(
  { tableName, client }: Pick<TableConnection, 'tableName' | 'client'>,
  { name, wishes, skippedIds, original }: Options,
): Promise<boolean> {
  let isChanged = false;
  const table = openTable(tableName, client);
  try {
    const isRepeated = await adopt();
    return (await verify()) && isRepeated;
  } catch (error) {
    printError(sentenceOf(error));
    return false;
  }

  async function adopt(): Promise<boolean> {
    print(`Adopting ${tableName}`);
    const plan = name === undefined ? undefined : await planSettings(client, name, wishes);
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
      `Public signing keys deleted, of which the first login publishes the current ones: ${publicKeys}`,
    );
    print(
      `Modules flagged to restart, because the restore may have undone their parameters: ${restarts}`,
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
      `The table is adopted, but not intact: npm run verify -- ${name ? `--table ${name} ` : ''}--repair`,
    );
    return false;
  }

  function sentenceOf(error: unknown): string {
    if (error instanceof NotGatehouseTable)
      return `${tableName} is not a Gatehouse table: it has no administrator roster. Nothing was changed.`;
    const reason = explainError(error, name);
    return isChanged
      ? `The adoption is incomplete. ${reason} Run the command again.`
      : `${reason} Nothing was changed.`;
  }
}
