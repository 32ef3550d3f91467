import { beforeAll, describe, expect, it } from 'vitest';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { INTEGRATION } from '../support/instance/integrations.ts';
import { type Items, itemsOf, restoreItems } from '../support/instance/items.ts';

/*
 * A table that was restored from a backup assigns ids again until it is adopted. Tokens, reset keys
 * and ETags that were issued for lost accounts and integrations must not be valid for new ones with
 * the same ids. test/unit/rare-changes.test.ts has the adoption.
 */

const gatehouse = await useGatehouse();
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
