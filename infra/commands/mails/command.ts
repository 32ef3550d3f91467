import { defineCommand } from '../define-command.ts';

/** `npm run mails`: lists the mails that were not sent, and sends them again. */
export const command = defineCommand({
  usage: 'npm run mails -- [--table NAME] [--send]',
  help: `Lists the mails that have waited for more than a minute: those that SES has rejected, and
those that the stream of the table no longer holds, as after a restore. The service may keep
running.

--table NAME  lists those of a deployed table, with the AWS credentials and the region of the
              environment; without it, of the local table in STATE_DIR (default .local)
--send        hands them to the function that sends mail again, and deletes those that have
              expired`,
  options: { table: { type: 'string' }, send: { type: 'boolean', default: false } },
  statuses: {
    noneLeft: [0, 'no mail is left, or --send has handed over or deleted all'],
    left: [1, 'mails are left'],
    failed: [1, 'the table could not be read'],
  },
  seeAlso:
    'docs/runbook.md explains why a mail is not sent; docs/commands.md lists the permissions.',
  async run({ values, openTable }) {
    const { listMails } = await import('./list-mails.ts');
    return (await listMails(await openTable(), values)) > 0 ? 'left' : 'noneLeft';
  },
});
