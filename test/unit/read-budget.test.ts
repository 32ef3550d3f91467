import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readBudgetKey } from '../../lib/table/keys.ts';
import { FREE_UNITS, readBudget } from '../../lib/table/read-budget.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';

const NOW = Date.UTC(2030, 0, 1);
beforeEach(() => vi.useFakeTimers({ now: NOW }));
afterEach(() => vi.useRealTimers());

/** A table whose updates return these items, and whose reads that one; notes what it was asked. */
function tableThatReturns({ updates, read }: { updates: (object | undefined)[]; read?: object | undefined }) {
  const written: Write[] = [];
  const reads: unknown[] = [];
  const table = {
    async update(write: Write) {
      written.push(write);
      return updates[written.length - 1] as Item | undefined;
    },
    async get(key: unknown) {
      reads.push(key);
      return read as Item | undefined;
    },
  } as Partial<Table> as Table;
  return { table, written, reads };
}

/** How long a payment of these units waited, milliseconds, or the failure. */
async function wait(table: Table, units: number, authorized = Promise.resolve()): Promise<unknown> {
  const paid = readBudget(table, { id: 7, requireAuthorized: () => authorized })(units).then(
    () => Date.now() - NOW,
    (failure) => failure,
  );
  await vi.runAllTimersAsync();
  return paid;
}

describe('a payment', () => {
  it('is the first one where nothing is to be paid back: 500 units take a second, rounded up', async () => {
    const { table, written } = tableThatReturns({ updates: [{}] });

    expect(await wait(table, 500.1)).toBe(0);
    expect(written).toEqual([
      {
        act: 'Update',
        key: readBudgetKey(7),
        update: 'SET #paidBackAt = :paidBackAt, #expires = :expires',
        condition: 'attribute_not_exists(#paidBackAt) OR #paidBackAt < :now',
        names: { '#paidBackAt': 'paidBackAt', '#expires': 'expires' },
        values: { ':paidBackAt': NOW + 1001, ':now': NOW, ':expires': NOW / 1000 + 2 + 60 },
      },
    ]);
  });

  it('is added to what is to be paid back, up to seven seconds ahead', async () => {
    const { table, written } = tableThatReturns({ updates: [undefined, { paidBackAt: NOW + 4000 }] });

    await wait(table, 100);

    expect(written[1]).toEqual({
      act: 'Update',
      key: readBudgetKey(7),
      update: 'SET #paidBackAt = #paidBackAt + :cost, #expires = :expires',
      condition: '#paidBackAt BETWEEN :now AND :latest',
      names: { '#paidBackAt': 'paidBackAt', '#expires': 'expires' },
      values: { ':cost': 200, ':now': NOW, ':latest': NOW + 7000, ':expires': NOW / 1000 + 8 + 60 },
    });
  });

  it.each([
    ['waits for nothing while 2,000 units are to be paid back', 4200, 0],
    ['waits for a moment beyond them', 4201, 1],
    ['waits for three seconds at most', 7200, 3000],
  ])('%s', async (_, paidBackAt, expected) => {
    const { table } = tableThatReturns({ updates: [undefined, { paidBackAt: NOW + paidBackAt }] });

    expect(await wait(table, 100)).toBe(expected);
  });

  it.each([
    [3001, 4],
    [3999, 4],
    [4001, 5],
  ])('is rejected where it would have to wait %i ms, until %i seconds later', async (ahead, retryAfter) => {
    const { table, reads } = tableThatReturns({
      updates: [undefined, undefined],
      read: { paidBackAt: NOW + 4000 + ahead },
    });

    expect(await wait(table, 100)).toMatchObject({ code: 'read-budget-spent', retryAfter });
    expect(reads).toEqual([readBudgetKey(7)]);
  });

  it.each([
    ['may wait no longer than three seconds', { paidBackAt: NOW + 7000 }],
    ['finds nothing', undefined],
  ])('that meets others is tried five times while it %s', async (_, read) => {
    const lucky = tableThatReturns({ updates: [...Array(8), {}], read });
    const unlucky = tableThatReturns({ updates: [], read });

    expect(await wait(lucky.table, 100)).toBe(0);
    expect(await wait(unlucky.table, 100)).toMatchObject({ code: 'unavailable' });
    expect([lucky.written.length, unlucky.written.length]).toEqual([9, 10]);
  });

  it('is not made for what is free', async () => {
    const { table, written } = tableThatReturns({ updates: [{}] });

    await wait(table, FREE_UNITS);
    expect(written).toEqual([]);
    await wait(table, FREE_UNITS + 0.5);

    expect(FREE_UNITS).toBe(3);
    expect(written).toHaveLength(1);
  });

  it('is not made by a caller who is rejected, not even where it is free', async () => {
    const { table, written } = tableThatReturns({ updates: [{}] });
    const rejected = () => Promise.reject(new Error('rejected'));

    expect(await wait(table, 100, rejected())).toMatchObject({ message: 'rejected' });
    expect(await wait(table, 1, rejected())).toMatchObject({ message: 'rejected' });
    expect(written).toEqual([]);
  });
});
