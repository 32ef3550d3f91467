import { beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyParameters, verifyTotal } from '../../lib/operations/integrity/counters.ts';
import type { Finding } from '../../lib/operations/integrity/finding.ts';
import { repairTable } from '../../lib/operations/integrity/repair-table.ts';
import { survey } from '../../lib/operations/integrity/survey.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey, type Key } from '../../lib/table/keys.ts';
import type { Table } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { cancelledBy } from '../support/doubles/aws-calls.ts';
import { type InMemoryScanner, inMemoryScanner } from '../support/doubles/memory-table.ts';
import { INTACT_ITEMS } from '../support/doubles/stored-items.ts';

/*
 * How often a table is read again under concurrent changes, and how often a repair is retried after
 * conflicts.
 */

const GATE = entityKey('INTEGRATION', 4);
const TOTAL = totalKey('USER');

/** The waits between tries, in milliseconds. Fake timers skip them. */
let waits: number[];
beforeEach(() => {
  vi.useFakeTimers();
  waits = [];
  const setTimer = setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms: number) => {
    waits.push(ms);
    return setTimer(done, ms);
  }) as typeof setTimeout);
});
async function skippingWaits<T>(work: Promise<T>): Promise<T> {
  const [settled] = await Promise.all([Promise.allSettled([work]), vi.runAllTimersAsync()]);
  if (settled[0].status === 'rejected') throw settled[0].reason;
  return settled[0].value;
}

const counts = ({ reads }: InMemoryScanner) => reads.filter((read) => 'pk' in read).length;
type Change = (table: InMemoryScanner, reads: number) => void;

/** A table with these attributes of an item, which changes during each count, and its survey. */
async function withWrong(
  key: Key,
  attributes: Record<string, unknown>,
  duringCount: Change = () => undefined,
  beforeCount: Change = () => undefined,
) {
  const table = inMemoryScanner(INTACT_ITEMS, (read, reads, table) =>
    ('pk' in read ? duringCount : beforeCount)(table, reads),
  );
  table.put(key, attributes);
  return { table, seen: await survey(table, () => undefined) };
}

describe('a total', () => {
  it('is wrong when two counts in a row differ from the total around them', async () => {
    const { table, seen } = await withWrong(TOTAL, { n: 5 });

    const { findings, undecided } = await skippingWaits(verifyTotal(table, seen, 'USER'));

    expect(findings.map(({ message }) => message)).toEqual([
      'TOTAL / USER is 5, but the table holds 3.',
    ]);
    expect(undecided).toBeUndefined();
    const once = [{ keys: [TOTAL] }, { pk: 'USER', from: undefined }, { keys: [TOTAL] }];
    expect(table.reads).toEqual([...once, ...once]);
    expect(waits).toHaveLength(1);
  });

  it.each<[string, Change]>([
    ['its number', (table, count) => table.put(TOTAL, { n: 5 + (count % 2) })],
    ['its change counter', (table, count) => table.put(TOTAL, { n: 5, changes: count })],
    [
      'the items that it counts',
      // The count skips from 3 to 6 and so never matches the total of 5.
      (table, count) => {
        for (const id of [100, 200, 300]) table.put(entityKey('USER', id + count), {});
      },
    ],
  ])('is undecided after 20 counts while %s keep changing', async (_, change) => {
    const { table, seen } = await withWrong(TOTAL, { n: 5 }, change);

    expect(await skippingWaits(verifyTotal(table, seen, 'USER'))).toEqual({
      findings: [],
      undecided: 'TOTAL / USER could not be verified: it kept changing',
    });
    expect([counts(table), waits.length]).toEqual([20, 20]);
    expect(Math.max(...waits)).toBeLessThan(100);
    expect(Math.max(...waits)).toBeGreaterThan(50);
  });

  const ALICE = entityKey('USER', 3);
  const BOB = entityKey('USER', 100);
  it.each<[string, Change, Change, string]>([
    [
      'a deletion follows it',
      () => undefined,
      (table) => {
        table.remove(ALICE);
        table.put(TOTAL, { n: 3, changes: 4 });
      },
      'TOTAL / USER is 3, but the table holds 2.',
    ],
    [
      'it includes a user who is deleted at once',
      (table) => table.put(BOB, {}),
      (table) => {
        table.remove(BOB);
        table.put(TOTAL, { changes: 5 });
      },
      'TOTAL / USER is 4, but the table holds 3.',
    ],
  ])('is wrong although a count matches it because %s', async (_, before, after, message) => {
    const { table, seen } = await withWrong(
      TOTAL,
      { n: 4 },
      (table, reads) => reads === 2 && before(table, reads),
      (table, reads) => reads === 3 && after(table, reads),
    );

    const { findings } = await skippingWaits(verifyTotal(table, seen, 'USER'));

    expect(findings.map((finding) => finding.message)).toEqual([message]);
  });

  it('is counted afresh when it changes between two counts', async () => {
    // The total is wrong and stable during each count, but changes between the counts.
    const { table, seen } = await withWrong(TOTAL, { n: 5 }, undefined, (table, reads) => {
      if (reads % 3 === 1 && counts(table) < 3) table.put(TOTAL, { n: 5 + reads });
    });

    const { findings } = await skippingWaits(verifyTotal(table, seen, 'USER'));

    expect([findings.length, counts(table)]).toEqual([1, 4]);
  });
});

describe('the parameters of an integration', () => {
  it('are counted again when the revision changes', async () => {
    const { table, seen } = await withWrong(GATE, { parameterCount: 7 }, (table) => {
      if (counts(table) === 1) table.put(GATE, { parameterCount: 2, revision: 7 });
    });

    expect(await skippingWaits(verifyParameters(table, seen))).toEqual({ findings: [] });
    expect([counts(table), waits.length]).toEqual([2, 1]);
  });

  it('are undecided after 20 counts, separately for each integration', async () => {
    const other = entityKey('INTEGRATION', 5);
    const { table, seen } = await withWrong(GATE, { parameterCount: 7 }, (table, count) => {
      for (const key of [GATE, other]) table.put(key, { revision: count });
    });
    table.put(other, { ...table.find(GATE), id: 5 });
    seen.integrations.set(5, { parameterCount: 1, parametersEver: 1 });

    expect(await skippingWaits(verifyParameters(table, seen))).toEqual({
      findings: [],
      undecided: [4, 5]
        .map(
          (id) => `the parameters of integration ${id} could not be verified: they kept changing`,
        )
        .join('; '),
    });
    expect([counts(table), waits.length]).toEqual([40, 40]);
  });
});

describe('repairTable', () => {
  const finding = (remedy: Finding['remedy']): Finding => ({
    kind: 'wrong-total',
    keys: [],
    message: '',
    remedy,
  });
  const repairable = (pk: string) => {
    const key = { pk, sk: 'x' };
    const write: Write = { act: 'Put', key, condition: 'c', onConditionFailed: 'retry' };
    return finding({ description: `mends ${pk}`, writes: [write] });
  };

  /** Repairs A and B in a table whose first transactions fail with these errors. */
  async function repair(...errors: Error[]) {
    const log: string[] = [];
    const table: Pick<Table, 'transact'> = {
      async transact(writes) {
        log.push(`writes ${writes.map(({ key }) => key.pk)}`);
        const error = errors.shift();
        if (error) throw error;
      },
    };
    const findings = [repairable('A'), finding({ advice: 'none' }), repairable('B')];
    const repairing = repairTable(table as Table, findings, (description) => log.push(description));
    const error = await skippingWaits(repairing.catch((error: Error) => error.message));
    return [...log, ...(error ? [error] : [])];
  }

  const CONFLICT = cancelledBy('TransactionConflict');
  it.each<[string, Error[], string[], number]>([
    ['announces each repair before it makes it', [], ['writes A', 'mends B', 'writes B'], 0],
    [
      'skips a repair that is no longer needed',
      [cancelledBy('ConditionalCheckFailed')],
      ['writes A', 'mends B', 'writes B'],
      0,
    ],
    [
      'tries a conflicting repair 10 times and then continues with the next',
      Array(10).fill(CONFLICT),
      [...Array(10).fill('writes A'), 'mends B', 'writes B'],
      9,
    ],
    ['rethrows any other error', [new Error('no rights')], ['writes A', 'no rights'], 0],
  ])('%s', async (_, errors, log, waited) => {
    expect(await repair(...errors)).toEqual(['mends A', ...log]);
    expect(waits).toHaveLength(waited);
  });
});
