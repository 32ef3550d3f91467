import { Failure } from '../../../lib/contract/failure.ts';
import { repairTable } from '../../../lib/operations/integrity/repair-table.ts';
import { print } from '../command-line.ts';
import { defineCommand, TABLE_HELP } from '../define-command.ts';
import { verifyAndReport } from './verify-and-report.ts';

/**
 * `npm run admin -- verify`: checks the rules that span several items, and repairs derived items.
 */
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
