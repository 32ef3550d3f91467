import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { allResetsKey, mailCountKey } from '../../lib/mail/mail-limit.ts';
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
  it('has one reset key while it is unused, also after many requests at once', async () => {
    await gatehouse.makeUser('popular');

    const responses = await Promise.all(
      Array.from({ length: 12 }, () => requestReset('popular@example.com')),
    );

    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set(['200 ']),
    );
    expect(await mailsTo('popular@example.com')).toHaveLength(1);
    const body = { key: await gatehouse.keyMailedTo('popular@example.com'), newPassword: 'mine' };
    expect((await gatehouse.call('POST', FINISH, { body })).status).toBe(200);
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

  it('is counted per mailbox: resets of a thief use up none of the owner', async () => {
    const { token } = await gatehouse.makeCaller('robbed');
    const move = (email: string) => setAddress(token, email);
    await move('thief@example.com');
    for (let n = 0; n < 6; n++) await requestReset('thief@example.com');
    // A reset goes to the user who has the address when it is sent.
    await gatehouse.cloud.mailsHandedOver();
    await move('robbed@example.com');

    await requestReset('robbed@example.com');

    const resets = (subjects: string[]) =>
      subjects.filter((subject) => subject === 'Reset your password').length;
    expect(resets(await subjectsTo('thief@example.com'))).toBe(1);
    expect(resets(await subjectsTo('robbed@example.com'))).toBe(1);
  });

  it('is sent to three strangers an hour whose addresses an account has in turn', async () => {
    const { token } = await gatehouse.makeCaller('restive');
    const strangers = Array.from({ length: 5 }, (_, n) => `stranger-${n}@strange.example`);
    for (const email of strangers) {
      await setAddress(token, email);
      for (let n = 0; n < 3; n++) await requestReset(email);
      await gatehouse.cloud.mailsHandedOver();
    }

    const resets = (await Promise.all(strangers.map(subjectsTo))).map(
      (subjects) => subjects.filter((subject) => subject === 'Reset your password').length,
    );
    expect(resets).toEqual([1, 1, 1, 0, 0]);
  });

  it('has no limit of a stranger where a mailed key was used', async () => {
    const { token } = await gatehouse.makeCaller('settled');
    await setAddress(token, 'settled@new.example');

    for (const newPassword of ['first', 'second']) {
      await requestReset('settled@new.example');
      const body = { key: await gatehouse.keyMailedTo('settled@new.example'), newPassword };
      expect((await gatehouse.call('POST', FINISH, { body })).status).toBe(200);
    }
  });

  it('reaches a user although another source causes as many resets as it can', async () => {
    const names = Array.from({ length: 7 }, (_, n) => `known-${n}`);
    for (const name of [...names, 'honest'])
      await gatehouse.makeUser(name, { password: undefined });
    const full = { n: 246, since: Date.now(), expires: Math.floor(Date.now() / 1000) + 3600 };
    await gatehouse.table.transact([put(allResetsKey, full)], randomUUID());
    const requestFrom = (from: string, name: string) =>
      gatehouse.call('POST', INIT, { body: { email: `${name}@example.com` }, from });

    for (const name of names) await requestFrom('127.0.30.1', name);
    await gatehouse.cloud.mailsHandedOver();
    await requestFrom('127.0.30.2', 'honest');

    const resetsOf = async (name: string) =>
      (await subjectsTo(`${name}@example.com`)).filter(
        (subject) => subject === 'Reset your password',
      ).length;
    const sent = await Promise.all(names.map(resetsOf));
    expect(sent.reduce((total, count) => total + count)).toBe(5);
    expect(await resetsOf('honest')).toBe(1);
    await gatehouse.table.transact([put(allResetsKey, { ...full, n: 0 })], randomUUID());
  });

  it('is not sent beyond the limit of an address that a user has set, which can move', async () => {
    const { user, token } = await gatehouse.makeCaller('restless', { password: 'restless' });
    const key = mailCountKey(user.id, 'emailChanged');
    const almost = { n: 1, since: Date.now(), expires: Math.floor(Date.now() / 1000) + 3600 };
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
