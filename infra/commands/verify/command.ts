import { defineCommand, TABLE_HELP } from '../define-command.ts';

/** `npm run verify`: checks the rules that span several items, and repairs derived items. */
export const command = defineCommand({
  usage: 'npm run verify -- [--table NAME] [--repair]',
  help: `Verifies that a table is intact, also of a running service, and prints each finding with
its remedy.

${TABLE_HELP}
--repair      corrects guards, roster, totals, counters and sequences, then verifies again`,
  options: { table: { type: 'string' }, repair: { type: 'boolean', default: false } },
  statuses: {
    intact: [0, 'no findings'],
    findings: [1, 'findings'],
    failed: [2, 'the table could not be verified completely'],
  },
  seeAlso: 'docs/verification.md explains the findings.',
  async run({ values: { repair }, openTable }) {
    const { verifyAndRepair } = await import('./verify-and-repair.ts');
    return verifyAndRepair(await openTable(), repair);
  },
});
