import { describe, expect, it } from 'vitest';
import { readBudget } from '../../lib/table/read-budget.ts';
import { readBudgetKey } from '../../lib/table/table-items.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { recordingTable } from '../support/doubles/recording-table.ts';
import { useLogLines } from '../support/instance/log-lines.ts';

/* The writes apply as expected in test/api/read-budget.test.ts, on a real engine. */

const NOW = Date.UTC(2030, 0, 1);
useFrozenClock(NOW);

const lines = useLogLines();

const CALLER = { id: 7, requireAuthorized: async () => undefined };
const bucket = (attributes: object) => ({ ...readBudgetKey(7), ...attributes });

describe('readBudget', () => {
  it.each<[string, object | undefined, number | undefined]>([
    ['no item', undefined, undefined],
    ['everything paid back', { paidBackAt: NOW - 1 }, undefined],
    ['2,000 units to pay back', { paidBackAt: NOW + 4000 }, undefined],
    ['more than 2,000 units to pay back', { paidBackAt: NOW + 4001 }, 1],
    ['a debt of more than a second', { paidBackAt: NOW + 5001 }, 2],
  ])('admits a caller unless the bucket is empty: %s', async (_, item, retryAfter) => {
    const [other, key] = [{ pk: 'TOTAL', sk: 'USER' }, readBudgetKey(7)];
    const table = recordingTable({ ...other, n: 5 }, ...(item ? [bucket(item)] : []));

    const read = readBudget(table, CALLER).requireUnspent([other]);

    if (retryAfter === undefined) await expect(read).resolves.toEqual([{ ...other, n: 5 }]);
    else await expect(read).rejects.toMatchObject({ code: 'read-budget-spent', retryAfter });
    expect(table.reads).toEqual([[key, other]]);
  });

  it('reports an unauthorized caller before an empty bucket, and charges nothing', async () => {
    const table = recordingTable(bucket({ paidBackAt: NOW + 9000 }));
    const rejected = { ...CALLER, requireAuthorized: () => Promise.reject(new Error('rejected')) };

    await expect(readBudget(table, rejected).requireUnspent()).rejects.toThrow('rejected');
    expect(table.updates).toEqual([]);
  });

  it('charges nothing up to four units', async () => {
    const table = recordingTable();
    const budget = readBudget(table, CALLER);

    const charged = [await budget.spend(4), await budget.settle(4)];

    expect([charged, table.updates]).toEqual([[0, undefined], []]);
    expect(await budget.spend(4.1)).toBe(4.1);
  });

  it('tries first what the bucket that it has read suggests', async () => {
    const table = recordingTable(bucket({ paidBackAt: NOW + 100 }));
    const budget = readBudget(table, CALLER);

    await budget.spend(100.1);
    await budget.requireUnspent();
    await budget.spend(10_000);

    expect(table.updates.map(({ values }) => [values?.[':paidBackAt'], values?.[':cost']])).toEqual(
      [
        [NOW + 201, undefined],
        // At most what the most expensive list costs: 4,096 units.
        [undefined, 8192],
      ],
    );
  });

  it('tries a charge of a bucket that is paid back just now as one of a spent one', async () => {
    const table = recordingTable(bucket({ paidBackAt: NOW }));
    const budget = readBudget(table, CALLER);
    await budget.requireUnspent();

    await budget.spend(100);

    expect(table.updates[0]?.values).toMatchObject({ ':cost': 200, ':latest': NOW + 4000 });
  });

  it('may leave the largest debt once a read is done', async () => {
    const table = recordingTable();
    table.updateOutcomes.push(false, false);

    await readBudget(table, CALLER).settle(100);

    expect(table.updates.map(({ values }) => values)).toMatchObject([
      { ':paidBackAt': NOW + 200 },
      { ':cost': 200, ':latest': NOW + 4000 + 8192 - 200 },
      { ':maximum': NOW + 4000 + 8192 },
    ]);
  });

  it('keeps the item for a minute after the largest debt is paid back', async () => {
    const table = recordingTable();

    await readBudget(table, CALLER).spend(100);

    expect(table.updates[0]?.names?.['#paidBackAt']).toBe('paidBackAt');
    expect(table.updates[0]?.values?.[':expires']).toBe(Math.ceil((NOW + 4000 + 8192) / 1000) + 60);
  });

  it.each([
    [
      'admits the read after the bucket was charged concurrently',
      { paidBackAt: NOW + 4000 },
      9,
      undefined,
    ],
    ['rejects it once the bucket is empty', { paidBackAt: NOW + 4001 }, 0, 'read-budget-spent'],
    ['gives up after five tries', { paidBackAt: NOW + 4000 }, 10, 'unavailable'],
  ])('%s', async (_, item, failures, code) => {
    const table = recordingTable(bucket(item));
    table.updateOutcomes.push(...Array(Math.max(2, failures)).fill(false));

    const spent = readBudget(table, CALLER).spend(100);

    if (code) await expect(spent).rejects.toMatchObject({ code });
    else await expect(spent).resolves.toBe(100);
    expect(table.updates).toHaveLength(Math.max(2, code ? failures : failures + 1));
  });

  it('does not fail when a read cannot be charged afterwards, and logs the error', async () => {
    const table = recordingTable();
    table.updateOutcomes.push(false, new Error('out of reach'));

    await readBudget(table, CALLER).settle(250);

    expect(lines).toMatchObject([{ readNotCharged: 'Error' }]);
  });
});
