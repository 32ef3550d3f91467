import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entityKey, type Kind, readBudgetKey, totalKey } from '../../lib/table/keys.ts';
import { listPage } from '../../lib/table/list.ts';
import type { ReadBudget } from '../../lib/table/read-budget.ts';
import { type Item, openTable, type Range, type Table } from '../../lib/table/table.ts';
import { changeTotal, claim } from '../../lib/table/write.ts';
import { USERS } from '../../lib/users/user-table.ts';
import { type Gatehouse, startGatehouse } from '../support/instance/gatehouse.ts';
import { LONG } from '../support/instance/long.ts';

const idOf = ({ id }: Item) => ({ id: Number(id) });
/** A budget that is never spent, beside this total. */
const budgetOf = (total: number): ReadBudget => ({
  requireUnspent: async ([key = totalKey('USER')] = []) => [{ ...key, n: total }],
  spend: async (units) => units,
  settle: async () => undefined,
});

/** A read-only table of this many users that records the ranges it is asked for. */
function listOf(total: number) {
  const reads: Range[] = [];
  const all = Array.from(
    { length: total },
    (_, n): Item => ({ ...entityKey('USER', n + 1), id: n + 1 }),
  );
  const table = {
    async query(_kind: string, range: Range = {}) {
      reads.push(range);
      return (range.backwards ? all.toReversed() : all).slice(0, range.limit);
    },
  };
  const read = async (page: number, size: number, direction: 'asc' | 'desc') => {
    const sort = [{ field: 'id', descending: direction === 'desc' }];
    const query = { page, size, sort, filters: [], parameters: [], after: undefined };
    const { entities } = await listPage(
      {
        table: table as Partial<Table> as Table,
        ...USERS,
        entityOf: idOf,
        budget: budgetOf(total),
      },
      query,
    );
    return entities.map(({ id }) => id);
  };
  return { reads, read };
}

describe('a page in id order', () => {
  it.each([
    ['the first page', 0, 'asc', { backwards: false, limit: 11 }],
    ['the last page, which is not full', 9, 'asc', { backwards: true, limit: 5 }],
    ['a page in the first half', 3, 'asc', { backwards: false, limit: 40 }],
    ['a page in the second half', 6, 'asc', { backwards: true, limit: 35 }],
    ['the first page, descending', 0, 'desc', { backwards: true, limit: 11 }],
    ['the last page, descending', 9, 'desc', { backwards: false, limit: 5 }],
  ] as const)('is read from the nearer end: %s', async (_, page, direction, range) => {
    const { reads, read } = listOf(95);

    await read(page, 10, direction);

    expect(reads).toHaveLength(1);
    expect(reads).toMatchObject([range]);
  });

  it('past the end of the list causes no read', async () => {
    const { reads, read } = listOf(40);

    const entities = await read(2, 20, 'asc');

    expect(entities).toEqual([]);
    expect(reads).toEqual([]);
  });

  it('has the same entities whichever end it is read from', () =>
    fc.assert(
      fc.asyncProperty(
        fc.nat(60),
        fc.nat(12),
        fc.integer({ min: 1, max: 20 }),
        fc.boolean(),
        async (total, page, size, up) => {
          const whole = Array.from({ length: total }, (_, n) => (up ? n + 1 : total - n));

          const entities = await listOf(total).read(page, size, up ? 'asc' : 'desc');

          expect(entities).toEqual(whole.slice(page * size, (page + 1) * size));
        },
      ),
    ));

  it('is rejected without a read when more than 10,000 entities precede it', async () => {
    const unreachable = new DynamoDBClient({ endpoint: 'http://127.0.0.1:1', region: 'none' });
    const table = openTable('none', unreachable);

    const query = { page: 5, size: 2000, sort: [], filters: [], parameters: [], after: undefined };
    const middle = listPage({ ...USERS, table, entityOf: idOf, budget: budgetOf(22_001) }, query);

    await expect(middle).rejects.toMatchObject({ code: 'page-too-deep' });
  });
});

// Writing 10,000 users takes too long for every run; the tests above only pretend to have them.
if (LONG) {
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
      // As after a long pause: each of these lists spends most of the budget of admin.
      await gatehouse.table.transact([{ act: 'Delete', key: readBudgetKey(1) }], randomUUID());
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

    it('is rejected when its sort order would read more than 10,000 entities', async () => {
      await gatehouse.makeUser('one-too-many');
      await copy('USER', 10_001 - Number((await gatehouse.table.get(totalKey('USER')))?.n));

      const sorted = await get('/api/users?sort=login,asc');
      const lastPage = await get('/api/users?page=5&size=2000');
      const clamped = await get('/api/users?page=1&size=5000');
      await gatehouse.call('DELETE', '/api/users/one-too-many', { token });
      const sortedAgain = await get('/api/users?sort=login,asc');

      expect({ status: sorted.status, title: sorted.body.title }).toEqual({
        status: 400,
        title: 'The list is too long for this',
      });
      expect(sorted.headers['x-gatehouseapp-error']).toBe('error.http.400');
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
}
