import { VERIFIED_ATTRIBUTES } from '../../../lib/operations/integrity/find-defect.ts';
import { verifyTable } from '../../../lib/operations/integrity/verify-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { print, reportProgress } from '../command-line.ts';
import type { TableConnection } from '../tables.ts';

/** Verifies a table. Prints the findings, each with its remedy, and the number of items. */
export async function verifyAndReport({ tableName, client }: TableConnection) {
  const verification = await verifyTable(
    openTableScanner(VERIFIED_ATTRIBUTES, tableName, client),
    reportProgress('item', ' read'),
  );
  const { items, users, integrations, parameters, findings, undecided } = verification;
  for (const { kind, message, remedy } of findings) {
    print(`${kind}: ${message}`);
    print(
      'writes' in remedy
        ? `  --repair ${remedy.description}`
        : `  cannot be repaired: ${remedy.advice}`,
    );
  }
  for (const sentence of undecided)
    print(`Undecided: ${sentence}. Verify again at a quieter time.`);
  print(
    `${counted(items, 'item')} (users: ${users}, integrations: ${integrations}, parameters: ` +
      `${parameters}): ${findings.length === 0 ? 'no findings' : counted(findings.length, 'finding')}`,
  );
  return verification;
}
