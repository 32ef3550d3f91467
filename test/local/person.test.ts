import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../../infra/commands/operate/person.ts';
import { type AwsResponse, errorResponse } from '../../infra/local/calls/aws-call.ts';
import { mailKey, resetMailKey } from '../../lib/mail/outbox.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey, idText } from '../../lib/table/keys.ts';
import { EXISTS, isAbsent, set } from '../../lib/table/write.ts';
import { pendingEmailKey } from '../../lib/users/user-items.ts';
import { operatorsEnvironment } from '../support/commands/run-command.ts';
import { execute } from '../support/doubles/output.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { expectIntact, type Items, itemsOf, restoreItems } from '../support/instance/items.ts';

/* `npm run admin -- person` prints what the table has about one person, and forgets the person. */

/** The number of the command's transaction that AWS denies. */
let denied = 0;
let transactions = 0;
const gatehouse = await useGatehouse({
  breaksData: true,
  async intercept(call, forward): Promise<AwsResponse> {
    const isChange = call.functionName === undefined && call.operation === 'TransactWriteItems';
    return isChange && ++transactions === denied
      ? errorResponse('AccessDeniedException', 'Not authorized')
      : forward();
  },
});

async function run(...options: string[]) {
  transactions = 0;
  const args = ['--table', gatehouse.cloud.tableName, ...options];
  return execute(command, args, operatorsEnvironment(gatehouse.cloud));
}

const SOON = Math.ceil(Date.now() / 1000) + 600;
let before: Items;
let dora: number;
let carl: number;

/** Dora, who was Dorothea before, leaves each kind of data. */
beforeAll(async () => {
  const { call, table } = gatehouse;
  const admin = await gatehouse.adminToken();
  const roles = { authorities: ['ROLE_ADMIN', 'ROLE_USER'] };
  const former = await gatehouse.makeUser('dorothea', { ...roles, email: 'd@dora.example' });
  const token = await gatehouse.logIn('dorothea');
  const made = await call('POST', '/api/users', {
    token,
    body: { login: 'carl', email: 'carl@example.com' },
  });
  const renamed = { ...former, login: 'dora', firstName: 'Dora' };
  await call('PUT', '/api/users', { token: admin, body: renamed });
  const login = { username: 'dora', password: 'dorothea' };
  const { body: session } = await call('POST', '/api/authenticate', { body: login });
  const own = { token: session.id_token as string };
  await call('PUT', '/api/users', { ...own, body: { ...made.body, firstName: 'Carl' } });
  const { body: tap } = await call('POST', '/api/utm-integrations', { ...own, body: INTEGRATION });
  await call('POST', `/api/utm-integrations/${tap.id}/credentials`, { ...own, body: {} });
  await call('POST', '/api/account/reset-password/init', {
    body: { email: 'd@dora.example' },
  });
  await gatehouse.mailsTo('d@dora.example');
  [dora, carl] = [former.id, made.body.id];
  const [time, expires] = [new Date().toISOString(), SOON];
  const notice = { occasion: 'passwordChanged', userId: dora, login: 'dora', expires };
  const pending = { email: 'new@dora.example', keyHash: 'secret-hash', mailbox: 'secret-box' };
  const request = { occasion: 'reset', email: 'd@dora.example', expires };
  const factor = { nonce: 'secret-1', key: 'k', lastStep: 1, recoveryNonce: 'secret-2' };
  await commit(table, [
    set(mailKey(dora, time, 'one'), { ...notice, email: 'd@dora.example' }, isAbsent()),
    set(resetMailKey(time, 'one'), request, isAbsent()),
    set(pendingEmailKey(dora), { ...pending, expires }, isAbsent()),
    set(entityKey('USER', dora), { secondFactor: { ...factor, recoveryCodes: 1 } }, EXISTS),
  ]);
  before = await itemsOf(gatehouse.cloud);
});
beforeEach(() => {
  denied = 0;
});
afterEach(() => restoreItems(gatehouse.cloud, before));

const textOf = (items: Items) =>
  JSON.stringify([...items], (_, value) => (value instanceof Set ? [...value] : value));
const namingDora = async () =>
  [...(await itemsOf(gatehouse.cloud))].filter((each) =>
    /dora|doroth/.test(textOf(new Map([each]))),
  );

describe('npm run admin -- person', () => {
  it('prints each kind of data about a person, and no secret', async () => {
    const { code, stdout, stderr } = await run('--login', 'dora');

    const data = JSON.parse(stdout);
    expect([code, stderr]).toEqual([0, '']);
    expect(data).toMatchObject({
      id: dora,
      logins: ['dora', 'dorothea'],
      account: { firstName: 'Dora', email: 'd@dora.example', secondFactor: true },
    });
    expect(Object.keys(data.items).sort()).toEqual(
      ['MAIL', 'MAILS', 'PENDING-EMAIL', 'RESET', 'RESET-MAIL', 'SESSION'].sort(),
    );
    expect(data.items.SESSION).toContainEqual(
      expect.objectContaining({ ipAddress: '127.0.0.1', startedAt: expect.any(String) }),
    );
    const entries = data.auditEntries as { action: string; actor: string; source: string }[];
    expect(entries.map(({ actor, action }) => `${actor} ${action}`)).toEqual(
      expect.arrayContaining(['admin user.created', 'dorothea user.created', 'dora user.updated']),
    );
    expect(entries.find(({ action }) => action === 'session.started')?.source).toBe('127.0.0.1');
    expect(data.namedIn).toEqual(
      expect.arrayContaining([
        { kind: 'USER', id: carl, attributes: ['createdBy', 'lastModifiedBy'] },
        { kind: 'INTEGRATION', id: expect.any(Number), attributes: ['credentials'] },
      ]),
    );
    const { passwordHash, incarnation, securityStamp } = (await gatehouse.table.get(
      entityKey('USER', dora),
    )) as Record<string, string>;
    for (const secret of [passwordHash, incarnation, securityStamp, 'secret-'])
      expect(stdout).not.toContain(secret);
    expect(stdout).not.toMatch(/[0-9a-f]{64}/);
  });

  it('forgets a person wherever they are named, and changes nothing when repeated', async () => {
    const { code, stdout } = await run('--login', 'dora', '--forget');

    const after = await itemsOf(gatehouse.cloud);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`with --id ${dora}\n`)]);
    expect(await namingDora()).toEqual([]);
    expect(textOf(after)).toContain(`deleted-${dora}`);
    const sources = [...after.values()]
      .filter(
        ({ actorId, target, pk }) =>
          pk.startsWith('AUDIT#') &&
          (actorId === dora || (actorId === 0 && target === `user/${dora}`)),
      )
      .map(({ source }) => source);
    expect(new Set(sources)).toEqual(new Set([undefined]));
    await expectIntact(gatehouse);
    const versionIn = (items: Items) => items.get(`USER ${idText(carl)}`)?.version;
    expect(versionIn(after)).not.toBe(versionIn(before));
    const revisionsIn = (items: Items) =>
      [...items.values()].flatMap(({ moduleRevision }) => moduleRevision ?? []);
    expect(revisionsIn(after)).toEqual(revisionsIn(before));
    expect((await run('--id', String(dora), '--forget')).code).toBe(0);
    expect(await itemsOf(gatehouse.cloud)).toEqual(after);
  });

  it('completes what was interrupted, wherever that was', async () => {
    for (let nth = 2; ; nth++) {
      denied = nth;
      const { code, stderr } = await run('--login', 'dora', '--forget');
      denied = 0;
      if (code === 0) break;
      expect(stderr).toContain(`run the command again with --id ${dora} --forget.`);

      expect((await run('--id', String(dora), '--forget')).code, `after ${nth}`).toBe(0);

      // Nothing but the address tells whose request for a reset it is; it expires within an hour.
      const left = (await namingDora()).filter(([name]) => !name.startsWith('RESET-MAIL#'));
      expect(left, `after ${nth}`).toEqual([]);
      await restoreItems(gatehouse.cloud, before);
    }
    expect(transactions).toBeGreaterThan(15);
  });

  it('keeps the last administrator, and accounts that only the id names', async () => {
    await run('--login', 'dora', '--forget');
    const after = await itemsOf(gatehouse.cloud);

    const refused = [
      await run('--login', 'admin', '--forget'),
      await run('--id', String(carl), '--forget'),
      await run('--login', 'dora', '--forget'),
    ];

    expect(refused.map(({ code, stderr }) => [code, stderr])).toEqual([
      [1, expect.stringContaining('is the last administrator')],
      [1, expect.stringContaining('add --login carl')],
      [1, expect.stringContaining('has no account dora')],
    ]);
    expect(await itemsOf(gatehouse.cloud)).toEqual(after);
  });

  it('leaves what may name another account, which has a former login now', async () => {
    const heir = await gatehouse.makeUser('dorothea');

    const { code, stderr } = await run('--login', 'dora', '--forget');

    expect([code, stderr]).toEqual([0, expect.stringContaining('Left: ')]);
    expect(await gatehouse.table.get(entityKey('USER', carl))).toMatchObject({
      createdBy: 'dorothea',
      lastModifiedBy: `deleted-${dora}`,
    });
    expect((await run('--id', String(heir.id))).stdout).toContain('"login": "dorothea"');
  });
});
