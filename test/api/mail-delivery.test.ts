import { afterAll, describe, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { startGatehouse } from '../support/gatehouse.ts';
import { itemsOf } from '../support/items.ts';
import { MAIL_TRIALS, outcomeOf } from '../support/mail-trials.ts';

/* The delivery of mail: duplicates, delays, faults and secrets. */

const faults = openFaults();
const gatehouse = await startGatehouse({ intercept: faults.intercept });
afterAll(() => gatehouse.stop());
const stage = { gatehouse, faults };
const leftIn = async (name: string) =>
  [...(await itemsOf(gatehouse.cloud)).values()].filter(
    ({ pk, email }) => pk.startsWith('MAIL#') && `${email}`.includes(name),
  );

describe('a mail', { timeout: 30_000 }, () => {
  it.each(MAIL_TRIALS)('arrives $mails times and is left $left times when $event', async (trial) => {
    const login = `trial-${MAIL_TRIALS.indexOf(trial)}`;

    await trial.run(stage, login);
    const mails = await outcomeOf(stage, login, trial);

    expect([mails.length, (await leftIn(login)).length]).toEqual([trial.mails, trial.left]);
  });

  it('keeps the order of its recipient while SES throttles', async () => {
    const token = await gatehouse.logIn((await gatehouse.makeUser('mover')).login);
    faults.inject([{ service: 'SES', fault: 'throttle' }]);
    const move = (email: string) => gatehouse.call('POST', '/api/account', { token, body: { email } });

    for (const n of [1, 2, 3]) await move(`mover-${n}@example.com`);
    await gatehouse.cloud.mailsHandedOver();
    faults.inject([]);
    const to = () => gatehouse.cloud.mails.flatMap((mail) => mail.to).filter((address) => address.startsWith('mover'));
    await expect.poll(to, { timeout: 10_000 }).toHaveLength(3);

    expect(to()).toEqual(['mover@example.com', 'mover-1@example.com', 'mover-2@example.com']);
  });

  it('has no key in the table, in the stream or in the log while it waits', async () => {
    faults.inject([{ service: 'SES', fault: 'throttle' }]);
    await gatehouse.makeUser('waiting', { password: undefined });
    await gatehouse.call('POST', '/api/account/reset-password/init', { body: { email: 'waiting@example.com' } });
    await gatehouse.cloud.mailsHandedOver();

    const waiting = [...(await itemsOf(gatehouse.cloud)).values()].filter(({ pk }) => pk.startsWith('MAIL#'));
    faults.inject([]);
    const sent = () => gatehouse.cloud.mails.filter(({ to }) => to.includes('waiting@example.com'));
    await expect.poll(sent, { timeout: 10_000 }).toHaveLength(2);

    const known = ['pk', 'sk', 'occasion', 'userId', 'email', 'login', 'langKey', 'accountStamp', 'counted', 'expires'];
    expect(waiting.flatMap((item) => Object.keys(item)).filter((name) => !known.includes(name))).toEqual([]);
    for (const { text } of sent()) {
      const key = /key=([\w-]+)/.exec(text)?.[1] ?? 'no key';
      expect(JSON.stringify([...(await itemsOf(gatehouse.cloud))]) + gatehouse.lines.join('')).not.toContain(key);
    }
  });
});
