import { describe, expect, it } from 'vitest';
import {
  cursorAfter,
  type Filter,
  type ListQuery,
  type Order,
} from '../../lib/contract/list-query.ts';
import { INTEGRATIONS } from '../../lib/integrations/integration-table.ts';
import { PARAMETERS } from '../../lib/integrations/parameter-table.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { countEntities, listPage } from '../../lib/table/list.ts';
import type { ReadBudget } from '../../lib/table/read-budget.ts';
import type { Item } from '../../lib/table/table.ts';
import { USERS } from '../../lib/users/list-users.ts';
import { waitMicrotasks } from '../support/doubles/aws-calls.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { queryOf } from '../support/doubles/rule-arguments.ts';

const ASCENDING: Order = { field: 'id', descending: false };
const DESCENDING: Order = { field: 'id', descending: true };

const filter = (
  field: string,
  operator: Filter['operator'],
  ...operands: Filter['operands']
): Filter => ({
  field,
  operator,
  operands,
});

const NAMED = filter('name', 'equals', 'x');

type Entity = { id: number; name: string | undefined; integrationId: number };
const read = (item: Item): Entity => ({
  id: item.id as number,
  name: item.name as string | undefined,
  integrationId: Math.floor((item.id as number) / 1_000_000),
});
const itemOf = (kind: Kind, id: number, name?: string): Item => ({
  ...entityKey(kind, id),
  id,
  ...(name !== undefined && { name }),
});
const usersOf = (total: number) =>
  Array.from({ length: total }, (_, n) => itemOf('USER', n + 1, `name ${n % 3}`));

const COLLECTIONS = { USER: USERS, INTEGRATION: INTEGRATIONS, CONF: PARAMETERS };
type Kind = keyof typeof COLLECTIONS;

/**
 * A list of these items, with the units that its queries spend, settle and are given back, and the
 * calls that they make.
 */
function listOf(
  items: readonly Item[],
  totals: Partial<Record<Kind, number>> = {},
  kind: Kind = 'USER',
) {
  const table = memoryTable(items, totals);
  const [spent, settled, refunded]: [number[], number[], number[]] = [[], [], []];
  const budget: ReadBudget = {
    requireUnspent: async (keys = []) => table.getAll(keys),
    async spend(units) {
      table.calls.push('spend');
      spent.push(units);
      return units > 3 ? units : 0;
    },
    async settle(units) {
      await waitMicrotasks();
      settled.push(units);
    },
    async refund(units) {
      await waitMicrotasks();
      refunded.push(units);
    },
  };
  return {
    table,
    spent,
    settled,
    refunded,
    budget,
    page: (query: Partial<ListQuery>) =>
      listPage({ ...COLLECTIONS[kind], table, entityOf: read, budget }, queryOf(query)),
    count: (query: Partial<ListQuery>) =>
      countEntities({ ...COLLECTIONS[kind], table, entityOf: read, budget }, queryOf(query)),
  };
}

const idsIn = ({ entities }: { entities: readonly Entity[] }) => entities.map(({ id }) => id);
const rangesOf = ({ queries }: ReturnType<typeof memoryTable>) => queries.map(({ range }) => range);

/** The ids of this many entities, in order. */
const ascending = (total: number) => Array.from({ length: total }, (_, n) => n + 1);

describe('a page', () => {
  const ordered: [string, Partial<ListQuery>, (total: number) => number[]][] = [
    ['without an order', {}, ascending],
    ['by id', { sort: [ASCENDING] }, ascending],
    ['by descending id', { sort: [DESCENDING] }, (total) => ascending(total).reverse()],
    ['filtered', { filters: [filter('id', 'greaterThan', 0)] }, ascending],
    [
      'by another field',
      { sort: [{ field: 'name', descending: true }] },
      (total) =>
        [2, 1, 0].flatMap((rest) => ascending(total).filter((id) => (id - 1) % 3 === rest)),
    ],
  ];

  it.each(ordered)('%s has its entities, the total and whether more follow', async (...row) => {
    const [, query, wholeOf] = row;
    for (let total = 0; total <= 12; total++) {
      for (const size of [1, 2, 3, 4, 5, 12, 13]) {
        for (let page = 0; page < total / size + 2; page++) {
          const whole = wholeOf(total);
          const expected = whole.slice(page * size, (page + 1) * size);
          const more = whole.length > (page + 1) * size;

          const found = await listOf(usersOf(total)).page({ page, size, ...query });

          const byId = !query.filters && (query.sort?.[0]?.field ?? 'id') === 'id';
          const last = expected.at(-1);
          const where = JSON.stringify({ total, size, page });
          expect({ ...found, entities: idsIn(found) }, where).toEqual({
            total,
            entities: expected,
            more,
            cursor: byId && more && last !== undefined ? cursorAfter(last) : undefined,
          });
        }
      }
    }
  });

  it.each([ASCENDING, DESCENDING])('after a cursor: %j', async (order) => {
    for (let total = 0; total <= 5; total++) {
      for (const size of [1, 2, 3, 4]) {
        for (let after = 0; after <= 6; after++) {
          const rest = order.descending
            ? ascending(Math.min(total, Math.max(0, after - 1))).reverse()
            : ascending(total).filter((id) => id > after);
          const expected = rest.slice(0, size);

          // A cursor overrides the page number, which deleted entities would shift.
          const found = await listOf(usersOf(total)).page({ page: 7, size, sort: [order], after });

          const more = rest.length > size;
          expect({ ...found, entities: idsIn(found) }).toEqual({
            total,
            entities: expected,
            more,
            cursor: more ? cursorAfter(expected.at(-1) ?? 0) : undefined,
          });
        }
      }
    }
  });

  it('after a cursor is queried up to the largest possible id', async () => {
    const { table, page } = listOf([itemOf('USER', Number.MAX_SAFE_INTEGER)]);

    const up = await page({ size: 3, sort: [ASCENDING], after: 41 });
    await page({ size: 3, sort: [DESCENDING], after: 41 });
    await page({ size: 3, sort: [DESCENDING], after: 0 });

    expect(idsIn(up)).toEqual([Number.MAX_SAFE_INTEGER]);
    expect(rangesOf(table)).toEqual([
      { from: '0000000000000042', to: '9007199254740991', backwards: false, limit: 4 },
      { from: '0000000000000000', to: '0000000000000040', backwards: true, limit: 4 },
      { from: '0000000000000000', to: '0000000000000000', backwards: true, limit: 4 },
    ]);
  });

  it('is followed by more even when the total lags behind', async () => {
    const found = await listOf(usersOf(3), { USER: 2 }).page({ size: 2 });

    expect(found).toMatchObject({ total: 2, more: true, cursor: cursorAfter(2) });
  });
});

describe('the cost of a list', () => {
  it.each<[Kind, number]>([
    ['USER', 0.11],
    ['INTEGRATION', 0.2],
    ['CONF', 1.5],
  ])('depends on the kind of entity: %s', async (kind, units) => {
    const total = 100;
    const { spent, page } = listOf([], { [kind]: total }, kind);

    await page({ size: 50 });
    await page({ size: 500 });
    await page({ size: 50, after: 3, page: 9 });
    await page({ page: 2, size: 20 });
    await page({ page: 3, size: 20 });
    await page({ sort: [{ field: 'name', descending: false }] });
    await page({ filters: [NAMED] });

    expect(spent).toEqual([51, 100, 51, 60, 40, 100, 100].map((entities) => entities * units));
  });

  it('is at most the 4,096 units after which a list is rejected', async () => {
    const list = listOf([], { CONF: 10_000 }, 'CONF');

    await list.page({ filters: [NAMED] });

    expect(list.spent).toEqual([4096]);
  });

  it('is charged afterwards for the parameters of one integration, which are few', async () => {
    const ofOne = { filters: [filter('integrationId', 'equals', 3)] };
    const many = listOf([], { CONF: 50_000 }, 'CONF');
    many.table.query = async (_pk, _range, onConsumed) => {
      onConsumed?.(17);
      return [];
    };

    await many.page(ofOne);
    await many.count(ofOne);

    expect([many.spent, many.settled]).toEqual([
      [0, 0],
      [17, 17],
    ]);
  });

  it('is settled after the read by the units consumed beyond the charge', async () => {
    const { table, spent, settled, page } = listOf([], { INTEGRATION: 100 }, 'INTEGRATION');
    table.query = async (_pk, _range, onConsumed) => {
      onConsumed?.(1000);
      onConsumed?.(500);
      expect(settled).toEqual([]);
      return [];
    };

    await page({ filters: [NAMED] });

    expect([spent, settled]).toEqual([[20], [1480]]);
  });

  it('is the cost of the entities themselves for a few ids, which may not exist', async () => {
    const { table, page } = listOf(usersOf(3));

    expect(idsIn(await page({ filters: [filter('id', 'in', 3, 1, 7, 3)] }))).toEqual([1, 3]);
    expect(table.calls).toEqual(['getAll 0', 'spend', 'getAll 3']);
  });

  it.each([
    [100, ['getAll 0', 'spend', 'getAll 100']],
    [101, ['getAll 1', 'spend', 'query USER']],
  ])('is by key for up to the 100 ids that one call reads: %i', async (count, calls) => {
    const { table, page } = listOf(usersOf(3));

    await page({ filters: [filter('id', 'in', ...ascending(count))] });

    expect(table.calls).toEqual(calls);
  });

  it('is settled by what users have cost that a filter finds by key', async () => {
    const { table, spent, settled, page } = listOf(usersOf(3));
    const { getAll } = table;
    table.getAll = (keys, onConsumed) => {
      onConsumed?.(20);
      return getAll(keys);
    };

    await page({ filters: [filter('id', 'equals', 2)] });
    await page({ filters: [filter('id', 'in', ...ascending(50))] });

    expect([spent, settled, table.queries]).toEqual([[0.11, 5.5], [20, 14.5], []]);
  });
});

it('only the parameters of one integration are read, also after a cursor', async () => {
  const items = [1_000_001, 2_000_001, 2_000_002, 3_000_001].map((id) => itemOf('CONF', id));
  const { table, page } = listOf(items, {}, 'CONF');
  const filters = [filter('integrationId', 'equals', 2)];

  const all = await page({ filters });
  const rest = await page({ filters, after: 2_000_001, size: 1 });
  const none = await page({ filters, after: 4_000_000 });
  for (const id of [0, -1, 9_007_199_254]) {
    const impossible = { filters: [filter('integrationId', 'equals', id)] };
    expect([await page(impossible), await page({ ...impossible, after: 5 })]).toEqual(
      Array(2).fill({ total: 0, entities: [], more: false, cursor: undefined }),
    );
  }

  expect([all, rest, none].map(idsIn)).toEqual([[2_000_001, 2_000_002], [2_000_002], []]);
  expect([rest, none]).toMatchObject(Array(2).fill({ more: false, cursor: undefined }));
  expect(rangesOf(table).map(({ from, to }) => [from, to])).toEqual([
    ['0000000002000000', '0000000002999999'],
    ['0000000002000001', '0000000002999999'],
  ]);
});

describe('a list of more than 10,000 entities', () => {
  it('is read at exactly 10,000, with a failure code in case it grows', async () => {
    const { table, page } = listOf([], { USER: 10_000 });

    await page({ sort: [{ field: 'name', descending: false }] });
    await page({ filters: [NAMED] });

    expect(rangesOf(table)).toEqual(Array(2).fill({ tooLong: 'list-too-long' }));
  });

  it('is rejected in any order but by id, and is not counted with a filter', async () => {
    const { table, page, count } = listOf([], { USER: 10_001 });
    const tooLong = { code: 'list-too-long' };
    const byName = [{ field: 'name', descending: false }];

    await expect(page({ sort: byName, filters: [NAMED] })).rejects.toMatchObject(tooLong);
    await expect(count({ filters: [NAMED] })).rejects.toMatchObject(tooLong);
    expect(await count({})).toBe(10_001);
    expect(table.queries).toEqual([]);
  });

  it('has pages up to 10,000 entities from either end, which can be too large', async () => {
    const { table, spent, page } = listOf([], { USER: 25_000 });
    const deep = { code: 'page-too-deep' };

    await page({ page: 4, size: 2000 });
    await page({ page: 8, size: 2000, sort: [DESCENDING] });
    await expect(page({ page: 5, size: 2000 })).rejects.toMatchObject(deep);
    await expect(page({ page: 1, size: 5001 })).rejects.toMatchObject(deep);

    expect(rangesOf(table)).toEqual([
      { backwards: false, limit: 10_000, tooLong: 'page-too-deep' },
      { backwards: false, limit: 9000, tooLong: 'page-too-deep' },
    ]);
    expect(spent).toEqual([1100, 990]);
  });
});

describe('a filter in a list of more than 10,000 entities, in the order of ids', () => {
  const named = (ids: readonly number[]) =>
    Array.from({ length: 20_500 }, (_, n) =>
      itemOf('USER', n + 1, ids.includes(n + 1) ? 'x' : undefined),
    );
  const filtered = { size: 2, filters: [NAMED] };

  /** A list whose charges fail after this many. */
  function failingAfter(charges: number, code: string) {
    const list = listOf(named([5]));
    const { spend } = list.budget;
    list.budget.spend = async (units) => {
      if (list.spent.length === charges) throw Object.assign(new Error(), { code });
      return spend(units);
    };
    return list;
  }

  it.each([
    ['spent before anything is read', 0, 'read-budget-spent', {}],
    ['out of reach', 3, 'unavailable', {}],
    ['spent before a page by number', 0, 'read-budget-spent', { page: 1 }],
  ])('fails when the budget is %s', async (_, charges, code, query) => {
    const { page } = failingAfter(charges, code);

    await expect(page({ ...filtered, ...query })).rejects.toMatchObject({ code });
  });

  it('ends early, with a cursor, when the budget is spent', async () => {
    const found = await failingAfter(3, 'read-budget-spent').page(filtered);

    expect(found).toMatchObject({ entities: [{ id: 5 }], more: true });
    expect(Buffer.from(found.cursor ?? '', 'base64url').toString()).toMatch(/^after 0*2998$/);
  });

  it('is given back what it was charged for entities that there were not', async () => {
    const { page, spent, refunded } = listOf(named([5]).slice(-1500), { USER: 10_001 });

    const { cursor } = await page(filtered);

    expect(cursor).toBeUndefined();
    expect(spent.reduce((sum, units) => sum + units) - 1501 * 0.11).toBeCloseTo(refunded[0] ?? 0);
    expect(refunded).toHaveLength(1);
  });

  it('is read in smaller steps where entities are larger', async () => {
    const items = Array.from({ length: 10_001 }, (_, n) => itemOf('CONF', n + 1_000_000));
    const list = listOf(items, {}, 'CONF');

    const { cursor } = await list.page(filtered);

    expect(rangesOf(list.table).map(({ limit }) => limit)).toEqual(Array(11).fill(73));
    expect(cursor).toBeDefined();
  });

  it('has pages by number within the first 10,000', async () => {
    const { page } = listOf(named([1, 2, 3, 4, 10_001]));
    const deep = { code: 'page-too-deep' };

    expect(await page({ ...filtered, page: 1 })).toMatchObject({
      entities: [{ id: 3 }, { id: 4 }],
      more: true,
    });
    await expect(page({ ...filtered, page: 2 })).rejects.toMatchObject(deep);
  });
});
