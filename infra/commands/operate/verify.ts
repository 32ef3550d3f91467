import { Failure } from '../../../lib/contract/failure.ts';
import { VERIFIED_ATTRIBUTES } from '../../../lib/operations/integrity/find-defect.ts';
import { repairTable } from '../../../lib/operations/integrity/repair-table.ts';
import { verifyTable } from '../../../lib/operations/integrity/verify-table.ts';
import { counted } from '../../../lib/runtime/counted.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { print, reportProgress } from '../command-line.ts';
import { defineCommand, TABLE_HELP } from '../define-command.ts';
import type { TableConnection } from '../tables.ts';

export const command = defineCommand({
  usage: 'npm run admin -- verify [--table NAME] [--repair]',
  help: `Verifies that a table is intact, even while a service uses it, and prints each finding with
its remedy.

${TABLE_HELP}
--repair      corrects guards, roster, totals, counters and sequences, then verifies again`,
  options: { table: { type: 'string' }, repair: { type: 'boolean', default: false } },
  statuses: {
    intact: [0, 'no findings'],
    findings: [1, 'findings'],
    failed: [2, 'the table could not be verified completely'],
  },
  seeAlso: 'docs/operating.md explains the findings.',
  async run({ values: { repair }, openTable }) {
    const connection = await openTable();
    const { tableName, table } = connection;
    print(`Verifying ${tableName}`);
    let { findings, undecided } = await verifyAndReport(connection);
    if (repair && findings.some(({ remedy }) => 'writes' in remedy)) {
      const onRepair = (description: string) => print(`Repair: ${description}`);
      await repairTable(table, findings, onRepair).catch((error) => {
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
  },
});

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
