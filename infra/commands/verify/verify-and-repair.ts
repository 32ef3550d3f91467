import { Failure } from '../../../lib/contract/failure.ts';
import { VERIFIED_ATTRIBUTES } from '../../../lib/integrity/item-kinds.ts';
import { repairTable } from '../../../lib/integrity/repair-table.ts';
import { verifyTable } from '../../../lib/integrity/verify-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { openTable } from '../../../lib/table/table.ts';
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
    const isRepairable = 'writes' in remedy;
    print(
      isRepairable ? `  --repair ${remedy.description}` : `  cannot be repaired: ${remedy.advice}`,
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

/**
 * Verifies a table and prints the findings; with `repair`, repairs it and verifies it again.
 * Returns the name of the exit status.
 */
export async function verifyAndRepair(connection: TableConnection, repair: boolean) {
  const { tableName, client } = connection;
  print(`Verifying ${tableName}`);
  let { findings, undecided } = await verifyAndReport(connection);
  if (repair && findings.some(({ remedy }) => 'writes' in remedy)) {
    const onRepair = (description: string) => print(`Repair: ${description}`);
    await repairTable(openTable(tableName, client), findings, onRepair).catch((error) => {
      if (!(error instanceof Failure)) throw error;
      throw new Error(
        'The table did not respond in time. The last repair may have taken effect: verify again.',
      );
    });
    print('Verifying the repaired table');
    ({ findings, undecided } = await verifyAndReport(connection));
  }
  if (findings.length > 0) return 'findings';
  return undecided.length > 0 ? 'failed' : 'intact';
}
