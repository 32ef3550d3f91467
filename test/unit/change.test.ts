import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Failure } from '../../lib/contract/failure.ts';
import { resetRetries, retryCount, setDeadline } from '../../lib/runtime/execution-environment.ts';
import { commit, ignoreUnavailable, loadDecideCommit } from '../../lib/table/change.ts';
import type { Table } from '../../lib/table/table.ts';
import type { OnConditionFailed, Write } from '../../lib/table/write.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-calls.ts';

/* Load, decide, commit, against a table with scripted responses. */

beforeEach(() => vi.useFakeTimers());

/** The response to a transaction: undefined if it is committed, else an error. */
type TransactionResponse = undefined | Error;

const afterAttempts = (attempts: number, error: Error): Error =>
  Object.assign(error, { $metadata: { attempts } });
const lost = (): Error => awsError('TimeoutError');

/**
 * A table whose transactions get these responses, the last one repeatedly; records the tokens that
 * it receives.
 */
function tableThatResponds(...responses: TransactionResponse[]): {
  table: Table;
  tokens: string[];
} {
  const tokens: string[] = [];
  const table = {
    async transact(_: readonly Write[], token: string) {
      const response = responses[Math.min(tokens.length, responses.length - 1)];
      tokens.push(token);
      // Under fake timers an endless loop would hang the test instead of failing it.
      if (tokens.length > 2000) throw new Error('The change never stops retrying');
      if (response) throw response;
    },
  } as Partial<Table> as Table;
  return { table, tokens };
}

const write = (onConditionFailed?: OnConditionFailed): Write => ({
  act: 'Put',
  key: { pk: 'a', sk: 'b' },
  ...(onConditionFailed && { condition: 'attribute_not_exists(pk)', onConditionFailed }),
});

/** Runs a change with these writes; returns how often it loaded and its outcome. */
async function run(table: Table, ...conditions: (OnConditionFailed | undefined)[]) {
  let loads = 0;
  const changed = loadDecideCommit(
    table,
    async () => ++loads,
    (loaded) => ({ writes: conditions.map(write), result: `decided on load ${loaded}` }),
  ).catch((error) => error);
  await vi.runAllTimersAsync();
  const outcome = await changed;
  return {
    loads,
    outcome: outcome instanceof Error ? `${outcome.name}: ${outcome.message}` : outcome,
  };
}

describe('a change', () => {
  it('maps a failed condition to its failure by position, the first one first', async () => {
    const { table } = tableThatResponds(
      cancelledBy('None', 'ConditionalCheckFailed', 'ConditionalCheckFailed'),
    );

    const { outcome } = await run(table, 'forbidden', 'login-taken', 'email-taken');

    expect(outcome).toBe('Failure: login-taken');
  });

  it('decides again when the data has changed, whatever other condition failed', async () => {
    const { table, tokens } = tableThatResponds(
      cancelledBy('ConditionalCheckFailed', 'ConditionalCheckFailed'),
      undefined,
    );

    resetRetries();
    expect(await run(table, 'login-taken', 'retry')).toEqual({
      loads: 2,
      outcome: 'decided on load 2',
    });
    expect(new Set(tokens).size).toBe(2);
    expect(retryCount()).toBe(1);
  });

  it.each(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])(
    'starts over from the load under a new token after %s',
    async (code) => {
      const { table, tokens } = tableThatResponds(
        cancelledBy('None', code),
        cancelledBy(code, 'None'),
        undefined,
      );

      expect(await run(table, 'login-taken', 'email-taken')).toEqual({
        loads: 3,
        outcome: 'decided on load 3',
      });
      expect(new Set(tokens).size).toBe(3);
    },
  );

  it.each([
    ['a request', 'Failure: unavailable', 2, () => setDeadline(10_000)],
    ['a command', 'decided on load 4', 4, () => undefined],
  ])('that is throttled again and again, in %s: %s', async (_, outcome, tries, start) => {
    const throttled = cancelledBy('None', 'ThrottlingError');
    const { table, tokens } = tableThatResponds(throttled, throttled, throttled, undefined);
    start();

    expect((await run(table, 'retry', 'retry')).outcome).toBe(outcome);
    expect(tokens).toHaveLength(tries);
  });

  it('gives up on a busy table after eight seconds, or two before the deadline', async () => {
    const started = Date.now();

    expect(
      await run(tableThatResponds(cancelledBy('TransactionConflict')).table, 'retry'),
    ).toMatchObject({
      outcome: 'Failure: unavailable',
    });
    const patient = Date.now() - started;
    setDeadline(3000);
    await run(tableThatResponds(cancelledBy('TransactionConflict')).table, 'retry');
    const hurried = Date.now() - started - patient;

    expect(patient).toBeGreaterThanOrEqual(8000);
    expect(patient).toBeLessThan(8400);
    expect(hurried).toBeGreaterThanOrEqual(1000);
    expect(hurried).toBeLessThan(1400);
  });

  it.each([
    ['that keeps conflicting', cancelledBy('TransactionConflict')],
    ['whose data keeps changing', cancelledBy('ConditionalCheckFailed')],
    [
      'whose outcome is unknown while conflicts continue',
      afterAttempts(2, cancelledBy('TransactionConflict')),
    ],
    ['whose responses are lost', lost()],
    ['that is throttled twice', cancelledBy('ThrottlingError')],
  ])('gives up on a change %s with the last error as its cause', async (_, error) => {
    const { table } = tableThatResponds(error);
    setDeadline(10_000);
    const decide = () => ({ writes: [write('retry')], result: undefined });

    const changed = expect(
      loadDecideCommit(table, async () => undefined, decide),
    ).rejects.toMatchObject({ code: 'unavailable', cause: error });
    await vi.runAllTimersAsync();
    await changed;
  });

  it.each<[string, Error, OnConditionFailed?]>([
    ['a request that DynamoDB finds invalid', cancelledBy('ValidationError'), 'login-taken'],
    ['an error of another kind', awsError('AccessDenied'), 'login-taken'],
    [
      'an unexpected reason next to a failed condition',
      cancelledBy('ConditionalCheckFailed', 'ValidationError'),
      'login-taken',
    ],
    ['a cancellation with an empty list of reasons', cancelledBy(), 'login-taken'],
    ['a cancellation without reasons', awsError('TransactionCanceledException'), 'retry'],
  ])('rethrows the original error after %s', async (_, error, onConditionFailed) => {
    const { table } = tableThatResponds(error);

    await expect(commit(table, [write(onConditionFailed)])).rejects.toBe(error);
  });

  it('treats a cancellation reason without a code as None', async () => {
    const { table } = tableThatResponds(
      cancelledBy(undefined as unknown as string, 'ConditionalCheckFailed'),
    );

    expect((await run(table, 'login-taken', 'email-taken')).outcome).toBe('Failure: email-taken');
  });

  it('is known to have changed nothing when its second attempt meets changed data', async () => {
    const { table } = tableThatResponds(lost(), cancelledBy('ConditionalCheckFailed'));

    await expect(commit(table, [write('retry')])).resolves.toBe('changed');
  });

  it.each([
    ['busy', 'TransactionConflict', 0],
    ['changed again', 'ConditionalCheckFailed', 1],
  ])(
    'waits a random time below a bound that doubles from 25 to 400 ms when the table is %s',
    async (_, code, first) => {
      const longest: number[] = [];

      for (let round = 0; round < 60; round++) {
        const times: number[] = [];
        const table = {
          async transact() {
            if (times.push(Date.now()) > 2000) throw new Error('The change never waits');
            throw cancelledBy(code);
          },
        } as Partial<Table> as Table;
        await run(table, 'retry');
        const waits = times.slice(1).map((time, index) => time - (times[index] as number));
        for (const [index, wait] of waits.slice(first, first + 7).entries()) {
          longest[index] = Math.max(longest[index] ?? 0, wait);
        }
      }

      const bounds = [25, 50, 100, 200, 400, 400, 400];
      expect(longest).toHaveLength(bounds.length);
      for (const [index, bound] of bounds.entries()) {
        expect(longest[index]).toBeLessThan(bound);
        expect(longest[index]).toBeGreaterThan(0.7 * bound);
      }
    },
  );
});

describe('a transaction', () => {
  /**
   * Commits one transaction; returns its outcome, its duration, and the numbers of tries and of
   * distinct tokens.
   */
  async function send(...responses: TransactionResponse[]) {
    const started = Date.now();
    const { table, tokens } = tableThatResponds(...responses);
    const committed = commit(table, [write('login-taken')]).catch(
      (error) => `${error.name}: ${error.message}`,
    );
    await vi.runAllTimersAsync();
    return {
      outcome: await committed,
      tookMs: Date.now() - started,
      tries: tokens.length,
      tokens: new Set(tokens).size,
    };
  }
  const conflict = (attempts = 1) => afterAttempts(attempts, cancelledBy('TransactionConflict'));

  it.each<[string, TransactionResponse[], string]>([
    ['is committed', [undefined], 'committed'],
    ['meets a conflict', [conflict()], 'busy'],
    [
      'loses its response and fails a condition',
      [lost(), cancelledBy('ConditionalCheckFailed')],
      'Failure: login-taken',
    ],
    ['loses two responses', [lost(), lost()], 'Failure: unavailable'],
    [
      'loses a response before and after a conflict',
      [lost(), conflict(), lost()],
      'Failure: unavailable',
    ],
    [
      'loses its response and meets conflicts',
      [lost(), conflict(), cancelledBy('ThrottlingError'), undefined],
      'committed',
    ],
    [
      'may have been committed before its conflicts',
      [conflict(2), conflict(), conflict(), undefined],
      'committed',
    ],
  ])(
    'that %s is sent under one token until its outcome is known',
    async (_, responses, outcome) => {
      expect(await send(...responses)).toMatchObject({
        outcome,
        tries: responses.length,
        tokens: 1,
      });
    },
  );

  it('gives up after eight seconds of conflicts when its outcome is unknown', async () => {
    const { outcome, tookMs, tries } = await send(lost(), conflict());

    expect(outcome).toBe('Failure: unavailable');
    expect(tookMs).toBeGreaterThanOrEqual(8000);
    expect(tookMs).toBeLessThan(8400);
    expect(tries).toBeGreaterThan(10);
  });
});

it.each([
  ['swallows', new Failure('unavailable'), true],
  ['passes on', new Failure('login-taken'), false],
  ['passes on', lost(), false],
  ['passes on', Object.assign(new Error(), { code: 'unavailable' }), false],
])('ignoreUnavailable %s %s', async (_, error, isIgnored) => {
  const outcome = await ignoreUnavailable(Promise.reject(error)).catch((thrown) => thrown);

  expect(outcome).toBe(isIgnored ? undefined : error);
});
