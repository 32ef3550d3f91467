import { afterAll, describe, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';
import { repeatWhileBusy } from '../support/instance/launch.ts';
import { MAIL_TRIALS, outcomeOf } from '../support/instance/mail-trials.ts';

/* The delivery of mail: duplicates, delays, faults and secrets. */

const faults = openFaults();
/** Mails to these addresses are held until the promise resolves. */
let held: { readonly prefix: string; readonly until: Promise<unknown> } | undefined;
const gatehouse = await startGatehouse({
  maxInstancesPerFunction: 12,
  async intercept(call, forward) {
    if (held && call.service === 'SES' && JSON.stringify(call.input).includes(held.prefix))
      await held.until;
    return faults.intercept(call, forward);
  },
});
afterAll(() => gatehouse.stop());
const stage = { gatehouse, faults };
const leftIn = async (name: string) =>
  [...(await itemsOf(gatehouse.cloud)).values()].filter(
    ({ pk, email }) => pk.startsWith('MAIL#') && `${email}`.includes(name),
  );

describe('a mail', () => {
  it.each(MAIL_TRIALS)(
    'arrives $mails times and is left $left times when $event',
    async (trial) => {
      const login = `trial-${MAIL_TRIALS.indexOf(trial)}`;

      await trial.run(stage, login);
      const mails = await outcomeOf(stage, login, trial);

      expect(mails).toHaveLength(trial.mails);
      // The function deletes the item of a mail that has arrived, and may have to try again.
      await expect.poll(async () => (await leftIn(login)).length).toBe(trial.left);
    },
  );

  it('keeps the order of its recipient while SES throttles', async () => {
    const token = await gatehouse.logIn((await gatehouse.makeUser('mover')).login);
    faults.inject([{ service: 'SES', fault: 'throttle' }]);
    const move = (email: string) =>
      gatehouse.call('POST', '/api/account', { token, body: { email } });

    for (const n of [1, 2, 3]) await move(`mover-${n}@example.com`);
    await gatehouse.cloud.mailsHandedOver();
    faults.inject([]);
    const to = () =>
      gatehouse.cloud.mails
        .flatMap((mail) => mail.to)
        .filter((address) => address.startsWith('mover'));
    await expect.poll(to).toHaveLength(3);

    expect(to()).toEqual(['mover@example.com', 'mover-1@example.com', 'mover-2@example.com']);
  });

  it('arrives after many resets that SES takes long to accept', async () => {
    const owner = await gatehouse.makeUser('notified');
    const logins = Array.from({ length: 40 }, (_, n) => `flood-${n}`);
    for (const login of logins) await gatehouse.makeUser(login);
    const token = await gatehouse.logIn(owner.login);
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    held = { prefix: 'flood-', until };
    for (const login of logins) {
      await gatehouse.call('POST', '/api/account/reset-password/init', {
        body: { email: `${login}@example.com` },
        headers: { 'X-Forwarded-For': '203.0.113.9' },
      });
    }

    const body = { email: 'taken-over@example.com' };
    await repeatWhileBusy(() => gatehouse.call('POST', '/api/account', { token, body }));
    const toOwner = () =>
      gatehouse.cloud.mails.filter(({ to }) => to.includes('notified@example.com'));
    release();
    await expect.poll(toOwner).toHaveLength(1);

    // A function that waits too long for SES sends the mail again.
    const flooded = () =>
      gatehouse.cloud.mails.map(({ to }) => `${to}`).filter((to) => to.startsWith('flood-'));
    await expect.poll(() => new Set(flooded()).size).toBe(40);
  });

  it('has no key in the table, in the stream or in the log while it waits', async () => {
    faults.inject([{ service: 'SES', fault: 'throttle' }]);
    await gatehouse.makeUser('waiting', { password: undefined });
    await gatehouse.call('POST', '/api/account/reset-password/init', {
      body: { email: 'waiting@example.com' },
    });
    await gatehouse.cloud.mailsHandedOver();

    const waiting = [...(await itemsOf(gatehouse.cloud)).values()].filter(({ pk }) =>
      /^(RESET-)?MAIL#/.test(pk),
    );
    faults.inject([]);
    const sent = () => gatehouse.cloud.mails.filter(({ to }) => to.includes('waiting@example.com'));
    await expect.poll(sent).toHaveLength(2);

    const known = [
      'pk',
      'sk',
      'occasion',
      'userId',
      'email',
      'login',
      'langKey',
      'incarnation',
      'inviterId',
      'counted',
      'expires',
      'source',
    ];
    expect(
      waiting.flatMap((item) => Object.keys(item)).filter((name) => !known.includes(name)),
    ).toEqual([]);
    for (const { text } of sent()) {
      const key = /key=([\w-]+)/.exec(text)?.[1] ?? 'no key';
      expect(
        JSON.stringify([...(await itemsOf(gatehouse.cloud))]) + gatehouse.lines.join(''),
      ).not.toContain(key);
    }
  });
});
