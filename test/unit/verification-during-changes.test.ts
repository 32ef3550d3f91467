import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyParameters, verifySequence, verifyTotal } from '../../lib/integrity/counters.ts';
import type { Finding } from '../../lib/integrity/finding.ts';
import { repairTable } from '../../lib/integrity/repair-table.ts';
import { survey } from '../../lib/integrity/survey.ts';
import { verifyTable } from '../../lib/integrity/verify-table.ts';
import * as keys from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { cancelledBy } from '../support/doubles/aws-errors.ts';
import {
  type InMemoryScanner,
  inMemoryScanner,
  type Read,
} from '../support/doubles/in-memory-scanner.ts';
import { INTACT_ITEMS } from '../support/instance/intact-items.ts';

/*
 * How often a table is read again under concurrent changes, and how often a repair is retried after
 * conflicts.
 */

const { entityKey, totalKey, sequenceKey } = keys;
const GATE = entityKey('INTEGRATION', 4);
const TOTAL = totalKey('USER');

/** The waits between tries, in milliseconds. Fake timers skip them. */
let waits: number[];
beforeEach(() => {
  vi.useFakeTimers();
  waits = [];
  const setTimer = setTimeout;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    done: () => void,
    milliseconds: number,
  ) => {
    waits.push(milliseconds);
    return setTimer(done, milliseconds);
  }) as typeof setTimeout);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function skippingWaits<T>(work: Promise<T>): Promise<T> {
  const outcome = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.runAllTimersAsync();
  const settled = await outcome;
  if ('error' in settled) throw settled.error;
  return settled.value;
}

const counts = ({ reads }: InMemoryScanner) => reads.filter((read) => 'pk' in read).length;
const isCount = (read: Read) => 'pk' in read;

/** A table with a wrong total, and the survey of it. */
async function withWrongTotal(
  onRead?: (read: Read, count: number, table: InMemoryScanner) => void,
) {
  const table = inMemoryScanner(INTACT_ITEMS, onRead);
  table.put(TOTAL, { n: 5 });
  return { table, seen: await survey(table, () => undefined) };
}

describe('a total', () => {
  it('is not read again when it matches the count of the scan', async () => {
    const table = inMemoryScanner(INTACT_ITEMS);

    const verdict = await verifyTotal(table, await survey(table, () => undefined), 'USER');

    expect(verdict).toEqual({ findings: [] });
    expect(table.reads).toEqual([]);
  });

  it('is wrong when two counts in a row differ from the total around them', async () => {
    const { table, seen } = await withWrongTotal();

    const { findings, undecided } = await skippingWaits(verifyTotal(table, seen, 'USER'));

    expect(findings.map(({ message: says }) => says)).toEqual([
      'TOTAL / USER is 5, but the table holds 3.',
    ]);
    expect(undecided).toBeUndefined();
    const once = [{ keys: [TOTAL] }, { pk: 'USER', from: undefined }, { keys: [TOTAL] }];
    expect(table.reads).toEqual([...once, ...once]);
    expect(waits).toHaveLength(1);
  });

  it('is right as soon as one count matches it', async () => {
    const { table, seen } = await withWrongTotal((read, _, table) => {
      if (isCount(read) && counts(table) === 2) table.put(TOTAL, { n: 3 });
    });
    // It is right both before and after the count, as a match requires.
    table.put(TOTAL, { n: 3 });

    expect(await skippingWaits(verifyTotal(table, seen, 'USER'))).toEqual({ findings: [] });
    expect(counts(table)).toBe(1);
  });

  it.each<[string, (table: InMemoryScanner, count: number) => void]>([
    ['its number', (table, count) => table.put(TOTAL, { n: 5 + (count % 2) })],
    ['its change counter', (table, count) => table.put(TOTAL, { n: 5, changes: count })],
    [
      'the items that it counts',
      // The count skips from 3 to 6 and so never matches the total of 5.
      (table, count) => {
        for (const id of [100, 200, 300]) table.put(entityKey('USER', id + count), {});
      },
    ],
  ])('is undecided after 20 counts while %s keep changing', async (_, move) => {
    const { table, seen } = await withWrongTotal((read, count, table) => {
      if (isCount(read)) move(table, count);
    });

    expect(await skippingWaits(verifyTotal(table, seen, 'USER'))).toEqual({
      findings: [],
      undecided: 'TOTAL / USER could not be verified: it kept changing',
    });
    expect(counts(table)).toBe(20);
    expect(waits).toHaveLength(20);
  });

  it('is wrong when only the last two counts agree', async () => {
    const { table, seen } = await withWrongTotal((read, count, table) => {
      if (isCount(read) && counts(table) <= 18) table.put(TOTAL, { n: 5, changes: count });
    });

    const { findings } = await skippingWaits(verifyTotal(table, seen, 'USER'));

    expect(findings).toHaveLength(1);
    expect(counts(table)).toBe(20);
  });

  it('is counted afresh when it changes between two counts', async () => {
    // The total is wrong and stable during each count, but changes between the counts.
    const { table, seen } = await withWrongTotal((read, count, table) => {
      if (!isCount(read) && count % 3 === 1 && counts(table) < 3)
        table.put(TOTAL, { n: 5 + count });
    });

    const { findings } = await skippingWaits(verifyTotal(table, seen, 'USER'));

    expect(findings).toHaveLength(1);
    expect(counts(table)).toBe(4);
  });

  it('is counted again after a random wait of up to 100 milliseconds', async () => {
    const longest: number[] = [];
    for (let run = 0; run < 3; run++) {
      waits = [];
      const { table, seen } = await withWrongTotal((read, count, table) => {
        if (isCount(read)) table.put(TOTAL, { changes: count });
      });
      await skippingWaits(verifyTotal(table, seen, 'USER'));
      longest.push(...waits);
    }

    expect(Math.max(...longest)).toBeLessThan(100);
    expect(Math.max(...longest)).toBeGreaterThan(50);
    expect(new Set(longest).size).toBeGreaterThan(10);
  });
});

describe('the parameters of an integration', () => {
  async function withWrongCount(
    onRead?: (read: Read, count: number, table: InMemoryScanner) => void,
  ) {
    const table = inMemoryScanner(INTACT_ITEMS, onRead);
    table.put(GATE, { parameterCount: 7 });
    return { table, seen: await survey(table, () => undefined) };
  }

  it('are wrong when two counts in a row differ from the integration around them', async () => {
    const { table, seen } = await withWrongCount();

    const { findings } = await skippingWaits(verifyParameters(table, seen));

    expect(findings.map(({ kind }) => kind)).toEqual(['wrong-parameter-counters']);
    const once = [{ keys: [GATE] }, { pk: 'CONF', from: '0000000004000000' }, { keys: [GATE] }];
    expect(table.reads).toEqual([...once, ...once]);
    expect(waits).toHaveLength(1);
  });

  it('are counted again when a query may have seen only a part of a transaction', async () => {
    const parameter = INTACT_ITEMS.find(({ pk }) => pk === 'CONF');
    const { table, seen } = await withWrongCount((_, count, table) => {
      if (count === 2) table.items = table.items.filter(({ sk }) => sk !== parameter?.sk);
      if (count === 3) table.items = [...table.items, parameter as Item];
    });
    table.put(GATE, { parameterCount: 2 });

    expect(await skippingWaits(verifyParameters(table, seen))).toEqual({ findings: [] });
    expect(counts(table)).toBe(2);
  });

  it('are counted afresh when the integration changes between two counts', async () => {
    const { table, seen } = await withWrongCount((_, count, table) => {
      if (count === 4) table.put(GATE, { revision: 7 });
    });

    const { findings } = await skippingWaits(verifyParameters(table, seen));

    expect(findings).toMatchObject([{ remedy: { writes: [{ values: { ':revision': 7 } }] } }]);
    expect(counts(table)).toBe(3);
  });

  it('are counted again when the revision changes', async () => {
    const { table, seen } = await withWrongCount((read, _, table) => {
      if (isCount(read) && counts(table) === 1) table.put(GATE, { parameterCount: 2, revision: 7 });
    });

    expect(await skippingWaits(verifyParameters(table, seen))).toEqual({ findings: [] });
    expect(counts(table)).toBe(2);
    expect(waits).toHaveLength(1);
  });

  it('are undecided after 20 counts, separately for each integration', async () => {
    const { table, seen } = await withWrongCount((read, count, table) => {
      if (isCount(read)) table.put(GATE, { revision: count });
    });
    seen.integrations.set(5, { parameterCount: 1, parametersEver: 1 });

    expect(await skippingWaits(verifyParameters(table, seen))).toEqual({
      findings: [],
      undecided: 'the parameters of integration 4 could not be verified: they kept changing',
    });
    expect(counts(table)).toBe(21);
    expect(waits).toHaveLength(20);
    expect(Math.max(...waits)).toBeLessThan(100);
  });

  it('are all named when several integrations are undecided', async () => {
    const { table, seen } = await withWrongCount((read, count, table) => {
      if (!isCount(read)) return;
      table.put(GATE, { revision: count });
      table.put(entityKey('INTEGRATION', 5), { revision: count });
    });
    table.put(entityKey('INTEGRATION', 5), { ...table.find(GATE), id: 5 });
    seen.integrations.set(5, { parameterCount: 1, parametersEver: 1 });

    const { undecided } = await skippingWaits(verifyParameters(table, seen));

    expect(
      undecided?.split('; ').map((sentence) => /integration (\d)/.exec(sentence)?.[1]),
    ).toEqual(['4', '5']);
  });

  it('are not reported when they are deleted with their integration after the scan', async () => {
    const { table, seen } = await withWrongCount((read, _, table) => {
      if (isCount(read) && counts(table) === 1)
        table.items = table.items.filter(({ pk }) => !/CONF|INTEGR/.test(pk));
    });

    expect(await skippingWaits(verifyParameters(table, seen))).toEqual({ findings: [] });
  });
});

it('a sequence is read after the scan and may have advanced since', async () => {
  const table = inMemoryScanner(INTACT_ITEMS, (_, count, table) => {
    if (count === 1) table.put(sequenceKey('USER'), { n: 7 });
  });
  table.put(sequenceKey('USER'), { n: 1 });

  expect(await verifySequence(table, await survey(table, () => undefined), 'USER')).toEqual({
    findings: [],
  });
  expect(table.reads).toEqual([{ keys: [sequenceKey('USER')] }]);
});

it('verifyTable lists everything that is undecided', async () => {
  const table = inMemoryScanner(INTACT_ITEMS, (read, count, table) => {
    if (isCount(read))
      for (const key of [TOTAL, totalKey('CONF')]) table.put(key, { changes: count });
  });
  table.put(TOTAL, { n: 9 });
  table.put(totalKey('CONF'), { n: 9 });

  const { findings, undecided } = await skippingWaits(verifyTable(table));

  expect(findings).toEqual([]);
  expect(undecided).toEqual(
    ['USER', 'CONF'].map((kind) => `TOTAL / ${kind} could not be verified: it kept changing`),
  );
});

describe('repairTable', () => {
  const write = (name: string): Write => ({
    act: 'Put',
    key: { pk: name, sk: 'x' },
    condition: 'c',
    onConditionFailed: 'retry',
  });
  const repairable = (name: string): Finding => ({
    kind: 'wrong-total',
    keys: [],
    message: '',
    remedy: { description: `mends ${name}`, writes: [write(name)] },
  });
  const beyondRepair: Finding = {
    kind: 'unknown-item',
    keys: [],
    message: '',
    remedy: { advice: 'none' },
  };

  /** A table whose transactions fail with these errors in turn, or succeed where there is none. */
  function tableFailingWith(...outcomes: (Error | undefined)[]) {
    const log: string[] = [];
    const table = {
      async transact(writes: readonly Write[]) {
        log.push(`writes ${writes.map(({ key }) => key.pk)}`);
        const error = outcomes.shift();
        if (error) throw error;
      },
    } as unknown as Table;
    return { table, log, onRepair: (does: string) => void log.push(does) };
  }

  it('announces each repair before it makes it, and skips findings without one', async () => {
    const { table, log, onRepair } = tableFailingWith();

    await skippingWaits(
      repairTable(table, [repairable('A'), beyondRepair, repairable('B')], onRepair),
    );

    expect(log).toEqual(['mends A', 'writes A', 'mends B', 'writes B']);
  });

  it('skips a repair that is no longer needed and continues with the next', async () => {
    const { table, log, onRepair } = tableFailingWith(cancelledBy('ConditionalCheckFailed'));

    await skippingWaits(repairTable(table, [repairable('A'), repairable('B')], onRepair));

    expect(log).toEqual(['mends A', 'writes A', 'mends B', 'writes B']);
    expect(waits).toEqual([]);
  });

  it('tries a conflicting repair 10 times and then continues with the next', async () => {
    const { table, log, onRepair } = tableFailingWith(
      ...Array(10).fill(cancelledBy('TransactionConflict')),
    );

    await skippingWaits(repairTable(table, [repairable('A'), repairable('B')], onRepair));

    expect(log).toEqual(['mends A', ...Array(10).fill('writes A'), 'mends B', 'writes B']);
    expect(waits).toHaveLength(9);
  });

  it('waits up to 400 milliseconds after a conflict', async () => {
    for (let run = 0; run < 5; run++) {
      const { table, onRepair } = tableFailingWith(
        ...Array(9).fill(cancelledBy('TransactionConflict')),
      );
      await skippingWaits(repairTable(table, [repairable('A')], onRepair));
    }

    expect(waits).toHaveLength(45);
    expect(Math.max(...waits)).toBeLessThan(400);
    expect(Math.max(...waits)).toBeGreaterThan(200);
  });

  it('rethrows any other error of the table', async () => {
    const { table, log, onRepair } = tableFailingWith(new Error('no rights'));

    await expect(
      skippingWaits(repairTable(table, [repairable('A'), repairable('B')], onRepair)),
    ).rejects.toThrow('no rights');
    expect(log).toEqual(['mends A', 'writes A']);
  });
});
