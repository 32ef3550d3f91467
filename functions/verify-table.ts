import { VERIFIED_ATTRIBUTES } from '../lib/integrity/item-kinds.ts';
import { countByKind, verifyTable } from '../lib/integrity/verify-table.ts';
import { log } from '../lib/runtime/log.ts';
import { openTableScanner } from '../lib/table/table-scanner.ts';

const table = openTableScanner(VERIFIED_ATTRIBUTES);

/** Once a day, where the environment wants it: fails when the table is not intact, and so rings the alarm. */
export async function handler(): Promise<void> {
  const { items, findings, undecided } = await verifyTable(table);
  // Kinds and numbers only: what a finding says can name a login or an address.
  log({ verified: items, findings: findings.length, undecided: undecided.length, ...countByKind(findings) });
  if (findings.length > 0) throw new Error('The table is not intact: npm run verify tells more');
}
