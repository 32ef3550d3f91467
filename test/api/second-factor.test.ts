import { KMSClient } from '@aws-sdk/client-kms';
import { beforeAll, describe, expect, it } from 'vitest';
import { authenticator } from '../../infra/commands/deploy/authenticator.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { openFactorSecrets } from '../../lib/second-factor/factor-secrets.ts';
import { base32, codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import type { User } from '../../lib/users/user.ts';
import type { SecondFactor } from '../../lib/users/user-factor.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { lastFailedAgo } from '../support/instance/attempts.ts';
import { useGatehouse, useSetup } from '../support/instance/gatehouse.ts';
import { openMeanwhile } from '../support/instance/hold-transactions.ts';
import { itemsOf, setUser } from '../support/instance/items.ts';
import { decode } from '../support/instance/mint.ts';
import { factorKeyOf } from '../support/instance/setup.ts';
import { turnOnFactor } from '../support/instance/users.ts';

/* The second factor of an account, from its first secret to its removal. */

/** What happens before the next log-in stores its session, once it has verified the code. */
const meanwhile = openMeanwhile(({ input }) => JSON.stringify(input).includes('SESSION#'));
/** Whether calls of functions to KMS fail. */
let isOutage = false;
const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    if (isOutage && call.service === 'KMS' && call.functionName)
      return { status: 500, body: { __type: 'KMSInternalException' } };
    await meanwhile.before(call);
    return forward();
  },
});
const { table } = gatehouse;
const setup = useSetup(gatehouse);
let admin: string;
beforeAll(async () => {
  admin = await gatehouse.adminToken();
});

const FACTOR = '/api/account/second-factor';
const post = (path: string, token: string, body: object) =>
  gatehouse.call('POST', path, { token, body });
const account = async (token: string) =>
  (await gatehouse.call('GET', '/api/account', { token })).body;
const stored = async (login: string) => (await findUserByLogin(table, login)) as User;
const tryLogIn = (username: string, password: string, code?: string | null) =>
  gatehouse.call('POST', '/api/authenticate', { body: { username, password, code } });
const statusAndMessage = ({ status, body }: Awaited<ReturnType<typeof tryLogIn>>) => [
  status,
  body?.message,
];
const entriesOf = async (query: string) =>
  (await gatehouse.call('GET', `/api/audits?${query}`, { token: admin })).body as Record<
    string,
    unknown
  >[];

/** The secrets of a user's factor, as the functions derive them. */
async function secretsOf(login: string) {
  const { endpoint, region } = gatehouse.cloud;
  const kms = new KMSClient({ endpoint, region, credentials: OPERATOR });
  const { id, secondFactor } = await stored(login);
  const derive = openFactorSecrets(factorKeyOf(gatehouse.cloud), kms);
  return derive(id, secondFactor as SecondFactor);
}
const codeBy = (secrets: { readonly totp: Buffer }) => codeOf(secrets.totp, stepAt(Date.now()));
/** A code that is right and was not used. A test could not wait for the next one. */
async function unusedCode(login: string): Promise<string> {
  const { id, secondFactor } = await stored(login);
  const forgotten = { ...(secondFactor as SecondFactor), lastStep: 0 };
  await setUser(table, id, { secondFactor: forgotten });
  return codeBy(await secretsOf(login));
}

/** An account whose factor is on, with a session that turned it on. */
async function enrolled(login: string) {
  await gatehouse.makeUser(login, { authorities: ['ROLE_USER'] });
  return turnOnFactor(gatehouse, login);
}

describe('turning on the second factor', () => {
  it('takes the password, then a code, and ends the other sessions', async () => {
    await gatehouse.makeUser('starter');
    const [token, other] = [await gatehouse.logIn('starter'), await gatehouse.logIn('starter')];

    const { body: enrolment } = await post(FACTOR, token, { currentPassword: 'starter' });
    const before = await account(token);
    const code = authenticator(enrolment.secret).code();
    const { status, body } = await post(`${FACTOR}/confirm`, token, { code });

    const { secret } = enrolment;
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(enrolment.uri).toBe(
      `otpauth://totp/gatehouse-dev:starter?secret=${secret}&issuer=gatehouse-dev&` +
        'algorithm=SHA1&digits=6&period=30',
    );
    expect([status, new Set(body.recoveryCodes).size]).toEqual([200, 10]);
    for (const recoveryCode of body.recoveryCodes)
      expect(recoveryCode).toMatch(/^[A-Z2-7]{4}-[A-Z2-7]{4}$/);
    expect(before).toMatchObject({ secondFactor: false, recoveryCodesLeft: 0 });
    expect(await account(token)).toMatchObject({ secondFactor: true, recoveryCodesLeft: 10 });
    expect((await account(other)).status).toBe(401);
    const notices = await gatehouse.mailsTo('starter@example.com');
    expect(notices.map(({ subject }) => subject)).toContain('Your second factor was changed');
    const { id } = await stored('starter');
    const entries = await entriesOf(`actorId.equals=${id}&target.equals=user/${id}`);
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['secondFactor.requested', 'secondFactor.enabled']),
    );
  });

  it('is completed by the session that began it', async () => {
    await gatehouse.makeUser('divided');
    const [one, other] = [await gatehouse.logIn('divided'), await gatehouse.logIn('divided')];
    const { body } = await post(FACTOR, one, { currentPassword: 'divided' });
    const code = authenticator(body.secret).code();

    const byOther = await post(`${FACTOR}/confirm`, other, { code });
    const byOne = await post(`${FACTOR}/confirm`, one, { code });

    expect(statusAndMessage(byOther)).toEqual([400, 'error.secondfactoroff']);
    expect(byOne.status).toBe(200);
  });

  it('fails while it is on, and with the secret of an earlier request', async () => {
    const { token } = await enrolled('eager');
    await gatehouse.makeUser('again');
    const again = await gatehouse.logIn('again');
    const { body } = await post(FACTOR, again, { currentPassword: 'again' });
    await post(FACTOR, again, { currentPassword: 'again' });

    const whileOn = await post(FACTOR, token, { currentPassword: 'wrong' });
    const code = authenticator(body.secret).code();
    const former = await post(`${FACTOR}/confirm`, again, { code });

    expect(statusAndMessage(whileOn)).toEqual([400, 'error.secondfactoron']);
    expect(statusAndMessage(former)).toEqual([400, 'error.wrongcode']);
  });
});

describe('a login with a second factor', () => {
  it('takes the code in its field, or after the password', async () => {
    await enrolled('typist');

    const inField = await tryLogIn('typist', 'typist', await unusedCode('typist'));
    const appended = await tryLogIn('typist', `typist${await unusedCode('typist')}`);

    expect([inField.status, appended.status]).toEqual([200, 200]);
    const { body } = await gatehouse.call('GET', '/api/account/sessions', {
      token: inField.body.id_token,
    });
    expect(body.map((each: Record<string, unknown>) => each.secondFactor)).toEqual([
      ...[true, true, false],
    ]);
  });

  it('asks for a code only after the right password, and counts no failure then', async () => {
    await enrolled('asked');
    await gatehouse.makeUser('plain');

    for (let n = 0; n < 12; n++)
      expect(
        statusAndMessage(await tryLogIn('asked', 'asked', ['', null, '\u200b'][n % 3])),
      ).toEqual([401, 'error.coderequired']);
    for (const code of ['', null, '123456', '000000'])
      expect(statusAndMessage(await tryLogIn('asked', 'wrong', code))).toEqual(
        statusAndMessage(await tryLogIn('plain', 'wrong', code)),
      );
    expect((await tryLogIn('plain', 'plain', '')).status).toBe(200);
  });

  it('accepts each recovery code once', async () => {
    const { token, recoveryCodes } = await enrolled('lost');
    const [first, second] = recoveryCodes;

    const used = await tryLogIn('lost', 'lost', first);
    const again = await tryLogIn('lost', 'lost', first);
    const other = await tryLogIn('lost', 'lost', second);

    expect([used.status, again.status, other.status]).toEqual([200, 401, 200]);
    expect((await account(token)).recoveryCodesLeft).toBe(8);
    const { id } = await stored('lost');
    const entries = await entriesOf(`actorId.equals=${id}&action.equals=session.started`);
    expect(entries.map(({ fields }) => fields)).toEqual([['recoveryCodes'], ['recoveryCodes'], []]);
  });

  it('counts guesses of codes, also if a code is asked for or the password changed', async () => {
    const { token } = await enrolled('changes');
    const guess = async (n: number) => {
      await tryLogIn('changes', 'changes', '');
      return (await tryLogIn('changes', 'changes', `1000${n + 10}`)).status;
    };
    for (let n = 0; n < 9; n++) await guess(n);

    const body = { currentPassword: 'changes', newPassword: 'changes' };
    const { status } = await post('/api/account/change-password', token, body);
    const statuses: number[] = [];
    for (let n = 9; n < 12; n++) statuses.push(await guess(n));

    expect(status).toBe(200);
    expect(statuses).toContain(429);
  });

  it('asks nobody for a code whose account is deactivated', async () => {
    const { user } = await setup.account({ activated: false });
    await setup.secondFactor(user);

    const refused = await tryLogIn(user.login, 'pass', '');

    expect(statusAndMessage(refused)).toEqual([401, 'error.http.401']);
  });

  it('rehashes the password without the code that follows it', async () => {
    const { user } = await setup.account({ passwordHash: await setup.outdatedHash() });
    const { secrets, recoveryCodes } = await setup.secondFactor(user);
    const code = codeBy(secrets);

    const appended = await tryLogIn(user.login, `pass${code}`);
    const { passwordHash } = await stored(user.login);
    const again = await tryLogIn(user.login, 'pass', recoveryCodes[0]);

    expect([appended.status, again.status]).toEqual([200, 200]);
    expect(passwordHash).not.toBe(user.passwordHash);
    expect((await stored(user.login)).passwordHash).toBe(passwordHash);
  });

  it('starts one session with a code that is sent twice at once', async () => {
    await enrolled('hurried');
    const code = await unusedCode('hurried');
    let other = 0;

    const { status } = await meanwhile.during(
      () => tryLogIn('hurried', 'hurried', code),
      async () => {
        other = (await tryLogIn('hurried', 'hurried', code)).status;
      },
    );

    expect([status, other]).toEqual([401, 200]);
  });

  const REFUSED = [401, undefined];
  it.each<[string, (user: User) => Promise<unknown>, outcome: unknown[]]>([
    [
      'is renamed',
      ({ id, email }) =>
        gatehouse.call('PUT', '/api/users', { token: admin, body: { id, email, login: `n${id}` } }),
      REFUSED,
    ],
    [
      'is deleted',
      ({ login }) => gatehouse.call('DELETE', `/api/users/${login}`, { token: admin }),
      REFUSED,
    ],
    ['has another password', ({ id }) => setUser(table, id, { passwordChanges: 9 }), REFUSED],
    ['has no factor', ({ id }) => setUser(table, id, { secondFactor: undefined }), [200, false]],
    [
      'is another one, without a factor',
      ({ id }) => setUser(table, id, { incarnation: 'other', secondFactor: undefined }),
      REFUSED,
    ],
  ])('depends on the account as of the commit, if it %s then', async (_, act, outcome) => {
    const { user } = await setup.account();
    const code = codeBy((await setup.secondFactor(user)).secrets);

    const { status, body } = await meanwhile.during(
      () => tryLogIn(user.login, 'pass', code),
      () => act(user),
    );

    const token = body.id_token;
    const { body: sessions } = await gatehouse.call('GET', '/api/account/sessions', { token });
    const own = [sessions].flat().find(({ current }) => current);
    expect([status, own?.secondFactor]).toEqual(outcome);
  });
});

describe('a second factor', () => {
  it('is turned off with the password and a code', async () => {
    const { token } = await enrolled('leaver');
    const disable = (currentPassword: string, code: string) =>
      post(`${FACTOR}/disable`, token, { currentPassword, code });

    const wrongPassword = await disable('leavex', await unusedCode('leaver'));
    const wrongCode = await disable('leaver', 'AAAA-AAAA');
    const { status, text } = await disable('leaver', await unusedCode('leaver'));
    const again = await disable('leavex', '000000');

    expect(wrongPassword.body.title).toBe('Incorrect password');
    expect(wrongCode.body.message).toBe('error.wrongcode');
    expect([status, text]).toEqual([200, '']);
    expect(statusAndMessage(again)).toEqual([400, 'error.secondfactoroff']);
    expect((await tryLogIn('leaver', 'leaver')).status).toBe(200);
    const { id, factorChanges } = await stored('leaver');
    expect(factorChanges).toBe(2);
    const actions = 'login.codeRejected,secondFactor.disabled';
    const entries = await entriesOf(`target.equals=user/${id}&action.in=${actions}&sort=time,asc`);
    expect(entries.map(({ action }) => action).join()).toBe(actions);
  });

  it('gets new recovery codes, of which only they are accepted', async () => {
    const { token, recoveryCodes: former } = await enrolled('printer');
    const replace = (code: string) =>
      post(`${FACTOR}/recovery-codes`, token, { currentPassword: 'printer', code });

    const { status, body } = await replace(String(former[9]));

    expect(status).toBe(200);
    expect(body.recoveryCodes.filter((code: string) => former.includes(code))).toEqual([]);
    expect((await tryLogIn('printer', 'printer', former[0])).status).toBe(401);
    expect((await tryLogIn('printer', 'printer', body.recoveryCodes[9])).status).toBe(200);
    expect((await account(token)).recoveryCodesLeft).toBe(9);
    const code = await unusedCode('printer');
    const statuses = [(await replace(code)).status, (await replace(code)).status];
    expect([...statuses, (await tryLogIn('printer', 'printer', code)).status]).toEqual([
      ...[200, 400, 401],
    ]);
    const { id } = await stored('printer');
    const query = `target.equals=user/${id}&action.equals=recoveryCodes.replaced`;
    expect(await entriesOf(query)).toHaveLength(2);
    const mails = await gatehouse.mailsTo('printer@example.com');
    expect(mails.filter(({ subject }) => /second factor/.test(subject))).toHaveLength(3);
  });

  it.each([
    ['/api/account/change-password', 'password', 'error.http.400'],
    [FACTOR, 'password', 'error.http.400'],
    [`${FACTOR}/disable`, 'password', 'error.http.400'],
    [`${FACTOR}/disable`, 'factor', 'error.wrongcode'],
  ])('POST %s fails if the %s is replaced before the commit', async (path, what, message) => {
    const { user, token } = await setup.account();
    const { secrets } = path === `${FACTOR}/disable` ? await setup.secondFactor(user) : {};
    const code = secrets && codeBy(secrets);
    const body = { currentPassword: 'pass', newPassword: 'passed', code };

    const refused = await meanwhile.during(
      () => post(path, token, body),
      async () => {
        if (what === 'factor') await setup.secondFactor(user);
        else await post('/api/account/change-password', token, body);
      },
    );

    expect(statusAndMessage(refused)).toEqual([400, message]);
  });

  describe.each(['', '/confirm', '/disable', '/recovery-codes'])('at its path "%s"', (path) => {
    /** An account that can use the path, with the code that it takes. */
    async function callerWithCode() {
      const { user, token } = await setup.account();
      const isOn = path === '/disable' || path === '/recovery-codes';
      const pendingIn = isOn ? undefined : String(decode(token.split('.')[1]).jti);
      const { secrets } = await setup.secondFactor(user, pendingIn);
      return { user, token, code: codeBy(secrets) };
    }

    it(`cannot be used to guess a ${path === '/confirm' ? 'code' : 'password'}`, async () => {
      const { user, token } = await callerWithCode();
      const statuses = new Set<number>();

      for (let n = 0; n < 14; n++) {
        const guess = { currentPassword: `guess ${n}`, code: `0000${n + 10}` };
        statuses.add((await post(FACTOR + path, token, guess)).status);
      }

      expect([...statuses]).toEqual([400, 429]);
      await lastFailedAgo(gatehouse, -60);
      expect((await tryLogIn(user.login, 'pass')).status).toBe(429);
    });

    it('counts no failure if KMS fails', async () => {
      const { token, code } = await callerWithCode();
      const send = () => post(FACTOR + path, token, { currentPassword: 'pass', code });
      // The cold start calls KMS.
      await post(FACTOR + path, token, { currentPassword: 'wrong', code: '000000' });

      isOutage = true;
      const failed: number[] = [];
      for (let n = 0; n < 12; n++) failed.push((await send()).status);
      isOutage = false;

      expect(new Set(failed)).toEqual(new Set([503]));
      expect((await send()).status).toBe(200);
    });
  });

  it('is removed by another administrator, which ends all sessions', async () => {
    const { token } = await enrolled('helpless');
    const remove = (login: string, by = admin) =>
      gatehouse.call('POST', `/api/users/${login}/second-factor/remove`, { token: by });
    const shown = await gatehouse.call('GET', '/api/users/helpless', { token: admin });

    const own = await remove('admin');
    const { status, text } = await remove('helpless');

    expect(shown.body.secondFactor).toBe(true);
    expect([own.status, status, text]).toEqual([403, 200, '']);
    expect((await account(token)).status).toBe(401);
    expect((await remove('helpless')).status).toBe(404);
    expect((await remove('nobody')).status).toBe(404);
    expect((await tryLogIn('helpless', 'helpless')).status).toBe(200);
    expect(await gatehouse.mailsTo('helpless@example.com')).toHaveLength(2);
    const { id } = await stored('helpless');
    const entries = await entriesOf(`target.equals=user/${id}&action.equals=secondFactor.removed`);
    expect(entries).toMatchObject([{ actor: 'admin' }]);
  });

  it('leaves no trace in the table that helps to compute a code', async () => {
    const { recoveryCodes } = await enrolled('dumped');
    const { totp } = await secretsOf('dumped');
    const dump = JSON.stringify([...(await itemsOf(gatehouse.cloud))], (_, value) =>
      value instanceof Set ? [...value] : value,
    );

    const forms = [
      base32(totp),
      ...recoveryCodes.flatMap((code: string) => [code, code.replace('-', '')]),
    ];
    for (const encoding of ['hex', 'base64', 'base64url', 'latin1'] as const)
      forms.push(totp.toString(encoding));
    expect(dump).toContain('dumped');
    expect(forms.filter((form) => dump.includes(form))).toEqual([]);
  });
});
