import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ALL_USERS, MAILS_PER_WINDOW } from '../../lib/mail/mail-limit.ts';
import { mailCountKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';

/*
 * Notices of changed e-mail addresses and passwords, and the limit on mail per account.
 */

const gatehouse = await useGatehouse();

const INIT = '/api/account/reset-password/init';
const FINISH = '/api/account/reset-password/finish';

const mailsTo = (address: string) => gatehouse.mailsTo(address);
const subjectsTo = async (address: string) =>
  (await mailsTo(address)).map(({ subject }) => subject);
const setAddress = (token: string, email: string) =>
  gatehouse.call('POST', '/api/account', { token, body: { email } });
const setPassword = (token: string, currentPassword: string, newPassword: string) =>
  gatehouse.call('POST', '/api/account/change-password', {
    token,
    body: { currentPassword, newPassword },
  });
const requestReset = (email: string) => gatehouse.call('POST', INIT, { body: { email } });

describe('the notice of a new e-mail address', () => {
  it('goes only to the previous address when users change their own', async () => {
    const { token } = await gatehouse.makeCaller('mover', { password: 'mover' });

    await setAddress(token, 'moved@example.com');

    const [mail, ...others] = await mailsTo('mover@example.com');
    expect([mail?.subject, others]).toEqual(['Your e-mail address was changed', []]);
    expect(mail?.text).toContain('Dear mover,');
    expect(mail?.text).toContain('Mail about the account now goes to the new address.');
    expect(mail?.text).not.toContain('moved@example.com');
    expect(await mailsTo('moved@example.com')).toEqual([]);
  });
});

describe('mail to one account', () => {
  it('is limited exactly under concurrent requests, which do not reveal the limit', async () => {
    await gatehouse.makeUser('popular');

    const responses = await Promise.all(
      Array.from({ length: 12 }, () => requestReset('popular@example.com')),
    );

    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['200 ']),
    );
    expect(await mailsTo('popular@example.com')).toHaveLength(MAILS_PER_WINDOW.reset);
  });

  it('is limited for the resets of all users together, which leaves room for notices', async () => {
    await gatehouse.makeUser('crowd', { password: 'pass' });
    const full = { n: 500, since: Date.now(), expires: Math.floor(Date.now() / 1000) + 3600 };
    await gatehouse.table.transact([put(mailCountKey(ALL_USERS, 'reset'), full)], randomUUID());

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
    await gatehouse.table.transact(
      [put(mailCountKey(ALL_USERS, 'reset'), { ...full, n: 0 })],
      randomUUID(),
    );
  });

  it('is counted per mailbox: resets of a thief use up none of the owner', async () => {
    const { token } = await gatehouse.makeCaller('robbed');
    const move = (email: string) => setAddress(token, email);
    await move('thief@example.com');
    for (let n = 0; n < MAILS_PER_WINDOW.reset + 1; n++) await requestReset('thief@example.com');
    // A reset goes to the user who has the address when it is sent.
    await gatehouse.cloud.mailsHandedOver();
    await move('robbed@example.com');

    await requestReset('robbed@example.com');

    const resets = (subjects: string[]) =>
      subjects.filter((subject) => subject === 'Reset your password').length;
    expect(resets(await subjectsTo('thief@example.com'))).toBe(MAILS_PER_WINDOW.reset);
    expect(resets(await subjectsTo('robbed@example.com'))).toBe(1);
  });

  it('is not sent beyond the limit, while changes of the address still succeed', async () => {
    const { user, token } = await gatehouse.makeCaller('restless', { password: 'restless' });
    const key = mailCountKey(user.id, 'emailChanged');
    const almost = { n: 18, since: Date.now(), expires: Math.floor(Date.now() / 1000) + 3600 };
    await gatehouse.table.transact([put(key, almost)], randomUUID());

    const statuses = [];
    for (let n = 0; n < 4; n++)
      statuses.push((await setAddress(token, `restless-${n}@example.com`)).status);

    expect(statuses).toEqual([200, 200, 200, 200]);
    const addresses = ['restless', 'restless-0', 'restless-1', 'restless-2'].map(
      (name) => `${name}@example.com`,
    );
    const mails = await Promise.all(addresses.map(subjectsTo));
    expect(mails.map(({ length }) => length)).toEqual([1, 1, 0, 0]);
  });
});

it('the notice of a new password is sent for each way to set one, in the language', async () => {
  const { token } = await gatehouse.makeCaller('keyed', { password: 'keyed', langKey: 'de' });
  await setPassword(token, 'keyed', 'fresh');
  await requestReset('keyed@example.com');

  const body = { key: await gatehouse.keyMailedTo('keyed@example.com'), newPassword: 'fresher' };
  const { status } = await gatehouse.call('POST', FINISH, { body });

  expect(status).toBe(200);
  // Mails of different kinds may overtake each other.
  expect((await subjectsTo('keyed@example.com')).toSorted()).toEqual([
    'Ihr Passwort wurde geändert',
    'Ihr Passwort wurde geändert',
    'Neues Passwort',
  ]);
});
