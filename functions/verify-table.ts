import { VERIFIED_ATTRIBUTES } from '../lib/operations/integrity/find-defect.ts';
import { logVerification, verifyTable } from '../lib/operations/integrity/verify-table.ts';
import { openTableScanner } from '../lib/table/table-scanner.ts';

const table = openTableScanner(VERIFIED_ATTRIBUTES);

/**
 * Runs daily in environments that enable it. Throws when the table is not intact, which raises the
 * alarm.
 */
export async function handler(): Promise<void> {
  const verification = await verifyTable(table);
  logVerification(verification);
  if (verification.findings.length > 0)
    throw new Error(
      'The table is not intact: run npm run admin -- verify --table NAME for details',
    );
}
