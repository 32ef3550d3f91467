import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { formatKey, NewerFormat, READABLE_FORMAT } from '../../lib/table/format.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { type InMemoryScanner, inMemoryScanner } from '../support/doubles/memory-table.ts';
import { printedBy } from '../support/doubles/output.ts';
import { respondFrom, scriptedAws } from '../support/doubles/scripted-aws.ts';
import { INTACT_ITEMS } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';

let table: InMemoryScanner;
/** When set, the total of users changes on every read; this numbers the changes. */
let changes: number | undefined;

let stop: () => void;
let environment: NodeJS.ProcessEnv;
let handler: () => Promise<void>;
const useEnvironment = () => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
};
beforeAll(async () => {
  const aws = await scriptedAws((operation, input) =>
    changes !== undefined && operation === 'GetItem' && input.Key.pk.S === 'TOTAL'
      ? {
          Item: {
            pk: { S: 'TOTAL' },
            sk: { S: 'USER' },
            n: { N: '9' },
            changes: { N: String(++changes) },
          },
        }
      : respondFrom(table, operation, input),
  );
  stop = aws.stop;
  environment = { ...aws.environment, TABLE_NAME: 'Gate', METRICS_NAMESPACE: undefined };
  useEnvironment();
  ({ handler } = await import('../../functions/verify-table.ts'));
});
beforeEach(() => {
  changes = undefined;
  useEnvironment();
});
afterAll(() => stop());

/**
 * Damages an intact table and runs the handler: its log lines, and the error that it throws or
 * 'ended'.
 */
async function verify(harm: (table: InMemoryScanner) => void) {
  table = inMemoryScanner(INTACT_ITEMS);
  harm(table);
  const wait = setTimeout;
  // Skips the waits between two reads of items that keep changing.
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, milliseconds: number) =>
    wait(done, milliseconds < 100 ? 0 : milliseconds)) as typeof setTimeout);
  let outcome: unknown = 'ended';
  const printed = await printedBy(async () => {
    await handler().catch((error) => {
      outcome = error;
    });
  });
  return { logged: printed.map((line) => JSON.parse(line)), outcome };
}

const INTACT = {
  verified: 18,
  findings: 0,
  undecided: 0,
  oldestPendingRestartSeconds: 0,
  modulesToWatch: 0,
  mailsNotSent: 0,
};

it('verifies no table of a newer format, whose items it may not know', async () => {
  const { logged, outcome } = await verify((table) =>
    table.put(formatKey, { format: READABLE_FORMAT + 1 }),
  );

  expect(logged).toEqual([]);
  expect(outcome).toBeInstanceOf(NewerFormat);
});

it('logs the number of undecided findings without failing', async () => {
  changes = 0;

  expect(await verify((table) => table.put(totalKey('USER'), { n: 9 }))).toEqual({
    logged: [{ ...INTACT, undecided: 1 }],
    outcome: 'ended',
  });
});

it.each([
  ['for more than an hour', 3_600_001, {}, 1],
  ['for an hour', 3_600_000, {}, 0],
  ['after an attempt to send it', 7_200_000, { counted: true }, 0],
  ['until it has expired', 7_200_000, { expires: Date.UTC(2026, 10, 22) / 1000 }, 0],
])('counts a mail that waits %s as not sent: %d ms, %j', async (_, waited, changes, expected) => {
  const NOW = Date.UTC(2026, 10, 22);
  freezeClock(NOW);

  const { logged } = await verify((table) =>
    table.put(
      { pk: 'MAIL#0000000000000004', sk: `${new Date(NOW - waited).toISOString()}#a1` },
      { occasion: 'invitation', expires: NOW / 1000 + 60, userId: 4, ...changes },
    ),
  );

  expect(logged).toMatchObject([{ findings: 0, mailsNotSent: expected }]);
});

it('logs the age of the oldest pending restart as a metric, and its integration', async () => {
  const NOW = Date.UTC(2026, 10, 22);
  freezeClock(NOW);
  vi.stubEnv('METRICS_NAMESPACE', 'Gatehouse/test');

  const { logged } = await verify((table) => {
    const gate = INTACT_ITEMS.find(({ pk }) => pk === 'INTEGRATION');
    const module = { needsRestart: true, needsRestartSince: NOW - 7_200_400, changes: 1 };
    table.put(entityKey('INTEGRATION', 4), { ...gate, module });
  });

  const metricOf = (Name: string, Unit: string) => ({
    Namespace: 'Gatehouse/test',
    Dimensions: [[]],
    Metrics: [{ Name, Unit }],
  });
  expect(logged).toEqual([
    {
      ...INTACT,
      oldestPendingRestartSeconds: 7200,
      oldestPendingRestartId: 4,
      _aws: {
        Timestamp: NOW,
        CloudWatchMetrics: [
          metricOf('findings', 'Count'),
          metricOf('oldestPendingRestartSeconds', 'Seconds'),
          metricOf('modulesToWatch', 'Count'),
          metricOf('mailsNotSent', 'Count'),
        ],
      },
    },
  ]);
});

it('stores what the overview counts, also if it finds a defect', async () => {
  await verify((table) => table.remove(totalKey('USER')));

  expect(table.find({ pk: 'OVERVIEW', sk: 'OVERVIEW' })).toBeDefined();
});
