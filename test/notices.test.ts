import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { openFaults } from '../infra/local/aws/faults.ts';
import { MAILS_PER_WINDOW, mailCounted } from '../lib/mail/mail-limit.ts';
import { mailCountKey } from '../lib/table/keys.ts';
import { put } from '../lib/table/write.ts';
import { useGatehouse } from './support/gatehouse.ts';
import { LONG } from './support/long.ts';

/* Mail that nobody has asked for, or too many have: notices of changed addresses and passwords, and the limit of all mail. */

const faults = openFaults();
const gatehouse = useGatehouse({ intercept: faults.intercept });
afterEach(() => faults.inject([]));

const INIT = '/api/account/reset-password/init';
const FINISH = '/api/account/reset-password/finish';

const mailsTo = (address: string) => gatehouse.mailsTo(address);
const subjectsTo = (address: string) => mailsTo(address).map(({ subject }) => subject);
const setAddress = (token: string, email: string) => gatehouse.call('POST', '/api/account', { token, body: { email } });
const setPassword = (token: string, currentPassword: string, newPassword: string) =>
  gatehouse.call('POST', '/api/account/change-password', { token, body: { currentPassword, newPassword } });
const ask = (email: string) => gatehouse.call('POST', INIT, { body: { email } });

describe('a new address', () => {
  it('is told to the former one, and to nobody else, when users set their own', async () => {
    await gatehouse.makeUser('mover');
    const token = await gatehouse.logIn('mover');

    await setAddress(token, 'moved@example.com');

    const [mail, ...others] = mailsTo('mover@example.com');
    expect([mail?.subject, others]).toEqual(['Your e-mail address was changed', []]);
    expect(mail?.text).toContain('Dear mover,');
    expect(mail?.text).not.toContain('moved@example.com');
    expect(mailsTo('moved@example.com')).toEqual([]);
  });

  it('is told to the former one in the language of the user when an administrator sets it', async () => {
    const user = await gatehouse.makeUser('umzug', { langKey: 'de' });
    const token = await gatehouse.logIn('admin');

    await gatehouse.call('PUT', '/api/users', {
      token,
      body: { ...user, email: 'umgezogen@example.com', langKey: 'en' },
    });

    expect(subjectsTo('umzug@example.com')).toEqual(['Ihre E-Mail-Adresse wurde geändert']);
  });

  it('is not told where there is none: other changes, a taken address, a stale If-Match', async () => {
    const user = await gatehouse.makeUser('settled');
    const [token, admin] = [await gatehouse.logIn('settled'), await gatehouse.logIn('admin')];

    const answers = [
      await gatehouse.call('POST', '/api/account', { token, body: { firstName: 'New', email: user.email } }),
      await gatehouse.call('PUT', '/api/users', { token: admin, body: { ...user, lastName: 'New' } }),
      await setAddress(token, 'admin@example.com'),
      await gatehouse.call('PUT', '/api/users', {
        token: admin,
        body: { ...user, email: 'elsewhere@example.com' },
        headers: { 'If-Match': '"none"' },
      }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 412]);
    expect(mailsTo('settled@example.com')).toEqual([]);
  });
});

describe('a new password', () => {
  it('is told to the user who has set it, and to nobody whose current password was wrong', async () => {
    await gatehouse.makeUser('changer');
    const token = await gatehouse.logIn('changer');

    const wrong = await setPassword(token, 'wrong', 'fresh');
    const before = mailsTo('changer@example.com');
    const right = await setPassword(token, 'changer', 'fresh');

    expect([wrong.status, before, right.status]).toEqual([400, [], 200]);
    expect(subjectsTo('changer@example.com')).toEqual(['Your password was changed']);
  });

  it('is told when it was set by a mailed key', async () => {
    await gatehouse.makeUser('keyed', { langKey: 'de' });
    await ask('keyed@example.com');

    const body = { key: gatehouse.keyMailedTo('keyed@example.com'), newPassword: 'fresh' };
    const { status } = await gatehouse.call('POST', FINISH, { body });

    expect(status).toBe(200);
    expect(subjectsTo('keyed@example.com')).toEqual(['Neues Passwort', 'Ihr Passwort wurde geändert']);
  });
});

describe('a notice that SES does not take', () => {
  it.each([
    ['refused', 'throttle'],
    ['lost', 'error-before'],
    ['late', 'slow'],
  ] as const)('does not stand in the way of the change: %s', { timeout: 30_000 }, async (name, fault) => {
    const login = `unheard-${name}`;
    await gatehouse.makeUser(login);
    const token = await gatehouse.logIn(login);
    faults.inject([{ service: 'SES', fault }]);

    const answers = [await setAddress(token, `${name}@example.com`), await setPassword(token, login, 'fresh')];

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(gatehouse.lines.filter((line) => line.includes('noticeNotSent')).length).toBeGreaterThan(0);
    expect((await gatehouse.call('GET', '/api/account', { token })).body.email).toBe(`${name}@example.com`);
    expect(await gatehouse.logIn(login, 'fresh')).toBeTruthy();
  });
});

describe('mail to one account', () => {
  const NOW = Date.UTC(2030, 0, 1);
  const HOUR = 3_600_000;

  it('is counted for an hour, each occasion by itself', () => {
    const count = (n: number, ago: number) => mailCounted(7, 'reset', { n, since: NOW - ago }, NOW)?.attributes;

    expect(mailCounted(7, 'reset', undefined, NOW)).toMatchObject({
      key: { pk: 'MAILS#0000000000000007', sk: 'reset' },
      attributes: { n: 1, since: NOW, expires: NOW / 1000 + 3600 },
    });
    expect(count(4, HOUR - 1)).toMatchObject({ n: 5, since: NOW - HOUR + 1 });
    expect(count(5, HOUR - 1)).toBeUndefined();
    expect(count(5, HOUR)).toMatchObject({ n: 1, since: NOW });
  });

  it('is sent exactly as often as the limit says when many ask at once, and nobody is told', {
    timeout: 60_000,
  }, async () => {
    await gatehouse.makeUser('popular');

    const answers = await Promise.all(Array.from({ length: LONG ? 60 : 8 }, () => ask('popular@example.com')));

    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 ']));
    expect(subjectsTo('popular@example.com')).toEqual(Array(MAILS_PER_WINDOW.reset).fill('Reset your password'));
  });

  it('can be sent again when the hour is over', async () => {
    const { id } = await gatehouse.makeUser('patient');
    const key = mailCountKey(id, 'reset');
    const full = {
      n: MAILS_PER_WINDOW.reset,
      since: Date.now() - HOUR + 60_000,
      expires: Math.floor(Date.now() / 1000) + 60,
    };
    await gatehouse.table.transact([put(key, full)], randomUUID());

    await ask('patient@example.com');
    const before = mailsTo('patient@example.com');
    await gatehouse.table.transact([put(key, { ...full, since: Date.now() - HOUR })], randomUUID());
    await ask('patient@example.com');

    expect(before).toEqual([]);
    expect(subjectsTo('patient@example.com')).toEqual(['Reset your password']);
  });

  it('does not keep a change of the address from being made when there has been enough', async () => {
    const { id } = await gatehouse.makeUser('restless');
    const token = await gatehouse.logIn('restless');
    const key = mailCountKey(id, 'emailChanged');
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
