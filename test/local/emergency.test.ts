import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import { findArming } from '../../lib/users/emergency-account.ts';
import { operatorsEnvironment, runCommand } from '../support/commands/run-command.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact, itemsOf } from '../support/instance/items.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/*
 * Rehearses docs/runbook.md, "The identity provider is down": nobody can log in, and an operator
 * arms the emergency account. test/api/emergency.test.ts has the rules of the log-in.
 */

const CHANGES = { ssoOnly: { emergencyAccount: 'emergency' } };

let gatehouse: Gatehouse;
let setup: Setup;
let totp: Buffer;
beforeAll(async () => {
  synthesizeInProcess('dev', CHANGES);
  gatehouse = await startGatehouse({ assembly: inject('assembly') });
  setup = await openSetup(gatehouse);
  const { user } = await setup.account({ login: 'emergency' });
  totp = (await setup.secondFactor(user)).secrets.totp;
  await gatehouse.cloud.redeploy(assemblyOf('dev', CHANGES));
});
afterAll(async () => {
  await expectIntact(gatehouse);
  await gatehouse.stop();
});

const run = (...options: string[]) =>
  runCommand(
    'emergency',
    ['--table', gatehouse.cloud.tableName, ...options],
    operatorsEnvironment(gatehouse.cloud),
  );
const arm = (login: string) =>
  run('--login', login, '--minutes', '30', '--reason', 'The provider is down');
const logIn = (username: string, password: string) => {
  const code = codeOf(totp, stepAt(Date.now()));
  return gatehouse.call('POST', '/api/authenticate', { body: { username, password, code } });
};

describe('while the identity provider is down', () => {
  it('an operator arms the account, which is then used and disarmed', async () => {
    expect((await logIn('admin', 'admin')).status).toBe(401);
    expect((await logIn('emergency', 'pass')).status).toBe(401);

    const armed = await arm('emergency');
    const arming = await findArming(gatehouse.table);
    const { body, status } = await logIn('emergency', 'pass');
    const token = body.id_token;
    const change = { login: 'helper', email: 'helper@example.com', authorities: ['ROLE_USER'] };
    const created = await gatehouse.call('POST', '/api/users', { token, body: change });
    const disarmed = await run('--disarm');
    const again = await run('--disarm');

    const until = new Date((arming?.expires as number) * 1000).toISOString();
    expect(armed).toEqual({
      code: 0,
      stdout:
        `emergency is armed until ${until}.\n` +
        'It can log in with password and code if ssoOnly.emergencyAccount is "emergency".\n' +
        'Informed by mail: 2 administrators\n',
      stderr: '',
    });
    expect(Math.abs(Date.parse(until) - Date.now() - 30 * 60_000)).toBeLessThan(60_000);
    expect([status, created.status]).toEqual([200, 201]);
    expect(disarmed).toEqual({ code: 0, stdout: 'emergency is disarmed.\n', stderr: '' });
    expect(again).toEqual({ code: 0, stdout: 'No account is armed.\n', stderr: '' });
    expect((await logIn('emergency', 'pass')).status).toBe(401);

    const query = 'action.in=emergency.armed,emergency.disarmed,emergency.used,user.created';
    const path = `/api/audits?${query}&sort=time,asc&size=2000`;
    const { body: entries } = await gatehouse.call('GET', path, { token });
    const by = { field: 'by', to: 'local' };
    expect(entries.slice(-4)).toMatchObject([
      {
        action: 'emergency.armed',
        changes: [{ to: until }, { field: 'reason', to: 'The provider is down' }, by],
      },
      { actor: 'emergency', action: 'emergency.used', targetName: 'emergency' },
      { actor: 'emergency', action: 'user.created', targetName: 'helper' },
      { action: 'emergency.disarmed', changes: [by] },
    ]);
  });

  it('no account is armed that does not exist, is no administrator or has no factor', async () => {
    await setup.account({ login: 'analyst', authorities: ['ROLE_ANALYST'] });
    await setup.account({ login: 'dismissed', activated: false });
    const before = await itemsOf(gatehouse.cloud);

    const refusals = [];
    for (const login of ['nobody', 'analyst', 'dismissed', 'admin'])
      refusals.push(await arm(login));

    const isNot = (login: string) => `${login} is not an activated administrator: the account is`;
    expect(refusals).toEqual(
      [
        `${gatehouse.cloud.tableName} has no account nobody.`,
        `${isNot('analyst')} activated and has the roles ROLE_ANALYST.`,
        `${isNot('dismissed')} deactivated and has the roles ROLE_ADMIN, ROLE_USER.`,
        'admin has no second factor.',
      ].map((sentence) => ({ code: 1, stdout: '', stderr: `${sentence} Nothing was changed.\n` })),
    );
    expect(await itemsOf(gatehouse.cloud)).toEqual(before);
  });
});
