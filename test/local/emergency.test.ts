import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { codeOf, stepAt } from '../../lib/second-factor/totp.ts';
import { findArming } from '../../lib/users/emergency-account.ts';
import { runOnTable } from '../support/commands/run-command.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact, itemsOf } from '../support/instance/items.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * Rehearses docs/runbook.md, "The identity provider is down": nobody can log in, and an operator
 * arms the emergency account. test/api/emergency.test.ts has the rules of the log-in.
 */

let gatehouse: Gatehouse;
let setup: Setup;
let totp: Buffer;
beforeAll(async () => {
  gatehouse = await startGatehouse({ assembly: inject('assembly') });
  setup = await openSetup(gatehouse);
  const { user } = await setup.account({ login: 'emergency' });
  totp = (await setup.secondFactor(user)).secrets.totp;
  const ssoOnly = { emergencyAccount: 'emergency' };
  await gatehouse.cloud.redeploy(assemblyWith('dev', { ssoOnly }));
});
afterAll(async () => {
  await expectIntact(gatehouse);
  await gatehouse.stop();
});

const run = (...options: string[]) => runOnTable(gatehouse.cloud, 'emergency', ...options);
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

    const armedFrom = Date.now();
    const armed = await arm('emergency');
    const armedBy = Date.now();
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
    // It is stored in whole seconds.
    const startedAt = Date.parse(until) - 30 * 60_000;
    expect(startedAt).toBeGreaterThan(armedFrom - 1000);
    expect(startedAt).toBeLessThan(armedBy + 1000);
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

    expect(refusals).toEqual(
      ['no account nobody', 'analyst is not', 'dismissed is not', 'admin has no second factor'].map(
        (part) => ({ code: 1, stdout: '', stderr: expect.stringContaining(part) }),
      ),
    );
    expect(await itemsOf(gatehouse.cloud)).toEqual(before);
  });
});
