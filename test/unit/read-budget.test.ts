import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readBudgetKey } from '../../lib/table/keys.ts';
import { FREE_UNITS, readBudget } from '../../lib/table/read-budget.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { useLogLines } from '../support/log-lines.ts';

const NOW = Date.UTC(2030, 0, 1);
beforeEach(() => vi.useFakeTimers({ now: NOW }));
afterEach(() => vi.useRealTimers());

/** A table that records its calls. Updates return these items in turn, and reads return the one. */
function tableReturning({ updates, read }: { updates: (object | undefined)[]; read?: object | undefined }) {
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

const lines = useLogLines();

const CALLER = { id: 7, requireAuthorized: async () => undefined };

/** The milliseconds for which a charge of these units waited, or its failure. */
async function wait(table: Table, units: number, authorized = Promise.resolve()): Promise<unknown> {
  const paid = readBudget(table, { id: 7, requireAuthorized: () => authorized })(units).then(
    () => Date.now() - NOW,
    (failure) => failure,
  );
  await vi.runAllTimersAsync();
  return paid;
}

describe('readBudget', () => {
  it('opens a balance when none is outstanding, at 500 units per second, rounded up', async () => {
    const { table, written } = tableReturning({ updates: [{}] });

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

  it('adds to an outstanding balance of up to seven seconds', async () => {
    const { table, written } = tableReturning({ updates: [undefined, { paidBackAt: NOW + 4000 }] });

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
    ['does not wait while up to 2,000 units are outstanding', 4200, 0],
    ['waits for the excess over 2,000 units', 4201, 1],
    ['waits at most three seconds', 7200, 3000],
  ])('%s', async (_, paidBackAt, expected) => {
    const { table } = tableReturning({ updates: [undefined, { paidBackAt: NOW + paidBackAt }] });

    expect(await wait(table, 100)).toBe(expected);
  });

  it.each([
    [3001, 4],
    [3999, 4],
    [4001, 5],
  ])('rejects a wait of %i ms with a retryAfter of %i seconds', async (ahead, retryAfter) => {
    const { table, reads } = tableReturning({
      updates: [undefined, undefined],
      read: { paidBackAt: NOW + 4000 + ahead },
    });

    expect(await wait(table, 100)).toMatchObject({ code: 'read-budget-spent', retryAfter });
    expect(reads).toEqual([readBudgetKey(7)]);
  });

  it.each([
    ['the balance still allows a wait', { paidBackAt: NOW + 7000 }],
    ['there is no balance', undefined],
  ])('makes five attempts under concurrent charges while %s', async (_, read) => {
    const lucky = tableReturning({ updates: [...Array(8), {}], read });
    const unlucky = tableReturning({ updates: [], read });

    expect(await wait(lucky.table, 100)).toBe(0);
    expect(await wait(unlucky.table, 100)).toMatchObject({ code: 'unavailable' });
    expect([lucky.written.length, unlucky.written.length]).toEqual([9, 10]);
  });

  it('charges nothing up to the free units', async () => {
    const { table, written } = tableReturning({ updates: [{}] });

    await wait(table, FREE_UNITS);
    expect(written).toEqual([]);
    await wait(table, FREE_UNITS + 0.5);

    expect(FREE_UNITS).toBe(3);
    expect(written).toHaveLength(1);
  });

  it.each([
    ['a charged read', 100],
    ['a free read', 1],
  ])('settles what %s costs beyond its charge, without a wait and regardless of the balance', async (_, units) => {
    const updates = [...Array(units > FREE_UNITS ? 1 : 0).fill({}), undefined, { paidBackAt: NOW + 60_000 }];
    const { table, written } = tableReturning({ updates });
    const settle = await readBudget(table, CALLER)(units);
    const charges = written.length;

    await settle(FREE_UNITS);
    expect(written).toHaveLength(charges);
    await settle(250);

    expect(written.slice(charges).map(({ values }) => values)).toEqual([
      { ':paidBackAt': NOW + 500, ':now': NOW, ':expires': NOW / 1000 + 1 + 60 },
      { ':cost': 500, ':now': NOW, ':latest': NOW + 3_604_000, ':expires': NOW / 1000 + 3605 + 60 },
    ]);
  });

  it('does not fail when a settlement fails, and logs the error', async () => {
    const { table } = tableReturning({ updates: [] });
    const settle = await readBudget(table, CALLER)(1);

    await settle(250);

    expect(lines).toMatchObject([{ readNotCharged: 'Failure', code: 'unavailable' }]);
  });

  it('rejects an unauthorized caller without a charge, even for a free read', async () => {
    const { table, written } = tableReturning({ updates: [{}] });
    const rejected = () => Promise.reject(new Error('rejected'));

    expect(await wait(table, 100, rejected())).toMatchObject({ message: 'rejected' });
    expect(await wait(table, 1, rejected())).toMatchObject({ message: 'rejected' });
    expect(written).toEqual([]);
  });
});
