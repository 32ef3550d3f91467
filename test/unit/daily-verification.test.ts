import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { totalKey } from '../../lib/table/item-kind.ts';
import { type InMemoryScanner, inMemoryScanner } from '../support/doubles/memory-table.ts';
import { printedBy } from '../support/doubles/output.ts';
import { respondFrom, scriptedAws } from '../support/doubles/scripted-aws.ts';
import { INTACT_ITEMS } from '../support/doubles/stored-items.ts';

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

it('logs the number of undecided findings without failing', async () => {
  changes = 0;

  expect(await verify((table) => table.put(totalKey('USER'), { n: 9 }))).toEqual({
    logged: [expect.objectContaining({ findings: 0, undecided: 1 })],
    outcome: 'ended',
  });
});

it('stores what the overview counts, also if it finds a defect', async () => {
  await verify((table) => table.remove(totalKey('USER')));

  expect(table.find({ pk: 'OVERVIEW', sk: 'OVERVIEW' })).toBeDefined();
});
