import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey, type Kind } from '../../lib/table/keys.ts';
import { changeTotal, claim } from '../../lib/table/write.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';
import { forgetReads } from '../support/instance/items.ts';
import type { Gatehouse } from '../support/instance/launch.ts';

/* Lists of 10,000 users and of 16 MB; test/unit/list.test.ts only pretends to have them. */

describe('a list that is too long', () => {
  // An instance of its own, because clearing a shared table of this many items would hold up the
  // next file.
  let gatehouse: Gatehouse;
  let token: string;
  beforeAll(async () => {
    gatehouse = await startGatehouse({ breaksData: true });
    token = await gatehouse.adminToken();
  });
  afterAll(() => gatehouse.stop());
  async function get(path: string) {
    // Each of these lists spends most of the budget of admin.
    await forgetReads(gatehouse.table, 1);
    return gatehouse.call('GET', path, { token });
  }

  /** Writes copies of the last entity straight into the table. */
  async function copy(kind: Kind, count: number, changes: object = {}, atOnce = 99) {
    const [original] = await gatehouse.table.query(kind, { backwards: true, limit: 1 });
    const ids = Array.from({ length: count }, (_, n) => Number(original?.id) + 1 + n);
    while (ids.length > 0) {
      const copies = ids
        .splice(0, atOnce)
        .map((id) => claim(entityKey(kind, id), { ...original, ...changes, id }, 'unexpected'));
      await gatehouse.table.transact([...copies, changeTotal(kind, copies.length)], randomUUID());
    }
  }

  it('is rejected beyond 10,000 entities in another order, and filtered in steps', async () => {
    await gatehouse.makeUser('one-too-many');
    await copy('USER', 10_001 - Number((await gatehouse.table.get(totalKey('USER')))?.n));

    const sorted = await get('/api/users?sort=login,asc');
    const filtered = await get('/api/users?sort=id,desc&id.lessThan=2');
    const next = await get(/<([^>]*)>; rel="next"/.exec(filtered.headers.link ?? '')?.[1] ?? '');
    const lastPage = await get('/api/users?page=5&size=2000');
    const clamped = await get('/api/users?page=1&size=5000');
    await gatehouse.call('DELETE', '/api/users/one-too-many', { token });
    const sortedAgain = await get('/api/users?sort=login,asc');

    expect({ status: sorted.status, title: sorted.body.title }).toEqual({
      status: 400,
      title: 'The list is too long for this',
    });
    expect(sorted.headers['x-gatehouseapp-error']).toBe('error.http.400');
    expect([filtered.headers['x-total-count'], filtered.body]).toEqual([undefined, []]);
    expect([next.headers.link, next.body]).toEqual([
      expect.not.stringContaining('next'),
      [expect.objectContaining({ id: 1 })],
    ]);
    expect([lastPage.headers['x-total-count'], lastPage.body.length]).toEqual(['10001', 1]);
    expect(clamped.body).toHaveLength(2000);
    expect([sortedAgain.status, sortedAgain.headers['x-total-count']]).toEqual([200, '10000']);
  }, 60_000);

  it('is rejected when it would read more than 16 MB or return more than 5 MB', async () => {
    await gatehouse.call('POST', '/api/utm-integrations', {
      token,
      body: { name: 'Large', shortName: 'large', integrationType: 'API' },
    });
    await copy('INTEGRATION', 40, { description: 'd'.repeat(380_000) }, 5);
    const fits = await get('/api/utm-integrations?size=1&sort=name');
    await copy('INTEGRATION', 10, {}, 5);

    const sorted = await get('/api/utm-integrations?size=1&sort=name');
    const large = await get('/api/utm-integrations?sort=id,desc&size=14');
    const smaller = await get('/api/utm-integrations?sort=id,desc&size=13');

    expect([fits.status, fits.headers['x-total-count']]).toEqual([200, '41']);
    expect([sorted.status, sorted.body.title]).toEqual([400, 'The list is too long for this']);
    expect([large.status, large.body.title]).toEqual([400, 'The page is too large']);
    expect(smaller.body).toHaveLength(13);
  }, 60_000);
});
