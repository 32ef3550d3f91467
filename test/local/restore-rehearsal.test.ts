import { randomUUID } from 'node:crypto';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import type { Settings } from '../../infra/settings/settings.ts';
import { isProgress, operatorsEnvironment, runCommand } from '../support/commands/run-command.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { createTable, type Items, itemsOf } from '../support/instance/items.ts';
import type { Gatehouse } from '../support/instance/launch.ts';
import { turnOnFactor } from '../support/instance/users.ts';
import { assemblyWith } from '../support/stack/stack.ts';

/*
 * Rehearses the restore of docs/restore.md: a backup, more changes, the loss of the table, a
 * restore under another name, the adoption, and the deployment on the restored table. The copy of
 * all items stands in for the backup.
 */

/** Names that are unique on an external engine, which other instances may share. */
const [ORIGINAL, RESTORED, COPY] = ['Original', 'Restored', 'Copy'].map(
  (name) => `${name}-${randomUUID().slice(0, 8)}`,
) as [string, string, string];
const TABLE_KEY = 'arn:aws:kms:eu-central-1:000000000000:key/table';

describe('a restore', () => {
  let gatehouse: Gatehouse;
  let client: DynamoDB;
  /** The ARNs of the keys in the environment of the functions, which survive the table. */
  let arns: { pepper: string; values: string; factor: string; signing: string };
  beforeAll(async () => {
    // Without identity providers: a function that fetches their keys could be denied meanwhile.
    gatehouse = await startGatehouse({ assembly: assemblyWith('dev'), checksPermissions: true });
    const { endpoint, region, functions } = gatehouse.cloud;
    client = new DynamoDB({ endpoint, region, credentials: OPERATOR });
    const variable = (name: string) =>
      functions.find(({ environment }) => name in environment)?.environment[name] ?? '';
    arns = {
      pepper: String(gatehouse.cloud.pepperKeys),
      values: variable('VALUES_KEY'),
      factor: variable('FACTOR_KEY'),
      signing: variable('SIGNING_KEYS'),
    };
  });
  afterAll(async () => {
    for (const TableName of [RESTORED, COPY])
      await client.updateTable({ TableName, DeletionProtectionEnabled: false });
    for (const TableName of [ORIGINAL, COPY]) await client.deleteTable({ TableName });
    client.destroy();
    await gatehouse.stop();
  });

  const call = (method: string, path: string, token: string, body?: unknown) =>
    gatehouse.call(method, path, { token, body });

  const restoreAs = (name: string, items: Items) =>
    createTable(gatehouse.cloud, name, items, TABLE_KEY);

  const adopt = (...options: string[]) =>
    runCommand('adopt', options, operatorsEnvironment(gatehouse.cloud), inject('repository'));

  const statusOfLogin = async (username: string, password: string, code?: string) =>
    (await gatehouse.call('POST', '/api/authenticate', { body: { username, password, code } }))
      .status;

  async function settingsOf(TableName: string) {
    const { Table } = await client.describeTable({ TableName });
    const [{ Tags = [] }, { TimeToLiveDescription }, { ContinuousBackupsDescription }] =
      await Promise.all([
        client.listTagsOfResource({ ResourceArn: Table?.TableArn }),
        client.describeTimeToLive({ TableName }),
        client.describeContinuousBackups({ TableName }),
      ]);
    return {
      tags: Object.fromEntries(Tags.map(({ Key, Value }) => [Key, Value])),
      timeToLive: TimeToLiveDescription?.AttributeName,
      recovery:
        ContinuousBackupsDescription?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus,
      isProtected: Table?.DeletionProtectionEnabled,
      maximum: Table?.OnDemandThroughput?.MaxReadRequestUnits,
      stream: Table?.StreamSpecification?.StreamViewType,
    };
  }

  async function deploy(existing: Settings['existing']): Promise<void> {
    await gatehouse.cloud.redeploy(assemblyWith('dev', { keepData: true, existing }));
  }

  let backup: Items;
  let admin: string;
  let tableStream: string;
  let keeper: { id: number };
  let lost: { id: number };
  let lostToken: string;
  let keeperToken: string;
  let parameter: { id: number };
  let cautious: Awaited<ReturnType<typeof turnOnFactor>>;

  it('begins with a backup, more changes, and the loss of the table', async () => {
    admin = await gatehouse.logIn('admin');
    keeper = await gatehouse.makeUser('keeper');
    keeperToken = await gatehouse.logIn('keeper');
    const tap = await call('POST', '/api/utm-integrations', admin, INTEGRATION);
    const fields = { integration: tap.body, confName: 'key', confValue: 'a value under ValuesKey' };
    parameter = (await call('POST', '/api/utm-integration-confs', admin, fields)).body;

    const dismissed = await gatehouse.makeUser('dismissed', { authorities: ['ROLE_ADMIN'] });
    const administrator = { authorities: ['ROLE_ADMIN', 'ROLE_USER'] };
    const demoted = await gatehouse.makeUser('demoted', administrator);
    await gatehouse.makeUser('deleted');
    await gatehouse.makeUser('leaked');
    await gatehouse.makeUser('cautious');
    await gatehouse.makeUser('convert');
    cautious = await turnOnFactor(gatehouse, 'cautious');

    backup = await itemsOf(gatehouse.cloud);

    await call('PUT', '/api/users', admin, { ...dismissed, activated: false });
    const renamed = { ...demoted, login: 'renamed', authorities: ['ROLE_USER'] };
    await call('PUT', '/api/users', admin, renamed);
    await call('DELETE', '/api/users/deleted', admin);
    const replacement = { currentPassword: 'leaked', newPassword: 'replaced' };
    const own = await gatehouse.logIn('leaked');
    await call('POST', '/api/account/change-password', own, replacement);
    const [used] = cautious.recoveryCodes;
    expect(await statusOfLogin('cautious', 'cautious', used)).toBe(200);
    await turnOnFactor(gatehouse, 'convert');
    lost = await gatehouse.makeUser('lost');
    lostToken = await gatehouse.logIn('lost');
    await call('POST', '/api/utm-integrations', admin, INTEGRATION);
    await restoreAs(ORIGINAL, await itemsOf(gatehouse.cloud));
    await client.deleteTable({ TableName: gatehouse.cloud.tableName });
    expect((await call('GET', '/api/health', '')).status).toBe(503);
  });

  it('is adopted by one command, which sets what the restore did not copy', async () => {
    await restoreAs(RESTORED, backup);

    const { code, stdout, stderr } = await adopt(
      ...['--table', RESTORED, '--environment', 'dev'],
      ...['--pepper-key', arns.pepper, '--values-key', arns.values],
    );

    const errors = stderr.split('\n').filter((line) => line !== '' && !isProgress(line));
    expect([code, errors]).toEqual([0, []]);
    expect(stdout).toMatch(/no findings\n$/);
    expect(stdout).toMatch(/^Voided recovery codes of 1 user, .*$/m);
    tableStream = /"tableStream": "(arn:aws:dynamodb:\S+\/stream\/\S+)"/.exec(stdout)?.[1] ?? '';
    expect(tableStream).toContain(RESTORED);
    expect(await settingsOf(RESTORED)).toEqual({
      tags: {
        'gatehouse:environment': 'dev',
        'gatehouse:pepper-key': arns.pepper,
        'gatehouse:values-key': arns.values,
      },
      timeToLive: 'expires',
      recovery: 'ENABLED',
      isProtected: true,
      maximum: undefined,
      stream: 'KEYS_ONLY',
    });
  });

  it('lists what has changed in the original, and voids what let in whom it excluded', async () => {
    const { code, stdout } = await adopt('--table', RESTORED, '--original', ORIGINAL);

    expect([code, stdout]).toEqual([0, expect.stringMatching(/no findings\n$/)]);
    expect(stdout).toMatch(
      /^Voided 5 passwords: users log in with a linked identity, or set another by mail$/m,
    );
    const listed = [...stdout.matchAll(/^ {2}\S+Z (\S+): (\S+) \w+\/\d+ "(.*?)"(?= |$)/gm)];
    expect(listed.map(([, actor, action, name]) => [actor, action, name].join(' ')).sort()).toEqual(
      [
        'admin user.updated dismissed',
        'admin user.updated demoted',
        'admin user.deleted deleted',
        'leaked password.changed leaked',
        'convert secondFactor.enabled convert',
        'admin user.created lost',
        'admin integration.created Gate logs',
      ].sort(),
    );
    expect(stdout).toContain('[{"field":"activated","from":true,"to":false}]');
  });

  it('is in service after a deployment that adopts the table', async () => {
    await deploy({ tableStream });

    expect(gatehouse.cloud.tableName).toBe(RESTORED);
    admin = await gatehouse.logIn('admin');
    expect((await call('GET', '/api/users/keeper', admin)).body.id).toBe(keeper.id);
    expect((await call('GET', '/api/users/lost', admin)).status).toBe(404);
    const path = `/api/utm-integration-confs/${parameter.id}`;
    expect((await call('GET', path, admin)).body.confValue).toBe('a value under ValuesKey');
  });

  it('lets nobody in whom the original had excluded, until they prove their mailbox', async () => {
    for (const login of ['dismissed', 'deleted', 'demoted', 'leaked', 'convert'])
      expect(await statusOfLogin(login, login)).toBe(401);
    expect(await statusOfLogin('leaked', 'replaced')).toBe(401);
    await gatehouse.call('POST', '/api/account/reset-password/init', {
      body: { email: 'leaked@example.com' },
    });
    const key = await gatehouse.keyMailedTo('leaked@example.com');
    await gatehouse.call('POST', '/api/account/reset-password/finish', {
      body: { key, newPassword: 'another' },
    });
    expect(await statusOfLogin('leaked', 'another')).toBe(200);
  });

  it('asks for the second factor of the backup, and accepts no former recovery code', async () => {
    for (const code of cautious.recoveryCodes.slice(0, 3))
      expect(await statusOfLogin('cautious', 'cautious', code)).toBe(401);
  });

  it('rejects all tokens that were issued before it, and reuses no id', async () => {
    for (const token of [keeperToken, lostToken]) {
      expect((await call('GET', '/api/account', token)).status).toBe(401);
      expect((await call('GET', '/api/users', token)).status).toBe(401);
    }
    const fields = { login: 'heir', email: 'heir@example.com' };
    const heir = await call('POST', '/api/users', admin, fields);
    const tap = await call('POST', '/api/utm-integrations', admin, INTEGRATION);

    expect(heir.body.id).toBeGreaterThan(lost.id + 999_990);
    expect(tap.body.id).toBeGreaterThan(1_000_000);
  });

  it('can be repeated on a copy, with the settings of the table it replaces', async () => {
    await client.updateTable({
      TableName: RESTORED,
      OnDemandThroughput: { MaxReadRequestUnits: 70, MaxWriteRequestUnits: 30 },
    });
    await restoreAs(COPY, await itemsOf(gatehouse.cloud));
    const unprotected = await adopt('--table', COPY, '--like', RESTORED, '--unprotected');
    const before = await settingsOf(COPY);
    const again = await adopt('--table', COPY, '--like', RESTORED);

    expect([unprotected.code, again.code]).toEqual([0, 0]);
    expect(before).toEqual({
      ...(await settingsOf(RESTORED)),
      recovery: 'DISABLED',
      isProtected: false,
    });
    expect(await settingsOf(COPY)).toEqual(await settingsOf(RESTORED));
  });

  it('serves a new stack that adopts the table and all keys', async () => {
    await deploy({
      tableStream,
      keys: {
        TableKey: TABLE_KEY,
        PepperKey: arns.pepper,
        ValuesKey: arns.values,
        FactorKey: arns.factor,
        SigningKey: arns.signing,
      },
    });

    expect((await call('GET', '/api/users', admin)).status).toBe(200);
    admin = await gatehouse.logIn('admin');
    const path = `/api/utm-integration-confs/${parameter.id}`;
    expect((await call('GET', path, admin)).body.confValue).toBe('a value under ValuesKey');
    expect(await statusOfLogin('cautious', 'cautious', cautious.code())).toBe(200);
  });

  it('reports a restored table that is not intact, and how to repair it', async () => {
    const Key = { pk: { S: 'LOGIN#keeper' }, sk: { S: 'GUARD' } };
    await client.deleteItem({ TableName: COPY, Key });

    const { code, stdout, stderr } = await adopt('--table', COPY);

    expect([code, stdout]).toEqual([1, expect.stringContaining('1 finding')]);
    expect(stderr).toBe(
      `The table is adopted, but not intact: npm run admin -- verify --table ${COPY} --repair\n`,
    );
  });
});
