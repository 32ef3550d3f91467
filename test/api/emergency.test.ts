import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import {
  armEmergencyAccount,
  disarmEmergencyAccount,
} from '../../lib/operations/administrators/emergency.ts';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import { commit } from '../../lib/table/change.ts';
import { put } from '../../lib/table/write.ts';
import { armingKey, findArming } from '../../lib/users/emergency-account.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { openMeanwhile } from '../support/instance/hold-transactions.ts';
import {
  expectIntact,
  type Items,
  itemsOf,
  restoreItems,
  setUser,
} from '../support/instance/items.ts';
import type { Gatehouse, Received } from '../support/instance/launch.ts';
import { decode } from '../support/instance/mint.ts';
import { openSetup } from '../support/instance/setup.ts';
import { assemblyWith } from '../support/stack/stack.ts';
import { recordUnused } from '../support/stack/unused-permissions.ts';

/*
 * Log-ins where people log in with the identity provider only: of the account that an operator can
 * arm, and of others. test/local/emergency.test.ts has the operator's command.
 */

const CHANGES = { ssoOnly: { emergencyAccount: 'emergency' } };
const ROUTE = 'POST /api/authenticate';

/** What happens before the next session is stored. */
const meanwhile = openMeanwhile(
  ({ functionName, input }) =>
    functionName === ROUTE && JSON.stringify(input).includes('"SESSION#'),
);
const calls: string[] = [];
let gatehouse: Gatehouse;
let admin: string;
let start: Items;
const people = new Map<string, { readonly id: number; readonly totp: Buffer }>();
const idOf = (login: string) => people.get(login)?.id as number;
beforeAll(async () => {
  gatehouse = await startGatehouse({
    assembly: inject('assembly'),
    onUnusedPermissions: (permissions) => recordUnused(inject('assembly'), permissions),
    async intercept(call, forward) {
      if (call.functionName === ROUTE) calls.push(call.operation);
      await meanwhile.before(call);
      return forward();
    },
  });
  const setup = await openSetup(gatehouse);
  admin = await gatehouse.adminToken();
  for (const login of ['emergency', 'colleague']) {
    const { user } = await setup.account({ login, email: `${login}@example.com` });
    const { secrets } = await setup.secondFactor(user);
    people.set(login, { id: user.id, totp: secrets.totp });
  }
  await gatehouse.cloud.redeploy(assemblyWith('dev', CHANGES));
  start = await itemsOf(gatehouse.cloud);
});
beforeEach(async () => {
  await gatehouse.cloud.mailsHandedOver();
  await restoreItems(gatehouse.cloud, start);
  gatehouse.cloud.mails.splice(0);
});
afterAll(async () => {
  await expectIntact(gatehouse);
  await gatehouse.stop();
});

function logIn(username: string, changes: object = {}): Promise<Received> {
  const { totp } = people.get(username) ?? {};
  const code = totp && codeOf(totp, stepAt(Date.now()));
  const body = { username, password: 'pass', code, ...changes };
  return gatehouse.call('POST', '/api/authenticate', { body });
}
const arm = (login: string, minutes = 5) =>
  armEmergencyAccount(gatehouse.table, login, { minutes, reason: 'outage', by: 'operator' });
const disarm = () => disarmEmergencyAccount(gatehouse.table, 'operator');
const armUntil = (expires: number) => {
  const about = { userId: idOf('emergency'), login: 'emergency', reason: 'outage', by: 'operator' };
  return commit(gatehouse.table, [put(armingKey, { ...about, expires })]);
};
const removeFactor = () => setUser(gatehouse.table, idOf('emergency'), { secondFactor: undefined });
const now = () => Math.floor(Date.now() / 1000);
const audited = async () => {
  const actions = 'login.failed,emergency.armed,emergency.disarmed,emergency.used';
  const query = `action.in=${actions}&sort=time,asc`;
  return (await gatehouse.call('GET', `/api/audits?${query}`, { token: admin })).body;
};
const REJECTED = 'Bad credentials';
const outcomeOf = ({ status, body }: Received) => (status === 200 ? 'admitted' : body.detail);

describe('a log-in with password and code', () => {
  it.each<[string, login: string, () => unknown, outcome: string]>([
    ['is rejected while no account is armed', 'emergency', () => undefined, REJECTED],
    ['is admitted while the account is armed', 'emergency', () => arm('emergency'), 'admitted'],
    ['is rejected after that', 'emergency', () => armUntil(now()), REJECTED],
    ['of another account is rejected', 'colleague', () => arm('emergency'), REJECTED],
    ['is rejected if another account is armed', 'emergency', () => arm('colleague'), REJECTED],
    [
      'of an armed account that the setting does not name is rejected',
      'colleague',
      () => arm('colleague'),
      REJECTED,
    ],
    [
      'is rejected once the account has no factor',
      'emergency',
      async () => {
        await arm('emergency');
        await removeFactor();
      },
      REJECTED,
    ],
    [
      'is rejected once the account is disarmed',
      'emergency',
      async () => {
        await arm('emergency');
        await disarm();
      },
      REJECTED,
    ],
  ])('%s', async (_, login, prepare, outcome) => {
    await prepare();

    const received = await logIn(login);

    expect(outcomeOf(received)).toBe(outcome);
    const actions = (await audited()).map(({ action }: { action: string }) => action);
    expect(actions.includes('emergency.used')).toBe(outcome === 'admitted');
    expect(actions.includes('login.failed')).toBe(outcome === REJECTED);
  });

  it.each<[string, () => unknown, outcome: string]>([
    ['is disarmed', disarm, REJECTED],
    ['is armed for longer', () => arm('emergency', 9), 'admitted'],
    ['is disarmed by a restore, and another one is armed', () => arm('colleague'), REJECTED],
    ['loses its factor', removeFactor, REJECTED],
  ])('depends on its account as of the commit, if it %s before', async (_, act, outcome) => {
    await arm('emergency');

    const received = await meanwhile.during(() => logIn('emergency'), act as never);

    expect(outcomeOf(received)).toBe(outcome);
  });

  it('is rejected as a wrong password is: with the same response, calls and audit', async () => {
    const observe = async (changes: object, prepare: () => unknown = () => undefined) => {
      await restoreItems(gatehouse.cloud, start);
      await prepare();
      await logIn('nobody');
      calls.splice(0);
      const { status, text, headers } = await logIn('emergency', changes);
      const observed = [...calls.sort()];
      const query = 'action.equals=login.failed&targetName.equals=emergency';
      const { body } = await gatehouse.call('GET', `/api/audits?${query}`, { token: admin });
      return { status, text, challenge: headers['www-authenticate'], observed, n: body.length };
    };

    const wrong = await observe({ password: 'wrong' }, () => arm('emergency'));
    expect([wrong.status, wrong.n]).toEqual([401, 1]);
    expect(await observe({})).toEqual(wrong);
    // Whoever knows a password learns neither that it is right nor that there is a factor.
    expect(await observe({ code: '' })).toEqual(wrong);
    expect(await observe({ code: '000000' })).toEqual(wrong);
  });
});

describe('the emergency', () => {
  it('has a session of the usual lifetime, which lasts when the account is disarmed', async () => {
    await arm('emergency');
    const { body } = await logIn('emergency', { rememberMe: true });
    await disarm();

    const { exp, iat } = decode(body.id_token.split('.')[1]) as Record<string, number>;
    const { body: sessions, status } = await gatehouse.call('GET', '/api/account/sessions', {
      token: body.id_token,
    });
    expect((exp as number) - (iat as number)).toBe(3600);
    expect(status).toBe(200);
    expect(sessions.filter(({ current }: { current: boolean }) => current)).toMatchObject([
      { remembered: false, secondFactor: true },
    ]);
    expect(outcomeOf(await logIn('emergency'))).toBe(REJECTED);
  });

  it('is told to all administrators, audited, and raises the alarm', async () => {
    const before = gatehouse.lines.length;
    const armed = await arm('emergency');
    const until = new Date(Number((await findArming(gatehouse.table))?.expires) * 1000);
    await logIn('emergency');
    await disarm();
    expect(await disarm()).toBeUndefined();

    expect(armed).toEqual({ outcome: 'armed', until, notified: 3 });
    await gatehouse.cloud.mailsHandedOver();
    const mails = gatehouse.cloud.mails.map(({ to, subject }) => `${to}: ${subject}`).sort();
    expect(mails).toEqual(
      ['admin@example.com', 'colleague@example.com', 'emergency@example.com'].flatMap((address) => [
        `${address}: The emergency account has logged in`,
        `${address}: The emergency account was armed`,
      ]),
    );
    const account = { target: `user/${idOf('emergency')}`, targetName: 'emergency' };
    const operator = { actor: 'system', session: 'emergency', ...account };
    const by = { field: 'by', to: 'operator' };
    const stated = [
      { field: 'expires', to: until.toISOString() },
      { field: 'reason', to: 'outage' },
      by,
    ];
    expect(await audited()).toMatchObject([
      { action: 'emergency.armed', ...operator, changes: stated },
      { action: 'emergency.used', actor: 'emergency', ...account },
      { action: 'emergency.disarmed', ...operator, changes: [by] },
    ]);
    const logged = gatehouse.lines.slice(before).filter((line) => line.includes('"emergencies":1'));
    const alarms = logged.map((line) => JSON.parse(line));
    expect(alarms.map(({ emergency }) => emergency).sort()).toEqual(['armed', 'used']);
    for (const { _aws } of alarms)
      expect(_aws.CloudWatchMetrics).toMatchObject([
        { Dimensions: [[]], Metrics: [{ Name: 'emergencies', Unit: 'Count' }] },
      ]);
  });
});
