import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { commit } from '../../lib/table/change.ts';
import { put } from '../../lib/table/write.ts';
import { operatorsEnvironment, runCommand } from '../support/commands/run-command.ts';
import { type Gatehouse, startGatehouse, useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { type Items, itemsOf, restoreItems } from '../support/instance/items.ts';
import { decode, makeTokens } from '../support/instance/mint.ts';

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
const createUser = (login: string) =>
  call('POST', '/api/users', admin, { login, email: 'lost@example.com' });
const createIntegration = () => call('POST', '/api/utm-integrations', admin, INTEGRATION);

describe('after a restore, before the table is adopted', () => {
  it('rejects the token of a lost account whose id a new administrator has', async () => {
    const administrator = { authorities: ['ROLE_ADMIN', 'ROLE_USER'] };
    const lost = await gatehouse.makeUser('lost', administrator);
    const token = await gatehouse.logIn('lost');
    await restore();
    const heir = await gatehouse.makeUser('heir', administrator);

    const responses = await Promise.all([
      call('GET', '/api/account', token),
      call('POST', '/api/account', token, { firstName: 'Thief' }),
      call('PUT', '/api/users', token, { ...heir, firstName: 'Thief' }),
      call('GET', '/api/utm-integration-confs', token),
    ]);

    expect(heir.id).toBe(lost.id);
    expect(responses.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect((await call('GET', '/api/account', await gatehouse.logIn('heir'))).status).toBe(200);
  });

  it('rejects reset keys and ETags of lost users and integrations', async () => {
    await restore();
    const lost = await createUser('lost');
    const key = await gatehouse.keyMailedTo('lost@example.com');
    const lostTap = await createIntegration();
    await restore();
    const heir = await createUser('heir');
    const tap = await createIntegration();

    const reset = { key, newPassword: 'thief' };
    const finished = await call('POST', '/api/account/reset-password/finish', admin, reset);
    const ifMatch = ({ headers }: typeof lost) => ({ 'If-Match': String(headers.etag) });
    const updated = await call('PUT', '/api/users', admin, heir.body, ifMatch(lost));
    const path = `/api/utm-integrations/${tap.body.id}`;
    const deleted = await call('DELETE', path, admin, undefined, ifMatch(lostTap));

    expect([heir.body.id, tap.body.id]).toEqual([lost.body.id, lostTap.body.id]);
    expect([finished.status, updated.status, deleted.status]).toEqual([400, 412, 412]);
  });
});

describe('npm run admin -- adopt', () => {
  beforeAll(async () => {
    gatehouse = await startGatehouse();
    admin = await gatehouse.logIn('admin');
  });
  afterAll(async () => {
    await gatehouse.stop();
    gatehouse = shared;
  });

  it('assigns no parameter id again, and rejects earlier keys, tokens and reports', async () => {
    const { body: tap } = await createIntegration();
    const path = `/api/utm-integrations/${tap.id}`;
    const create = async () => {
      const body = { integration: tap, confName: 'key', confValue: 'value' };
      return (await call('POST', '/api/utm-integration-confs', admin, body)).body;
    };
    const update = (parameter: object) =>
      call('PUT', '/api/utm-integration-confs', admin, parameter);
    const restarted = (module: object) => call('POST', `${path}/module/restarted`, admin, module);
    const publishedKeys = async () =>
      (await gatehouse.call('GET', '/.well-known/jwks.json')).body.keys.length;
    const parameter = await create();
    await createUser('invited');
    const key = await gatehouse.keyMailedTo('lost@example.com');
    const retired = makeTokens(admin);
    await commit(gatehouse.table, [put(retired.publicKey, { jwk: retired.publicKey.jwk })]);
    const before = await itemsOf(gatehouse.cloud);
    const lost = await create();
    await update(parameter);
    const { body: lostTap } = await call('GET', path, admin);
    await restoreItems(gatehouse.cloud, before);

    const { code, stdout } = await runCommand(
      'adopt',
      ['--unprotected', '--table', gatehouse.cloud.tableName],
      operatorsEnvironment(gatehouse.cloud),
      inject('repository'),
    );
    gatehouse.cloud.recycle();

    expect([code, stdout]).toEqual([0, expect.stringContaining('Deleted 1 mailed key')]);
    const { incarnation } = decode(admin.split('.')[1]);
    const forged = retired.of({ id: 1, incarnation: incarnation as string });
    expect(await publishedKeys()).toBe(0);
    expect((await call('GET', '/api/users', forged)).status).toBe(401);
    expect((await call('GET', '/api/account', admin)).status).toBe(401);
    const reset = { key, newPassword: 'late' };
    const finished = await call('POST', '/api/account/reset-password/finish', '', reset);
    expect(finished.status).toBe(400);

    admin = await gatehouse.logIn('admin');
    expect(await publishedKeys()).toBe(1);
    expect((await update(lost)).status).toBe(404);
    expect((await create()).id).toBe(lost.id + 10_000);
    const stale = await restarted(lostTap.module);
    const cleared = await restarted(stale.body.module);
    const changes = lostTap.module.changes - 1 + 1_000_000;
    expect(stale.body.module).toEqual({ needsRestart: true, changes });
    expect(cleared.body.module).toEqual({ needsRestart: false, changes });
  });
});
