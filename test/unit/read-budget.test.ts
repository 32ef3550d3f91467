import { describe, expect, it } from 'vitest';
import { readBudget } from '../../lib/table/read-budget.ts';
import { recordingTable } from '../support/doubles/memory-table.ts';
import { useLogLines } from '../support/doubles/output.ts';
import { freezeClock, useFrozenClock } from '../support/doubles/time.ts';

/* The writes apply as expected in test/api/read-budget.test.ts, on a real engine. */

/** Three seconds before the end of a window. */
const NOW = Date.UTC(2030, 0, 1) + 5000;
useFrozenClock(NOW);

const lines = useLogLines();

const CALLER = { id: 7, requireAuthorized: async () => undefined };
const KEY = { pk: 'READS#0000000000000007', sk: String(Math.floor(NOW / 8000)) };

describe('readBudget', () => {
  it.each<[number, number | undefined]>([
    [4095.9, undefined],
    [4096, 3],
  ])('admits a caller until 4,096 units are read in a window: %s', async (n, retryAfter) => {
    const other = { pk: 'TOTAL', sk: 'USER' };
    const table = recordingTable({ ...other, n: 5 }, { ...KEY, n });

    const read = readBudget(table, CALLER).requireUnspent([other]);

    if (retryAfter === undefined) await expect(read).resolves.toEqual([{ ...other, n: 5 }]);
    else await expect(read).rejects.toMatchObject({ code: 'read-budget-spent', retryAfter });
    expect(table.reads).toEqual([[KEY, other]]);
  });

  it('rejects a read that the window has no units left for, until it ends', async () => {
    const table = recordingTable();
    table.updateOutcomes.push(false, false);
    const budget = readBudget(table, CALLER);

    const spent = { code: 'read-budget-spent', retryAfter: 3 };
    await expect(budget.spend(100)).rejects.toMatchObject(spent);
    freezeClock(NOW + 9000);
    await expect(budget.spend(100)).rejects.toMatchObject({ ...spent, retryAfter: 1 });
    expect(table.updates[0]).toMatchObject({
      key: KEY,
      names: { '#n': 'n', '#expires': 'expires' },
      // A minute after the window.
      values: { ':amount': 100, ':rest': 3996, ':expires': NOW / 1000 + 63 },
    });
  });

  it('charges nothing and gives nothing back for up to 4 units', async () => {
    const table = recordingTable();
    const budget = readBudget(table, CALLER);

    expect(await budget.spend(4)).toBe(0);
    await budget.settle(4);
    await budget.refund(4);
    expect(table.updates).toEqual([]);
  });

  it.each(['settle', 'refund'] as const)(
    'does not fail when a read cannot be charged afterwards, and logs the error: %s',
    async (method) => {
      const table = recordingTable();
      table.updateOutcomes.push(new Error('out of reach'));

      await readBudget(table, CALLER)[method](250);

      expect(lines).toMatchObject([{ readNotCharged: 'Error' }]);
    },
  );
});
