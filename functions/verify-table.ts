import { VERIFIED_ATTRIBUTES } from '../lib/operations/integrity/find-defect.ts';
import {
  logVerification,
  requireIntact,
  verifyTable,
} from '../lib/operations/integrity/verify-table.ts';
import { overviewVerified } from '../lib/operations/overview/overview.ts';
import { commit } from '../lib/table/change.ts';
import { openTable } from '../lib/table/open-table.ts';
import { openTableScanner } from '../lib/table/table-scanner.ts';

const table = openTable();
const scanner = openTableScanner(VERIFIED_ATTRIBUTES);

/**
 * Runs daily in environments that enable it, and stores what the overview counts. Throws when the
 * table is not intact, which raises the alarm.
 */
export async function handler(): Promise<void> {
  const verification = await verifyTable(scanner);
  logVerification(verification);
  // Lost to a count on request, which is as new or newer.
  await commit(table, [overviewVerified(verification.overview)]);
  requireIntact(verification);
}
