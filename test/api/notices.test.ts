import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openFaults } from '../../infra/local/aws/faults.ts';
import { countMail, MAILS_PER_WINDOW } from '../../lib/mail/mail-limit.ts';
import { mailCountKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { useGatehouse } from '../support/gatehouse.ts';
import { LONG } from '../support/long.ts';

/*
 * Notices of changed e-mail addresses and passwords, and the limit on mail per account. The tests that wait for mail
 * are concurrent.
 */

/** What SES does with the mails to an account and its new address, both of which contain this name. */
const FAULTS = (['throttle', 'error-before', 'slow'] as const).map((fault) => {
  const faults = openFaults();
  faults.inject([{ service: 'SES', fault }]);
  return { name: `unheard-${fault}`, faults };
});
const gatehouse = await useGatehouse({
  intercept(call, forward) {
    const to = JSON.stringify(call.input.Destination ?? '');
    return FAULTS.find(({ name }) => to.includes(name))?.faults.intercept(call, forward) ?? forward();
  },
});

const INIT = '/api/account/reset-password/init';
const FINISH = '/api/account/reset-password/finish';

const mailsTo = (address: string) => gatehouse.mailsTo(address);
const subjectsTo = (address: string) => mailsTo(address).map(({ subject }) => subject);
const setAddress = (token: string, email: string) => gatehouse.call('POST', '/api/account', { token, body: { email } });
const setPassword = (token: string, currentPassword: string, newPassword: string) =>
  gatehouse.call('POST', '/api/account/change-password', { token, body: { currentPassword, newPassword } });
const requestReset = (email: string) => gatehouse.call('POST', INIT, { body: { email } });

describe('the notice of a new e-mail address', () => {
  it('goes only to the previous address when users change their own', async () => {
    const { token } = await gatehouse.makeCaller('mover', { password: 'mover' });

    await setAddress(token, 'moved@example.com');

    const [mail, ...others] = mailsTo('mover@example.com');
    expect([mail?.subject, others]).toEqual(['Your e-mail address was changed', []]);
    expect(mail?.text).toContain('Dear mover,');
    expect(mail?.text).toContain('Mail about the account now goes to the new address.');
    expect(mail?.text).not.toContain('moved@example.com');
    expect(mailsTo('moved@example.com')).toEqual([]);
  });

  it('goes to the previous address in its language when an administrator changes it', async () => {
    const user = await gatehouse.makeUser('umzug', { password: 'pass', langKey: 'de' });
    const token = await gatehouse.adminToken();

    await gatehouse.call('PUT', '/api/users', {
      token,
      body: { ...user, email: 'umgezogen@example.com', langKey: 'en' },
    });

    expect(subjectsTo('umzug@example.com')).toEqual(['Ihre E-Mail-Adresse wurde geändert']);
  });

  it('is not sent when the address stays the same, is taken, or the If-Match is stale', async () => {
    const { user, token } = await gatehouse.makeCaller('settled', { password: 'settled' });
    const admin = await gatehouse.adminToken();

    const responses = [
      await gatehouse.call('POST', '/api/account', { token, body: { firstName: 'New', email: user.email } }),
      await gatehouse.call('PUT', '/api/users', { token: admin, body: { ...user, lastName: 'New' } }),
      await setAddress(token, 'admin@example.com'),
      await gatehouse.call('PUT', '/api/users', {
        token: admin,
        body: { ...user, email: 'elsewhere@example.com' },
        headers: { 'If-Match': '"none"' },
      }),
    ];

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 400, 412]);
    expect(mailsTo('settled@example.com')).toEqual([]);
  });
});

describe.concurrent('a notice that SES does not accept', () => {
  it.each(FAULTS)('does not prevent the change: $name', { timeout: 30_000 }, async ({ name }) => {
    const { user, token } = await gatehouse.makeCaller(name, { password: name });
    const email = `${name}@elsewhere.example.com`;

    const responses = [await setAddress(token, email), await setPassword(token, name, 'fresh')];

    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const logged = gatehouse.lines.filter((line) => line.startsWith(`{"userId":${user.id},`));
    expect(logged).toEqual(Array(2).fill(expect.stringContaining('noticeNotSent')));
    expect((await gatehouse.call('GET', '/api/account', { token })).body.email).toBe(email);
    expect(await gatehouse.logIn(name, 'fresh')).toBeTruthy();
  });
});

describe.concurrent('mail to one account', () => {
  const NOW = Date.UTC(2030, 0, 1);
  const HOUR = 3_600_000;

  it('is counted per hour and kind of mail', () => {
    const count = (n: number, ago: number) => countMail(7, 'reset', { n, since: NOW - ago }, NOW)?.attributes;

    expect(countMail(7, 'reset', undefined, NOW)).toMatchObject({
      key: { pk: 'MAILS#0000000000000007', sk: 'reset' },
      attributes: { n: 1, since: NOW, expires: NOW / 1000 + 3600 },
    });
    expect(count(4, HOUR - 1)).toMatchObject({ n: 5, since: NOW - HOUR + 1 });
    expect(count(5, HOUR - 1)).toBeUndefined();
    expect(count(5, HOUR)).toMatchObject({ n: 1, since: NOW });
  });

  it('is limited exactly under concurrent requests, whose responses do not reveal the limit', {
    timeout: 60_000,
  }, async () => {
    const { id } = await gatehouse.makeUser('popular');
    const counted = async () => (await gatehouse.table.get(mailCountKey(id, 'reset')))?.n as number;

    const responses = await Promise.all(
      Array.from({ length: LONG ? 60 : 8 }, () => requestReset('popular@example.com')),
    );

    // On a busy machine, a request can run out of time before it is counted, or between the count and the mail.
    while ((await counted()) < MAILS_PER_WINDOW.reset) await requestReset('popular@example.com');
    await requestReset('popular@example.com');

    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 ']));
    expect(await counted()).toBe(MAILS_PER_WINDOW.reset);
    expect(mailsTo('popular@example.com').length).toBeGreaterThan(0);
    expect(mailsTo('popular@example.com').length).toBeLessThanOrEqual(MAILS_PER_WINDOW.reset);
  });

  it('is sent again after the hour', async () => {
    const anHourAgo = Date.now() - HOUR;
    const starts = { early: anHourAgo + 60_000, patient: anHourAgo };
    for (const [login, start] of Object.entries(starts)) {
      const { id } = await gatehouse.makeUser(login, { password: 'pass' });
      const full = { n: MAILS_PER_WINDOW.reset, since: start, expires: Math.floor(Date.now() / 1000) + 60 };
      await gatehouse.table.transact([put(mailCountKey(id, 'reset'), full)], randomUUID());
    }

    await Promise.all(Object.keys(starts).map((login) => requestReset(`${login}@example.com`)));

    expect(mailsTo('early@example.com')).toEqual([]);
    expect(subjectsTo('patient@example.com')).toEqual(['Reset your password']);
  });

  it('is not sent beyond the limit, while changes of the address still succeed', async () => {
    const { user, token } = await gatehouse.makeCaller('restless', { password: 'restless' });
    const key = mailCountKey(user.id, 'emailChanged');
    const almost = { n: 18, since: Date.now(), expires: Math.floor(Date.now() / 1000) + 3600 };
    await gatehouse.table.transact([put(key, almost)], randomUUID());

    const statuses = [];
    for (let n = 0; n < 4; n++) {
      statuses.push((await setAddress(token, n % 2 ? 'restless@example.com' : 'RESTLESS@example.com')).status);
    }

    expect(statuses).toEqual([200, 200, 200, 200]);
    const mails = [...mailsTo('restless@example.com'), ...mailsTo('RESTLESS@example.com')];
    expect(mails).toHaveLength(2);
  });
});

describe.concurrent('the notice of a new password', () => {
  it('goes to the user who changed it, and is not sent when the current password was wrong', async () => {
    const { token } = await gatehouse.makeCaller('changer', { password: 'changer' });

    const wrong = await setPassword(token, 'wrong', 'fresh');
    const before = mailsTo('changer@example.com');
    const right = await setPassword(token, 'changer', 'fresh');

    expect([wrong.status, before, right.status]).toEqual([400, [], 200]);
    expect(subjectsTo('changer@example.com')).toEqual(['Your password was changed']);
  });

  it('is sent when the password was set with a mailed key', async () => {
    await gatehouse.makeUser('keyed', { langKey: 'de' });
    await requestReset('keyed@example.com');

    const body = { key: gatehouse.keyMailedTo('keyed@example.com'), newPassword: 'fresh' };
    const { status } = await gatehouse.call('POST', FINISH, { body });

    expect(status).toBe(200);
    expect(subjectsTo('keyed@example.com')).toEqual(['Neues Passwort', 'Ihr Passwort wurde geändert']);
  });
});
