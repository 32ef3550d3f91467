import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { allResetsKey } from '../../lib/mail/mail-limit.ts';
import { put } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';

/*
 * Notices of changed e-mail addresses and passwords, and the limit on mail per account.
 */

const gatehouse = await useGatehouse();

const INIT = '/api/account/reset-password/init';

const { mailsTo } = gatehouse;
const subjectsTo = async (address: string) =>
  (await mailsTo(address)).map(({ subject }) => subject);
const setAddress = (token: string, email: string) =>
  gatehouse.call('POST', '/api/account', { token, body: { email } });
const setPassword = (token: string, currentPassword: string, newPassword: string) =>
  gatehouse.call('POST', '/api/account/change-password', {
    token,
    body: { currentPassword, newPassword },
  });
/** Sets a password with the mailed key. Returns the status. */
async function finishReset(address: string, newPassword: string): Promise<number> {
  const body = { key: await gatehouse.keyMailedTo(address), newPassword };
  return (await gatehouse.call('POST', '/api/account/reset-password/finish', { body })).status;
}
const requestReset = (email: string) => gatehouse.call('POST', INIT, { body: { email } });

it('the notice of a new address goes only to the previous one of the own account', async () => {
  const { token } = await gatehouse.makeCaller('mover', { password: 'mover' });

  await setAddress(token, 'moved@example.com');

  const [mail, ...others] = await mailsTo('mover@example.com');
  expect([mail?.subject, others]).toEqual(['Your e-mail address was changed', []]);
  expect(mail?.text).toContain('Dear mover,');
  expect(mail?.text).toContain('Mail about the account now goes to the new address.');
  expect(mail?.text).not.toContain('moved@example.com');
  expect(await mailsTo('moved@example.com')).toEqual([]);
});

describe('mail to one account', () => {
  it('has one reset key while it is unused, also after many requests at once', async () => {
    await gatehouse.makeUser('popular');

    const responses = await Promise.all(
      Array.from({ length: 12 }, () => requestReset('popular@example.com')),
    );

    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['200 ']),
    );
    expect(await mailsTo('popular@example.com')).toHaveLength(1);
    expect(await finishReset('popular@example.com', 'mine')).toBe(200);
  });

  it('is limited for the resets of all users together, which leaves room for notices', async () => {
    await gatehouse.makeUser('crowd', { password: 'pass' });
    const full = { n: 500, since: Date.now(), expires: Math.floor(Date.now() / 1000) + 3600 };
    await gatehouse.table.transact([put(allResetsKey, full)], randomUUID());

    await requestReset('crowd@example.com');
    await setPassword(await gatehouse.tokenOf('crowd'), 'pass', 'word');

    expect(await subjectsTo('crowd@example.com')).toEqual(['Your password was changed']);
    expect(gatehouse.lines.filter((line) => line.includes('"mailsNotSent":1'))).toHaveLength(1);
    const kept = [...(await itemsOf(gatehouse.cloud)).values()].filter(
      ({ email }) => email === 'crowd@example.com',
    );
    expect(
      kept.filter(({ pk }) => /^(RESET-)?MAIL#/.test(pk)).map(({ occasion }) => occasion),
    ).toEqual(['reset']);
    await gatehouse.table.transact([put(allResetsKey, { ...full, n: 0 })], randomUUID());
  });

  it('has no limit of a stranger where a mailed key was used', async () => {
    const { token } = await gatehouse.makeCaller('settled');
    await setAddress(token, 'settled@new.example');

    for (const newPassword of ['first', 'second']) {
      await requestReset('settled@new.example');
      expect(await finishReset('settled@new.example', newPassword)).toBe(200);
    }
  });
});

it('the notice of a new password is sent for each way to set one, in the language', async () => {
  const { token } = await gatehouse.makeCaller('keyed', { password: 'keyed', langKey: 'de' });
  await setPassword(token, 'keyed', 'fresh');
  await requestReset('keyed@example.com');

  expect(await finishReset('keyed@example.com', 'fresher')).toBe(200);

  // Mails of different kinds may overtake each other.
  expect((await subjectsTo('keyed@example.com')).toSorted()).toEqual([
    'Ihr Passwort wurde geändert',
    'Ihr Passwort wurde geändert',
    'Neues Passwort',
  ]);
});
