import { exitOnSignal, fail, finish, readArguments, WRONG_ARGUMENTS } from '../command-line.ts';
import { explainError } from '../explain-error.ts';

/* `npm run mails`: lists the mails that were not sent, and sends them again. */

// Exit statuses.
const NONE_LEFT = 0;
const LEFT = 1;

const COMMAND = {
  usage: 'npm run mails -- [--table NAME] [--send]',
  help: `Lists the mails that have waited for more than a minute: those that SES has rejected, and those that the stream of the
table no longer holds, as after a restore. The service may keep running.

--table NAME  lists those of a deployed table, with the AWS credentials and the region of the environment;
              without it, of the local table in STATE_DIR (default .local)
--send        hands them to the function that sends mail again, and deletes those that have expired

Exit status
  ${NONE_LEFT}  no mail is left, or --send has handed over or deleted all
  ${LEFT}  mails are left, or the table could not be read
  ${WRONG_ARGUMENTS}  wrong arguments

docs/runbook.md explains why a mail is not sent; docs/commands.md lists the permissions.`,
  options: { table: { type: 'string' }, send: { type: 'boolean', default: false } },
} as const;

const { table: name, send } = readArguments(COMMAND).values;
exitOnSignal(LEFT);
// After the arguments: the AWS SDK takes most of the start of a command.
const { openCommandTable } = await import('../command-table.ts');
const { listMails } = await import('./list-mails.ts');

const connection = await openCommandTable(name).catch((error) =>
  fail(explainError(error, name), LEFT),
);
const left = await listMails(connection, { send }).catch((error) =>
  fail(explainError(error, name), LEFT),
);
await connection.close();
await finish(left > 0 ? LEFT : NONE_LEFT);
