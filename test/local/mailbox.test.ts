import { afterAll, describe, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { localMailbox } from '../../infra/local/aws/mailbox.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { mailKey, resetMailKey } from '../../lib/mail/outbox.ts';
import { commit } from '../../lib/table/change.ts';
import type { Key } from '../../lib/table/keys.ts';
import { set } from '../../lib/table/write.ts';
import { runOnTable } from '../support/commands/run-command.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';

/* What the local mailbox stores, and what `npm run admin -- mails` does about mails that wait. */

const faults = openFaults();
const gatehouse = await startGatehouse({ intercept: faults.intercept });
afterAll(() => gatehouse.stop());

const mailOf = (subject: string, text = 't') => ({
  FromEmailAddress: 'a@example.com',
  Destination: { ToAddresses: ['b@example.com'] },
  Content: { Simple: { Subject: { Data: subject }, Body: { Text: { Data: text } } } },
});

describe('the mailbox', () => {
  it('keeps the last 200 messages, also for the next start', () => {
    const state = openMemoryState();
    const { send } = localMailbox(state);
    for (let sent = 1; sent <= 201; sent++) send(mailOf(`${sent}`));

    const { mails } = localMailbox(state);
    state.close();

    expect([mails.length, mails[0]?.subject, mails.at(-1)?.subject]).toEqual([200, '2', '201']);
  });

  it('stores no mail of a web page', async () => {
    const url = `${gatehouse.cloud.endpoint}/v2/email/outbound-emails`;
    const before = gatehouse.cloud.mails.length;

    const { status } = await fetch(url, { method: 'POST', body: '{}' });

    expect(status).toBe(403);
    expect(gatehouse.cloud.mails).toHaveLength(before);
  });

  it.each<[object, number]>([
    [{}, 200],
    // SES supports no SMTPUTF8.
    [{ Destination: { ToAddresses: ['ada@xn--bcher-kva.example'] } }, 200],
    [{ Destination: { ToAddresses: ['älice@example.com'] } }, 400],
  ])('stores mails to ASCII recipients only: %j, %i', (changes, expected) => {
    const state = openMemoryState();
    const { mails, send } = localMailbox(state);

    const { status } = send({ ...mailOf('s'), ...changes });
    state.close();

    expect([status, mails.length]).toEqual([expected, expected === 200 ? 1 : 0]);
  });
});

const run = (...options: string[]) => runOnTable(gatehouse.cloud, 'mails', ...options);
const left = async () =>
  [...(await itemsOf(gatehouse.cloud)).values()].filter(({ pk }) => /^(RESET-)?MAIL#/.test(pk));

/** Leaves a mail of two minutes ago, by an update, which the stream does not hand over. */
async function leave(keyAt: (time: string, id: string) => Key, mail: object): Promise<string> {
  const time = new Date(Date.now() - 120_000).toISOString();
  const attributes = { expires: Math.ceil(Date.now() / 1000) + 600, ...mail };
  await commit(gatehouse.table, [set(keyAt(time, 'one'), attributes)]);
  return time;
}

describe('npm run admin -- mails', () => {
  it('finds nothing, and not a mail that was caused just now', async () => {
    faults.inject([{ service: 'SES', fault: 'throttle' }]);
    await gatehouse.makeUser('hasty', { password: undefined });
    const { code, stdout } = await run();
    faults.inject([]);

    expect([code, stdout]).toEqual([0, '0 mails are waiting\n']);
    expect(await gatehouse.mailsTo('hasty@example.com')).toBeDefined();
  });

  it('lists what is left, without addresses, and --send sends or deletes it', async () => {
    const notice = {
      occasion: 'passwordChanged',
      userId: 2,
      login: 'user',
      email: 'late@example.com',
      langKey: 'en',
    };
    const time = await leave((...at) => mailKey(2, ...at), notice);
    const expired = { occasion: 'reset', email: 'gone@example.com', expires: 1 };
    const earlier = await leave(resetMailKey, expired);

    const listed = await run();
    const sent = await run('--send');
    await expect.poll(left).toEqual([]);

    const lines = [
      `${earlier} reset to the address of the request: expired`,
      `${time} passwordChanged to user 2`,
    ];
    expect([listed.code, listed.stdout.split('\n').sort()]).toEqual([
      1,
      ['', ...lines, '2 mails are waiting'].sort(),
    ]);
    expect([sent.code, sent.stdout]).toEqual([
      0,
      expect.stringContaining(`${time} passwordChanged to user 2: handed over`),
    ]);
    expect((await gatehouse.mailsTo('late@example.com')).map(({ subject }) => subject)).toEqual([
      'Your password was changed',
    ]);
    expect(sent.stdout).toContain(
      `${earlier} reset to the address of the request: expired: deleted`,
    );
  });
});
