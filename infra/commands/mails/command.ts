import { defineCommand, TABLE_HELP } from '../define-command.ts';

/** `npm run mails`: lists the mails that were not sent, and sends them again. */
export const command = defineCommand({
  usage: 'npm run mails -- [--table NAME] [--send]',
  help: `Lists the mails that have waited for more than a minute, also of a running service: those
that SES has rejected, and those that the stream of the table no longer holds, as after a restore.

${TABLE_HELP}
--send        hands them to the function that sends mail again, or deletes those that have expired`,
  options: { table: { type: 'string' }, send: { type: 'boolean', default: false } },
  statuses: {
    noneLeft: [0, 'no mail is left, or --send has handed over or deleted all'],
    left: [1, 'mails are left'],
    failed: [1, 'the table could not be read'],
  },
  seeAlso: 'docs/runbook.md explains why a mail is not sent.',
  async run({ values, openTable }) {
    const { listMails } = await import('./list-mails.ts');
    return (await listMails(await openTable(), values.send)) > 0 ? 'left' : 'noneLeft';
  },
});
