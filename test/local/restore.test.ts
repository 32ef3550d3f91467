import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { type Comparison, compareAccounts } from '../../lib/restore/account-change.ts';
import { repeatChanges } from '../../lib/restore/repeat-changes.ts';
import { commit } from '../../lib/table/change.ts';
import { entityKey, loginGuardKey, notBeforeKey, sequenceKey } from '../../lib/table/keys.ts';
import { EXISTS, put, set } from '../../lib/table/write.ts';
import { operatorsEnvironment, runCommand } from '../support/commands/run-command.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { type Gatehouse, startGatehouse, useGatehouse } from '../support/instance/gatehouse.ts';
import { expectIntact } from '../support/instance/intact.ts';
import { type Items, itemsOf, restoreItems } from '../support/instance/items.ts';
import { makeTokens } from '../support/instance/mint.ts';

/*
 * A table that was restored from a backup assigns ids again. Tokens, reset keys and ETags that were
 * issued for lost accounts, integrations and parameters must not be valid for new ones with the
 * same ids.
 */

const shared = await useGatehouse();
/**
 * The instance under test: adopting a table ends all its sessions, so those tests need an instance
 * of their own.
 */
let gatehouse: Gatehouse = shared;
let admin: string;
let backup: Items;
beforeAll(async () => {
  admin = await gatehouse.logIn('admin');
  backup = await itemsOf(gatehouse.cloud);
});
const restore = () => restoreItems(gatehouse.cloud, backup);

const call = (
  method: string,
  path: string,
  token: string,
  body?: unknown,
  headers: Record<string, string> = {},
) => gatehouse.call(method, path, { token, body, headers });
const integration = { name: 'Tap', shortName: 'tap', integrationType: 'API' };

describe('after a restore, before the table is adopted', () => {
  it('rejects the token of a lost account whose id a new administrator has', async () => {
    const lost = await gatehouse.makeUser('lost', { authorities: ['ROLE_ADMIN', 'ROLE_USER'] });
    const token = await gatehouse.logIn('lost');
    await restore();
    const heir = await gatehouse.makeUser('heir', { authorities: ['ROLE_ADMIN', 'ROLE_USER'] });
    const created = await call('POST', '/api/utm-integrations', admin, integration);
    const parameter = { integration: created.body, confName: 'a', confValue: 'secret' };
    const { body } = await call('POST', '/api/utm-integration-confs', admin, parameter);

    expect(heir.id).toBe(lost.id);
    expect((await call('GET', '/api/account', token)).status).toBe(401);
    expect((await call('POST', '/api/account', token, { firstName: 'Thief' })).status).toBe(401);
    const ownPassword = { currentPassword: 'heir', newPassword: 'thief' };
    expect((await call('POST', '/api/account/change-password', token, ownPassword)).status).toBe(
      401,
    );
    expect((await call('PUT', '/api/users', token, { ...heir, firstName: 'Thief' })).status).toBe(
      403,
    );
    expect((await call('DELETE', '/api/users/user', token)).status).toBe(403);
    expect((await call('GET', `/api/utm-integration-confs/${body.id}`, token)).status).toBe(403);
    expect((await call('GET', '/api/utm-integration-confs', token)).status).toBe(403);
    expect((await call('GET', '/api/audits', token)).status).toBe(403);
    expect((await call('POST', '/api/utm-integrations', token, integration)).status).toBe(403);
    expect((await call('GET', '/api/account', await gatehouse.logIn('heir'))).body.login).toBe(
      'heir',
    );
  });

  it('rejects reset keys and ETags of lost users and integrations', async () => {
    await restore();
    const lost = await call('POST', '/api/users', admin, {
      login: 'lost',
      email: 'lost@example.com',
    });
    const key = await gatehouse.keyMailedTo('lost@example.com');
    const lostTap = await call('POST', '/api/utm-integrations', admin, integration);
    await restore();
    const heir = await call('POST', '/api/users', admin, {
      login: 'heir',
      email: 'lost@example.com',
    });
    const tap = await call('POST', '/api/utm-integrations', admin, integration);

    const finished = await call('POST', '/api/account/reset-password/finish', admin, {
      key,
      newPassword: 'thief',
    });
    const ifMatch = (etag: string | undefined) => ({ 'If-Match': String(etag) });
    const updated = await call('PUT', '/api/users', admin, heir.body, ifMatch(lost.headers.etag));
    const path = `/api/utm-integrations/${tap.body.id}`;
    const deleted = await call('DELETE', path, admin, undefined, ifMatch(lostTap.headers.etag));

    expect([heir.body.id, tap.body.id]).toEqual([lost.body.id, lostTap.body.id]);
    expect([finished.status, updated.status, deleted.status]).toEqual([400, 412, 412]);
  });

  it('rejects the ETag of a lost version after a new change with the same number', async () => {
    const user = await call('POST', '/api/users', admin, {
      login: 'twofold',
      email: 'twofold@example.com',
    });
    const before = await itemsOf(gatehouse.cloud);
    const lost = await call('PUT', '/api/users', admin, { ...user.body, firstName: 'Lost' });
    await restoreItems(gatehouse.cloud, before);
    await call('PUT', '/api/users', admin, { ...user.body, firstName: 'New' });

    const overwritten = await call('PUT', '/api/users', admin, lost.body, {
      'If-Match': String(lost.headers.etag),
    });

    expect(overwritten.status).toBe(412);
  });

  it('accepts the token of an account without a stamp, for that account only', async () => {
    const early = await gatehouse.makeUser('early');
    const always = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    const withoutStamps = { accountStamp: undefined, resetStamp: undefined };
    await commit(gatehouse.table, [set(entityKey('USER', early.id), withoutStamps, always)]);
    const token = await gatehouse.logIn('early');

    const own = await call('POST', '/api/account', token, { firstName: 'Early' });
    await commit(gatehouse.table, [
      set(entityKey('USER', early.id), { accountStamp: 'another' }, always),
    ]);
    const others = await call('GET', '/api/account', token);

    expect([own.status, others.status]).toEqual([200, 401]);
  });
});

describe('repeating what has happened to accounts since the backup', () => {
  const update = (user: object, fields: object) =>
    call('PUT', '/api/users', admin, { ...user, ...fields });
  const remove = (login: string) => call('DELETE', `/api/users/${login}`, admin);
  const userNow = async (login: string) => (await call('GET', `/api/users/${login}`, admin)).body;
  const administrator = { authorities: ['ROLE_ADMIN', 'ROLE_USER'] };

  /**
   * Makes changes, then restores the table to the state before them. The original table remains.
   */
  async function restoreBefore(changes: () => Promise<unknown>) {
    const { table, cloud } = gatehouse;
    const before = await itemsOf(cloud);
    await changes();
    const original = memoryTable([...(await itemsOf(cloud)).values()]);
    await restoreItems(cloud, before);
    const compare = async () => (await compareAccounts(table, original)) as Comparison;
    const repeat = async () => {
      const unrepeated = await repeatChanges(table, (await compare()).changes);
      await expectIntact(gatehouse);
      return unrepeated.map(({ change, obstacles }) => [change.restored.login, ...obstacles]);
    };
    return { compare, repeat };
  }
  beforeEach(restore);

  it('voids a password that the operator has removed', async () => {
    const { id } = await gatehouse.makeUser('weak');
    const key = entityKey('USER', id);
    const { compare, repeat } = await restoreBefore(async () => {
      await commit(gatehouse.table, [set(key, { passwordHash: undefined }, EXISTS)]);
    });

    expect((await compare()).changes.map(({ isPasswordReplaced }) => isPasswordReplaced)).toEqual([
      true,
    ]);
    await repeat();
    expect((await gatehouse.table.get(key))?.passwordHash).toBeUndefined();
  });

  describe('of an account whose import has set a date in the future', () => {
    const future = { lastModifiedBy: 'founder', lastModifiedDate: '2999-01-01T00:00:00.000Z' };
    const importUser = async (login: string) => {
      const user = await gatehouse.makeUser(login);
      await commit(gatehouse.table, [set(entityKey('USER', user.id), future, EXISTS)]);
      return user;
    };

    it('repeats a change that was made in the original', async () => {
      const user = await importUser('dismissed');
      const { repeat } = await restoreBefore(() => update(user, { activated: false }));

      expect(await repeat()).toEqual([]);
      expect((await userNow('dismissed')).activated).toBe(false);
    });

    it('leaves a change that was made only in the restored table', async () => {
      const user = await importUser('promoted');
      const { compare } = await restoreBefore(async () => undefined);
      await update(user, { authorities: ['ROLE_ANALYST'] });

      expect((await compare()).changes).toEqual([]);
    });
  });

  it('passes logins, addresses and roles on in whatever order they become free', async () => {
    const [first, second, third] = [
      await gatehouse.makeUser('first', administrator),
      await gatehouse.makeUser('second'),
      await gatehouse.makeUser('third'),
    ];
    const { repeat } = await restoreBefore(async () => {
      await remove('third');
      await update(second, { login: 'third', email: third.email });
      await update(first, { login: 'second', email: second.email, authorities: [] });
      await update(await userNow('user'), { login: 'first', ...administrator });
    });

    expect(await repeat()).toEqual([]);
    expect((await userNow('third')).id).toBe(second.id);
    expect(await userNow('second')).toMatchObject({
      id: first.id,
      email: second.email,
      authorities: [],
    });
    expect((await userNow('first')).authorities).toEqual(administrator.authorities);
    expect(await repeat()).toEqual([]);
  });

  it('deactivates accounts that have exchanged their logins, and reports the logins', async () => {
    const [one, other] = [await gatehouse.makeUser('one'), await gatehouse.makeUser('other')];
    const { repeat, compare } = await restoreBefore(async () => {
      await update(one, { login: 'meanwhile', activated: false });
      await update(other, { login: 'one', activated: false });
      await update(one, { login: 'other', activated: false });
    });

    const unrepeated = await repeat();

    expect(unrepeated).toEqual([
      ['one', 'login-taken'],
      ['other', 'login-taken'],
    ]);
    expect([(await userNow('one')).activated, (await userNow('other')).activated]).toEqual([
      false,
      false,
    ]);
    expect((await compare()).changes.map(({ fields }) => fields)).toEqual([['login'], ['login']]);
  });

  it.each(['deletes', 'demotes'])(
    'leaves the last administrator, whom an account created since %s',
    async (verb) => {
      const { repeat, compare } = await restoreBefore(async () => {
        const token = await gatehouse
          .makeUser('founder', administrator)
          .then(() => gatehouse.logIn('founder'));
        const { body } = await call('GET', '/api/users/admin', token);
        if (verb === 'deletes') await call('DELETE', '/api/users/admin', token);
        else
          await call('PUT', '/api/users', token, {
            ...body,
            authorities: [],
            email: 'former@example.com',
          });
      });

      const { created } = await compare();
      const unrepeated = await repeat();

      expect([created.map(({ login }) => login), unrepeated]).toEqual([
        ['founder'],
        [['admin', 'last-administrator']],
      ]);
      const { authorities, email } = await userNow('admin');
      expect(authorities).toContain('ROLE_ADMIN');
      expect(email).toBe(verb === 'deletes' ? 'admin@example.com' : 'former@example.com');
    },
  );

  it('changes no account that this table has changed later, nor a rehashed password', async () => {
    const changed = await gatehouse.makeUser('changed', { activated: false });
    const { compare, repeat } = await restoreBefore(() => gatehouse.makeUser('only-original'));
    await commit(gatehouse.table, [put(sequenceKey('USER'), { n: 1_000_000 })]);
    await gatehouse.makeUser('later');
    await update(changed, { authorities: ['ROLE_ANALYST'] });
    const exists = { condition: 'attribute_exists(pk)', onConditionFailed: 'retry' } as const;
    await commit(gatehouse.table, [
      set(entityKey('USER', changed.id), { passwordHash: 'another' }, exists),
    ]);

    expect((await compare()).changes).toEqual([]);
    expect(await repeat()).toEqual([]);
  });

  it('reports an account that is not intact, and repeats the changes of others', {
    timeout: 20_000,
  }, async () => {
    await gatehouse.makeUser('broken');
    await gatehouse.makeUser('whole');
    const { compare } = await restoreBefore(async () => {
      await remove('broken');
      await remove('whole');
    });
    const { changes } = await compare();
    await commit(gatehouse.table, [put(loginGuardKey('broken'), { id: 999 })]);

    const unrepeated = await repeatChanges(gatehouse.table, changes);

    expect(
      unrepeated.map(({ change, obstacles }) => [change.restored.login, ...obstacles]),
    ).toEqual([['broken', 'unavailable']]);
    expect((await call('GET', '/api/users/whole', admin)).status).toBe(404);
  });

  it('compares nothing with a table that has no account in common', async () => {
    const users = [...backup.values()].filter(({ pk }) => pk === 'USER');
    const foreign = memoryTable(users.map((user) => ({ ...user, accountStamp: 'another' })));

    expect(await compareAccounts(gatehouse.table, foreign)).toBeUndefined();
  });
});

describe('npm run adopt', () => {
  beforeAll(async () => {
    gatehouse = await startGatehouse();
    admin = await gatehouse.logIn('admin');
  });
  afterAll(async () => {
    await gatehouse.stop();
    gatehouse = shared;
  });

  /** Runs the command on the table of this service, as an operator with AWS credentials would. */
  const adopt = (...options: string[]) =>
    runCommand('adopt', options, operatorsEnvironment(gatehouse.cloud), inject('repository'));

  it('advances the sequences, ends all sessions and deletes the reset keys', async () => {
    const { id } = await gatehouse.makeUser('keeper');
    await call('POST', '/api/users', admin, { login: 'invited', email: 'invited@example.com' });
    const key = await gatehouse.keyMailedTo('invited@example.com');
    const token = await gatehouse.logIn('keeper');

    const { code, stdout } = await adopt('--unprotected', '--table', gatehouse.cloud.tableName);
    gatehouse.cloud.recycle();

    expect([code, stdout]).toEqual([0, expect.stringContaining('Deleted 1 reset key')]);
    expect((await call('GET', '/api/account', token)).status).toBe(401);
    expect((await call('GET', '/api/users', token)).status).toBe(401);
    expect((await call('GET', '/api/account', await gatehouse.logIn('keeper'))).status).toBe(200);
    const finished = await call('POST', '/api/account/reset-password/finish', '', {
      key,
      newPassword: 'late',
    });
    expect(finished.status).toBe(400);
    admin = await gatehouse.logIn('admin');
    const next = await call('POST', '/api/users', admin, {
      login: 'next',
      email: 'next@example.com',
    });
    const tap = await call('POST', '/api/utm-integrations', admin, integration);
    expect(next.body.id).toBeGreaterThan(id + 1_000_000);
    expect(tap.body.id).toBeGreaterThan(1_000_000);
    const keys = await gatehouse.call('GET', '/.well-known/jwks.json');
    expect(keys.body.keys).toHaveLength(1);
  });

  it('assigns no id of a parameter twice, so a stale update changes no other', async () => {
    const { body: tap } = await call('POST', '/api/utm-integrations', admin, integration);
    const before = await itemsOf(gatehouse.cloud);
    const fields = { integration: tap, confName: 'key', confValue: 'lost' };
    const lost = await call('POST', '/api/utm-integration-confs', admin, fields);
    await restoreItems(gatehouse.cloud, before);

    await adopt('--unprotected', '--table', gatehouse.cloud.tableName);
    gatehouse.cloud.recycle();
    admin = await gatehouse.logIn('admin');
    const created = await call('POST', '/api/utm-integration-confs', admin, {
      ...fields,
      confValue: 'new',
    });
    const stale = await call('PUT', '/api/utm-integration-confs', admin, lost.body);

    expect([created.body.id, stale.status]).toEqual([lost.body.id + 10_000, 404]);
  });

  it('flags each module to restart, which no report from the lost time clears', async () => {
    const { body: tap } = await call('POST', '/api/utm-integrations', admin, integration);
    const path = `/api/utm-integrations/${tap.id}`;
    const fields = { integration: tap, confName: 'key', confValue: 'value' };
    const { body: parameter } = await call('POST', '/api/utm-integration-confs', admin, fields);
    const update = () => call('PUT', '/api/utm-integration-confs', admin, parameter);
    const before = await itemsOf(gatehouse.cloud);
    await update();
    const { body: lost } = await call('GET', path, admin);
    await restoreItems(gatehouse.cloud, before);

    await adopt('--unprotected', '--table', gatehouse.cloud.tableName);
    gatehouse.cloud.recycle();
    admin = await gatehouse.logIn('admin');
    const adopted = await call('GET', path, admin);
    await update();
    const stale = await call('POST', `${path}/module/restarted`, admin, lost.module);
    const cleared = await call('POST', `${path}/module/restarted`, admin, stale.body.module);

    expect(lost.module).toEqual({ needsRestart: true, changes: 1 });
    expect(adopted.body.module).toEqual({ needsRestart: true, changes: 1_000_000 });
    expect(stale.body.module).toEqual({ needsRestart: true, changes: 1_000_001 });
    expect(cleared.body.module).toEqual({ needsRestart: false, changes: 1_000_001 });
  });

  it('rejects tokens of a retired key, and the next login publishes the current one', async () => {
    const retired = makeTokens(admin);
    await commit(gatehouse.table, [put(retired.publicKey, { jwk: retired.publicKey.jwk })]);
    const publishedKeys = async () =>
      (await gatehouse.call('GET', '/.well-known/jwks.json')).body.keys.length;
    const before = await publishedKeys();

    const { stdout } = await adopt('--unprotected', '--table', gatehouse.cloud.tableName);
    gatehouse.cloud.recycle();
    const afterwards = await publishedKeys();
    const forged = retired.of({ id: 1, accountStamp: undefined, authorities: ['ROLE_ADMIN'] });
    const { status } = await call('GET', '/api/users', forged);
    admin = await gatehouse.logIn('admin');

    expect(status).toBe(401);
    expect([before, afterwards, await publishedKeys()]).toEqual([2, 0, 1]);
    expect(stdout).toMatch(/^Public signing keys deleted, .*: 2$/m);
    expect((await call('GET', '/api/users', admin)).status).toBe(200);
  });

  it('skips as many ids as --skip gives, and can be repeated', async () => {
    const next = async () => (await gatehouse.table.get(sequenceKey('USER')))?.n as number;
    const before = await next();

    const first = await adopt('--unprotected', '--table', gatehouse.cloud.tableName, '--skip', '7');
    const second = await adopt(
      '--unprotected',
      '--table',
      gatehouse.cloud.tableName,
      '--skip',
      '7',
    );

    expect([first.code, second.code, await next()]).toEqual([0, 0, before + 14]);
    expect(await gatehouse.table.get(notBeforeKey)).toBeDefined();
  });

  const KEY = 'arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab';

  it.each([
    [['--nonsense'], 'npm run adopt -- [--table NAME [--like TABLE]'],
    [
      ['--like', 'Another'],
      '--like, --environment, --pepper-key, --values-key and --unprotected require --table.',
    ],
    [['--environment', 'prod'], 'require --table.'],
    [['--unprotected'], 'require --table.'],
    [['--original', 'Another'], '--original requires --table, and must be another table.'],
    [
      ['--table', 'T', '--original', 'T'],
      '--original requires --table, and must be another table.',
    ],
    [['--table', 'T', '--apply'], '--apply requires --original.'],
    [
      ['--table', 'T', '--original', 'O', '--keep', '7'],
      '--keep requires --apply, and must be ids',
    ],
    [
      ['--table', 'T', '--original', 'O', '--apply', '--keep', '7,bob'],
      '--keep requires --apply, and must be ids',
    ],
    [
      ['--table', 'T', '--environment', 'pr od!?*'],
      'There is no environment pr od!?*: cdk.json has dev, staging, prod.',
    ],
    [
      ['--table', 'T', '--environment', 'toString'],
      'There is no environment toString: cdk.json has dev, staging, prod.',
    ],
    [
      ['--table', 'T', '--pepper-key', 'alias/pepper'],
      '--pepper-key must be the ARN of a KMS key.',
    ],
    [
      ['--table', 'T', '--pepper-key', `${KEY} alias/pepper`],
      '--pepper-key must be the ARN of a KMS key.',
    ],
    [
      ['--table', 'T', '--pepper-key', `${KEY} ${KEY}`, '--skip', '0'],
      '--skip must be a whole number',
    ],
    [
      ['--table', 'T', '--values-key', `${KEY} ${KEY}`],
      '--values-key must be the ARN of a KMS key.',
    ],
  ])('exits with status 2 and a usage message for %j', async (options, message) => {
    const { code, stderr } = await adopt(...options);

    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toMatch(/^ +at /m);
  });
});
