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
    set(resetMailKey(time, 'two'), { ...request, email: 'carl@example.com' }),
    set(pendingEmailKey(dora), { ...pending, expires }, isAbsent()),
    set(
      entityKey('USER', dora),
      { secondFactor: { ...factor, recoveryCodes: 1 }, lastModifiedBy: 'dora' },
      EXISTS,
    ),
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
    expect(data.items['RESET-MAIL']).toHaveLength(1);
    expect(data.items.SESSION).toContainEqual(
      expect.objectContaining({ ipAddress: '127.0.0.1', startedAt: expect.any(String) }),
    );
    expect(data.namedIn).toHaveLength(2);
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

  it('forgets a person wherever they are named', async () => {
    const { code, stdout } = await run('--login', 'dora', '--forget');

    const after = await itemsOf(gatehouse.cloud);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`with --id ${dora}\n`)]);
    expect(await namingDora()).toEqual([]);
    expect([...after.values()]).toContainEqual(
      expect.objectContaining({ actor: 'system', session: 'person', action: 'user.deleted' }),
    );
    await expectIntact(gatehouse);
    const revisionsIn = (items: Items) =>
      [...items.values()].flatMap(({ moduleRevision }) => moduleRevision ?? []);
    expect(revisionsIn(after)).toEqual(revisionsIn(before));
  });

  it('replaces each login of a deleted account, and nothing else', async () => {
    const [name, source] = ['deleted-900', '10.0.0.9'];
    const changes = (from: string, to = from) => [
      { field: 'login', from, to },
      { field: 'subject', to },
      { field: 'email', from },
      { field: 'langKey', from: 'en', to: 'de' },
    ];
    const byAdmin = { actor: 'admin', actorId: 1, target: 'user/900', targetName: 'mia', source };
    const byZoe = { actor: 'zoe', actorId: 900, target: 'user/1', changes: changes('bob'), source };
    const user = { version: '1-a', createdBy: 'zoe', lastModifiedBy: 'bob' };
    const created = { createdBy: name, version: expect.stringMatching(/^2-/) };
    const items: [string, Record<string, unknown>, object?][] = [
      ['AUDIT#PERMANENT 2020-01-01T0#x', byZoe, { actor: name, source: undefined }],
      [
        'AUDIT#2020-02 2020-02-01T0#x',
        { ...byAdmin, changes: changes('kim', 'lea') },
        { targetName: name, changes: changes(name) },
      ],
      [
        'AUDIT#PERMANENT 2020-03-01T0#x',
        { ...byAdmin, actor: 'anonymous', actorId: 0 },
        { targetName: name, source: undefined },
      ],
      ['AUDIT#PERMANENT 2020-04-01T0#x', { ...byAdmin, target: 'integration/900' }],
      [`USER ${idText(901)}`, { ...user, id: 901 }, created],
      [
        `USER ${idText(902)}`,
        { ...user, id: 902, createdBy: 'lea', lastModifiedBy: 'ann' },
        { ...created, lastModifiedBy: name },
      ],
      [`LOGIN#${idText(900)} GUARD`, { id: 1 }],
      ['IMPORTED#x USER', { id: 900 }],
      [`READS#${idText(900)} 1`, { n: 1, expires: SOON }],
      ['LATER-KIND x', { actorId: 900, createdBy: 'zoe' }],
    ];
    const writes = items.map(([key, before]) => {
      const [pk, sk] = key.split(' ') as [string, string];
      return set({ pk, sk }, before);
    });
    await commit(gatehouse.table, writes);
    const expected = new Map<string, object>(await itemsOf(gatehouse.cloud));
    for (const [key, , change] of items) expected.set(key, { ...expected.get(key), ...change });
    await commit(gatehouse.table, [set(mailKey(900, '2020-01-01T0', 'x'), { expires: SOON })]);

    const { stdout } = await run('--id', '900');
    const forgotten = await run('--id', '900', '--login', 'ann', '--forget');
    const repeated = await run('--id', '900', '--forget');

    expect(JSON.parse(stdout)).toEqual({
      id: 900,
      logins: ['kim', 'lea', 'mia', 'zoe'],
      account: null,
      items: {
        IMPORTED: [{ kind: 'IMPORTED', id: 900 }],
        MAIL: [{ kind: 'MAIL', expires: new Date(SOON * 1000).toISOString() }],
        READS: [{ kind: 'READS', expires: new Date(SOON * 1000).toISOString() }],
      },
      auditEntries: ['zoe', 'admin', 'anonymous'].map((actor) =>
        expect.objectContaining({ actor, source }),
      ),
      namedIn: [
        { kind: 'USER', id: 901, attributes: ['createdBy'] },
        { kind: 'USER', id: 902, attributes: ['createdBy'] },
      ],
    });
    expect(forgotten.stdout).toMatch(/: 1 other item\n.* entries 3, users 2, integrations 0\n/);
    expect(forgotten.stderr).not.toContain('Left');
    expect(repeated.stdout).toMatch(/: 0 other items\n.* entries 0, users 0, /);
    expect(await itemsOf(gatehouse.cloud)).toEqual(expected);
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
