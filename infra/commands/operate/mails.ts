import type { OutboxMail } from '../../../lib/mail/outbox.ts';
import { MAIL_PARTITIONS } from '../../../lib/operations/item-kinds.ts';
import { commit } from '../../../lib/table/change.ts';
import type { Item, Table } from '../../../lib/table/table.ts';
import { openTableScanner } from '../../../lib/table/table-scanner.ts';
import { claim, EXISTS, remove } from '../../../lib/table/write.ts';
import { print, reportProgress } from '../command-line.ts';
import { defineCommand, TABLE_HELP } from '../define-command.ts';

/** A mail that is younger may still be on its way. */
const WAITED_MS = 60_000;

export const command = defineCommand({
  usage: 'npm run admin -- mails [--table NAME] [--send]',
  help: `Lists the mails that have waited for more than a minute, even while a service runs: those
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
  async run({ values: { send }, openTable }) {
    const { tableName, client, table } = await openTable();
    const scanner = openTableScanner(['occasion', 'userId', 'expires'], tableName, client);
    const onProgress = reportProgress('item', ' read');
    let [found, left, read] = [0, 0, 0];
    for await (const items of scanner.scan()) {
      read += items.length;
      onProgress(read);
      for (const item of items.filter(isWaiting)) {
        found++;
        const { occasion, expires, userId } = item as unknown as OutboxMail & { userId?: number };
        const isExpired = expires <= Date.now() / 1000;
        const outcome = send && (await (isExpired ? discard(table, item) : handOver(table, item)));
        if (!outcome) left++;
        const to = userId === undefined ? 'the address of the request' : `user ${userId}`;
        const parts = [`${occasion} to ${to}`, isExpired && 'expired', outcome];
        print(`${partsOf(item)[0]} ${parts.filter(Boolean).join(': ')}`);
      }
    }
    print(found === 1 ? '1 mail is waiting' : `${found} mails are waiting`);
    return left > 0 ? 'left' : 'noneLeft';
  },
});

/** The sort key of a mail is its time and a random id. */
const partsOf = ({ sk }: Item) => sk.split('#') as [time: string, id: string];
const isWaiting = (item: Item): boolean =>
  MAIL_PARTITIONS.some((prefix) => item.pk.startsWith(prefix)) &&
  Date.parse(partsOf(item)[0]) < Date.now() - WAITED_MS;

/** Replaces the item by a new one, which the stream hands over. False if it has changed. */
async function handOver(table: Table, { pk, sk }: Item): Promise<string | false> {
  const item = await table.get({ pk, sk });
  if (!item) return 'sent meanwhile';
  const { pk: _pk, sk: _sk, ...mail } = item;
  const key = { pk, sk: `${new Date().toISOString()}#${partsOf(item)[1]}` };
  const writes = [remove({ pk, sk }, EXISTS), claim(key, mail, 'retry')];
  return (await commit(table, writes)) === 'committed' && 'handed over';
}

const discard = async (table: Table, { pk, sk }: Item): Promise<string | false> =>
  (await commit(table, [{ act: 'Delete', key: { pk, sk } }])) === 'committed' && 'deleted';
