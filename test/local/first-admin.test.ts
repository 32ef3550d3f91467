import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { createFirstAccounts } from '../../infra/local/first-accounts.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { commit } from '../../lib/table/change.ts';
import { remove, set } from '../../lib/table/write.ts';
import { loginGuardKey, rosterKey } from '../../lib/users/user-items.ts';
import { runOnTable } from '../support/commands/run-command.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact, itemsOf } from '../support/instance/items.ts';
import { turnOnFactor } from '../support/instance/users.ts';

const gatehouse = await useGatehouse({ breaksData: true });

const run = (login: string, ...options: string[]) =>
  runOnTable(gatehouse.cloud, 'first-admin', '--login', login, ...options);
const runFirstAdmin = (login: string) => run(login, '--email', `${login}@example.com`);
const passwordIn = (stdout: string) => /^Password: (\S{20})$/m.exec(stdout)?.[1];

const emptyRoster = () => commit(gatehouse.table, [set(rosterKey, { ids: undefined })]);

describe('an existing administrator who cannot log in', () => {
  // The others break the table on purpose.
  afterAll(() => expectIntact(gatehouse));

  const ADMINISTRATOR = { authorities: ['ROLE_ADMIN', 'ROLE_USER'] };
  const REMOVE = '--remove-second-factor';
  const NEW_PASSWORD = '--new-password';
  const ENDED = (login: string) =>
    `All sessions of ${login} have ended, and the user is informed by mail.\n`;

  const statusOfLogin = async (username: string, password: string | undefined) =>
    (await gatehouse.call('POST', '/api/authenticate', { body: { username, password } })).status;

  it('receives a password if the account never had one, and no other is left', async () => {
    await gatehouse.makeUser('ghost', { ...ADMINISTRATOR, password: undefined });

    const { code, stdout, stderr } = await run('ghost', NEW_PASSWORD);

    const password = passwordIn(stdout);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(
      `Password: ${password}\n` +
        'The password is shown only once and stored nowhere: log in and change it.\n' +
        ENDED('ghost'),
    );
    const token = await gatehouse.logIn('ghost', password);
    expect((await gatehouse.call('GET', '/api/audits', { token })).status).toBe(200);
  });

  it('logs in without the second factor once it is removed', async () => {
    await gatehouse.makeUser('phoneless', ADMINISTRATOR);
    const { token } = await turnOnFactor(gatehouse, 'phoneless');

    const { code, stdout } = await run('phoneless', REMOVE);
    const again = await run('phoneless', REMOVE);

    expect([code, stdout]).toEqual([
      0,
      `The second factor of phoneless is removed.\n${ENDED('phoneless')}`,
    ]);
    expect((await gatehouse.call('GET', '/api/account', { token })).status).toBe(401);
    expect(await statusOfLogin('phoneless', 'phoneless')).toBe(200);
    expect([again.code, again.stderr]).toEqual([
      1,
      'phoneless has no second factor. Nothing was changed.\n',
    ]);
  });

  it('is changed only if there is one', async () => {
    await gatehouse.makeUser('plain', ADMINISTRATOR);
    await gatehouse.makeUser('analyst', { authorities: ['ROLE_USER', 'ROLE_ANALYST'] });
    await gatehouse.makeUser('nothing', { authorities: [], activated: false });
    const before = await itemsOf(gatehouse.cloud);
    const refusals = [
      await run('nobody', NEW_PASSWORD),
      await run('plain', REMOVE, NEW_PASSWORD),
      await run('analyst', NEW_PASSWORD),
      await run('nothing', REMOVE),
    ];

    const isNot = (login: string) => `${login} is not an activated administrator: the account is`;
    expect(refusals).toEqual(
      [
        `${gatehouse.cloud.tableName} has no account nobody.`,
        'plain has no second factor.',
        `${isNot('analyst')} activated and has the roles ROLE_USER, ROLE_ANALYST.`,
        `${isNot('nothing')} deactivated and has no roles.`,
      ].map((sentence) => ({ code: 1, stdout: '', stderr: `${sentence} Nothing was changed.\n` })),
    );
    expect(await itemsOf(gatehouse.cloud)).toEqual(before);
  });
});

describe('the first administrator of a table', () => {
  it('can log in with the printed password', async () => {
    await emptyRoster();

    const { code, stdout, stderr } = await runFirstAdmin('root');
    const password = passwordIn(stdout);

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const token = await gatehouse.logIn('root', password);
    const { body } = await gatehouse.call('GET', '/api/account', { token });
    expect(body).toMatchObject({
      login: 'root',
      authorities: ['ROLE_ADMIN', 'ROLE_USER'],
      createdBy: 'system',
    });
  });

  it('is created with the printed command when the login or address admin is taken', async () => {
    const state = openMemoryState();
    await emptyRoster();
    const loginTaken = await createFirstAccounts(gatehouse.cloud, state);
    await commit(gatehouse.table, [remove(loginGuardKey('admin'))]);
    const addressTaken = await createFirstAccounts(gatehouse.cloud, state);
    state.close();
    const [, command = ''] = /: (env .*)$/.exec(loginTaken.join('\n')) ?? [];

    const person = command.replace('LOGIN', 'rescuer').replace('ADDRESS', 'rescuer@example.com');
    const { stdout } = await promisify(execFile)('bash', ['-c', person], {
      env: { ...process.env, AWS_PROFILE: 'missing' },
    });

    expect(addressTaken).toEqual(loginTaken);
    expect(stdout).toContain(`rescuer is now an administrator of ${gatehouse.cloud.tableName}.`);
  });

  it('is not created when there is an administrator', async () => {
    expect(await runFirstAdmin('second')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${gatehouse.cloud.tableName} already has an administrator. Nothing was changed.\n`,
    });
  });
});
