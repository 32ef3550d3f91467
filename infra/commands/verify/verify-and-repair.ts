import { Failure } from '../../../lib/contract/failure.ts';
import { VERIFIED_ATTRIBUTES } from '../../../lib/integrity/item-kinds.ts';
import { repairTable } from '../../../lib/integrity/repair-table.ts';
import { verifyTable } from '../../../lib/integrity/verify-table.ts';
import { openTable } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { print, reportProgress } from '../command-line.ts';
import type { TableConnection } from '../tables.ts';
import { reportVerification } from './report-verification.ts';

/**
 * Verifies a table and prints the findings; with `repair`, repairs it and verifies it again.
 * Returns the name of the exit status.
 */
export async function verifyAndRepair(
  { tableName, client }: TableConnection,
  repair: boolean,
): Promise<'intact' | 'findings' | 'failed'> {
  const scanner = openTableScanner(VERIFIED_ATTRIBUTES, tableName, client);
  const verify = async () => {
    const verification = await verifyTable(scanner, reportProgress('item', ' read'));
    reportVerification(verification);
    return verification;
  };
  print(`Verifying ${tableName}`);
  try {
    let { findings, undecided } = await verify();
    if (repair && findings.some(({ remedy }) => 'writes' in remedy)) {
      await repairTable(openTable(tableName, client), findings, (description) =>
        print(`Repair: ${description}`),
      );
      print('Verifying the repaired table');
      ({ findings, undecided } = await verify());
    }
    if (findings.length > 0) return 'findings';
    return undecided.length > 0 ? 'failed' : 'intact';
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Error(
      'The table did not respond in time. ' +
        'The last repair may have taken effect: verify again.',
    );
  }
}
