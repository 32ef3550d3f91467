import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { createFirstAccounts } from '../../infra/local/first-accounts.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { createFirstAdministrator } from '../../lib/operations/administrators/first-administrator.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import { commit } from '../../lib/table/change.ts';
import type { Table } from '../../lib/table/table.ts';
import { remove, sequenceKey } from '../../lib/table/write.ts';
import { loginGuardKey, rosterKey } from '../../lib/users/user-items.ts';
import { operatorsEnvironment, runCommand } from '../support/commands/run-command.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { itemsOf } from '../support/instance/items.ts';

const gatehouse = await useGatehouse({ breaksData: true });

const runFirstAdmin = (login: string) =>
  runCommand(
    'first-admin',
    ['--table', gatehouse.cloud.tableName, '--login', login, '--email', `${login}@example.com`],
    operatorsEnvironment(gatehouse.cloud),
  );

/** Empties the roster of administrators, but keeps its item. */
async function emptyRoster(): Promise<void> {
  const { endpoint, region, tableName } = gatehouse.cloud;
  const client = new DynamoDBClient({ endpoint, region, credentials: OPERATOR });
  await client.send(
    new UpdateItemCommand({
      TableName: tableName,
      Key: { pk: { S: rosterKey.pk }, sk: { S: rosterKey.sk } },
      UpdateExpression: 'REMOVE ids',
    }),
  );
}

describe('the first administrator of a table', () => {
  it('can log in with the printed password', async () => {
    await emptyRoster();

    const { code, stdout, stderr } = await runFirstAdmin('root');
    const password = /^Password: (\S{20})$/m.exec(stdout)?.[1];

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const token = await gatehouse.logIn('root', password);
    const { body } = await gatehouse.call('GET', '/api/account', { token });
    expect(body).toMatchObject({
      login: 'root',
      authorities: ['ROLE_ADMIN', 'ROLE_USER'],
      createdBy: 'system',
    });
    const target = `user/${body.id}`;
    const query = `target.equals=${target}&action.equals=user.created`;
    const audits = await gatehouse.call('GET', `/api/audits?${query}`, { token });
    expect(audits.body).toMatchObject([{ actor: 'system', action: 'user.created', target }]);
    const entries = await gatehouse.table.query('AUDIT#PERMANENT');
    expect(
      entries.filter((entry) => entry.target === target).map((entry) => 'expires' in entry),
    ).toEqual([false]);
  });

  it('is created with the printed command when the login or address admin is taken', async () => {
    const state = openMemoryState();
    await emptyRoster();
    const loginTaken = await createFirstAccounts(gatehouse.cloud, state);
    const exists = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    await commit(gatehouse.table, [remove(loginGuardKey('admin'), exists)]);
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

  it('is created once by two concurrent commands', async () => {
    await emptyRoster();
    const before = await itemsOf(gatehouse.cloud);
    // Neither commits before both have read the empty roster.
    let releaseBoth: () => void = () => undefined;
    const barrier = new Promise<void>((resolve) => {
      releaseBoth = resolve;
    });
    let hashing = 0;
    const passwords: Passwords = {
      async hash() {
        if (++hashing === 2) releaseBoth();
        await barrier;
        return 'a hash';
      },
      matches: async () => false,
      isOutdated: () => false,
    };

    const person = (login: string) => ({ login, email: `${login}@example.com`, password: 'pass' });
    const first = createFirstAdministrator(gatehouse.table, passwords, person('twin-1'));
    // The second commits after the first: simultaneous transactions would only conflict.
    const late: Table = {
      ...gatehouse.table,
      async transact(...transaction) {
        await first;
        await gatehouse.table.transact(...transaction);
      },
    };

    const [winner, loser] = await Promise.all([
      first,
      createFirstAdministrator(late, passwords, person('twin-2')),
    ]);

    const after = await itemsOf(gatehouse.cloud);
    const added = [...after].filter(([name]) => !before.has(name)).map(([, { pk }]) => pk);
    expect(loser).toBeUndefined();
    expect((await gatehouse.table.get(rosterKey))?.ids).toEqual(new Set([winner?.id]));
    expect(added.sort()).toEqual([
      'AUDIT#PERMANENT',
      `EMAIL#${winner?.email}`,
      `LOGIN#${winner?.login}`,
      'USER',
    ]);
  });

  it('is not created when there is an administrator, and consumes no id', async () => {
    const before = await gatehouse.table.get(sequenceKey('USER'));

    expect(await runFirstAdmin('second')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${gatehouse.cloud.tableName} already has an administrator. Nothing was changed.\n`,
    });
    expect(await gatehouse.table.get(sequenceKey('USER'))).toEqual(before);
  });
});
