import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Failure } from '../lib/contract/failure.ts';
import { setDeadline } from '../lib/runtime/deadline.ts';
import { change, commit, unlessUnavailable } from '../lib/table/change.ts';
import type { Table } from '../lib/table/table.ts';
import type { OnConditionFailed, Write } from '../lib/table/write.ts';
import { aWhile } from './support/a-while.ts';

/* Load, decide, commit, against a table that answers as it is told. */

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  setDeadline(Number.POSITIVE_INFINITY);
});

/** What the table answers to a transaction: nothing (it is made), or an error. */
type Reply = undefined | Error;

const cancelled = (...codes: string[]): Error =>
  Object.assign(new Error('cancelled'), {
    name: 'TransactionCanceledException',
    CancellationReasons: codes.map((Code) => ({ Code })),
  });
const afterAttempts = (attempts: number, error: Error): Error => Object.assign(error, { $metadata: { attempts } });
const lost = (): Error => Object.assign(new Error('no answer'), { name: 'TimeoutError' });

/** A table whose transactions get these replies, the last one for ever after; notes the tokens that it was sent. */
function tableThatReplies(...replies: Reply[]): { table: Table; tokens: string[] } {
  const tokens: string[] = [];
  const table = {
    async transact(_: readonly Write[], token: string) {
      const reply = replies[Math.min(tokens.length, replies.length - 1)];
      tokens.push(token);
      // Without end no clock goes on, and no test would fail.
      if (tokens.length > 2000) throw new Error('The table is asked without end');
      if (reply) throw reply;
    },
  } as Partial<Table> as Table;
  return { table, tokens };
}

const write = (otherwise?: OnConditionFailed): Write => ({
  act: 'Put',
  key: { pk: 'a', sk: 'b' },
  ...(otherwise && { condition: 'attribute_not_exists(pk)', onConditionFailed: otherwise }),
});

/** Runs a change of these writes to its end; how often it was loaded, and how it ended. */
async function run(table: Table, ...meanings: (OnConditionFailed | undefined)[]) {
  let loads = 0;
  const changed = change(
    table,
    async () => ++loads,
    (loaded) => ({ writes: meanings.map(write), result: `decided on load ${loaded}` }),
  ).catch((error) => error);
  await vi.runAllTimersAsync();
  const ended = await changed;
  return { loads, ended: ended instanceof Error ? `${ended.name}: ${ended.message}` : ended };
}

describe('a change', () => {
  it('is made once, under one token, when nothing comes between', async () => {
    const { table, tokens } = tableThatReplies(undefined);

    expect(await run(table, 'login-taken')).toEqual({ loads: 1, ended: 'decided on load 1' });
    expect(tokens).toHaveLength(1);
  });

  it('that decides to write nothing sends nothing', async () => {
    const { table, tokens } = tableThatReplies(undefined);

    expect(await run(table)).toEqual({ loads: 1, ended: 'decided on load 1' });
    expect(tokens).toEqual([]);
  });

  it('reads a broken condition by its position, the first one first', async () => {
    const { table } = tableThatReplies(cancelled('None', 'ConditionalCheckFailed', 'ConditionalCheckFailed'));

    const { ended } = await run(table, 'forbidden', 'login-taken', 'email-taken');

    expect(ended).toBe('Failure: login-taken');
  });

  it('decides again when what it had read has changed, whatever else is broken', async () => {
    const { table, tokens } = tableThatReplies(
      cancelled('ConditionalCheckFailed', 'ConditionalCheckFailed'),
      undefined,
    );

    expect(await run(table, 'login-taken', 'retry')).toEqual({ loads: 2, ended: 'decided on load 2' });
    expect(new Set(tokens).size).toBe(2);
  });

  it('decides again at once the first time that what it had read has changed', async () => {
    const started = Date.now();

    // Of 20 random waits one is longer than nothing.
    for (let times = 0; times < 20; times++) {
      const { table } = tableThatReplies(cancelled('ConditionalCheckFailed'), undefined);
      await run(table, 'retry');
    }

    expect(Date.now() - started).toBe(0);
  });

  it('decides again at once that first time also where the table was busy before', async () => {
    const waits: number[] = [];

    // Of 20 random waits one is longer than nothing.
    for (let round = 0; round < 20; round++) {
      const times: number[] = [];
      const replies = [cancelled('TransactionConflict'), cancelled('ConditionalCheckFailed')];
      const table = {
        async transact() {
          const reply = replies[times.push(Date.now()) - 1];
          if (reply) throw reply;
        },
      } as Partial<Table> as Table;
      await run(table, 'retry');
      waits.push((times[2] as number) - (times[1] as number));
    }

    expect(waits).toEqual(Array(20).fill(0));
  });

  it('backs off when what it has read keeps changing, and gives up after five seconds', async () => {
    const started = Date.now();
    const { table, tokens } = tableThatReplies(cancelled('ConditionalCheckFailed'));
    const { transact } = table;
    // As long as a transaction takes on a good day, milliseconds.
    table.transact = async (writes, token) => {
      await new Promise((resolve) => setTimeout(resolve, 18));
      await transact(writes, token);
    };

    const { ended } = await run(table, 'retry');

    expect(ended).toBe('Failure: unavailable');
    expect(tokens.length).toBeGreaterThan(10);
    expect(tokens.length).toBeLessThan(60);
    expect(Date.now() - started).toBeLessThan(5500);
  });

  it.each(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])(
    'that meets %s starts again from the load, under a new token',
    async (code) => {
      const { table, tokens } = tableThatReplies(cancelled('None', code), cancelled(code, 'None'), undefined);

      expect(await run(table, 'login-taken', 'email-taken')).toEqual({ loads: 3, ended: 'decided on load 3' });
      expect(new Set(tokens).size).toBe(3);
    },
  );

  it('that meets another transaction is no broken rule, even where a condition is broken too', async () => {
    const { table } = tableThatReplies(cancelled('ConditionalCheckFailed', 'TransactionConflict'), undefined);

    expect(await run(table, 'login-taken', 'email-taken')).toMatchObject({ loads: 2, ended: 'decided on load 2' });
  });

  it('gives up when the table stays busy: after five seconds, or two before the request must be answered', async () => {
    const started = Date.now();

    expect(await run(tableThatReplies(cancelled('TransactionConflict')).table, 'retry')).toMatchObject({
      ended: 'Failure: unavailable',
    });
    const patient = Date.now() - started;
    setDeadline(3000);
    await run(tableThatReplies(cancelled('TransactionConflict')).table, 'retry');
    const hurried = Date.now() - started - patient;

    expect(patient).toBeGreaterThanOrEqual(5000);
    expect(patient).toBeLessThan(5400);
    expect(hurried).toBeGreaterThanOrEqual(1000);
    expect(hurried).toBeLessThan(1400);
  });

  it('whose answer was lost is sent again under the same token, so that it is made once', async () => {
    const { table, tokens } = tableThatReplies(lost(), undefined);

    expect(await run(table, 'login-taken')).toEqual({ loads: 1, ended: 'decided on load 1' });
    expect(tokens[0]).toBe(tokens[1]);
    expect(tokens).toHaveLength(2);
  });

  it.each([
    ['whose answer was lost', [lost(), cancelled('TransactionConflict'), cancelled('ThrottlingError'), undefined]],
    ['that the SDK has sent more than once', [afterAttempts(2, cancelled('TransactionConflict')), undefined]],
  ])('%s may have been made when it meets another one: the same token finds out', async (_, replies) => {
    const { table, tokens } = tableThatReplies(...replies);

    expect(await run(table, 'login-taken')).toEqual({ loads: 1, ended: 'decided on load 1' });
    expect(tokens).toHaveLength(replies.length);
    expect(new Set(tokens).size).toBe(1);
  });

  it('that may have been made and goes on meeting others is of unknown outcome in the end', async () => {
    const { table, tokens } = tableThatReplies(lost(), cancelled('TransactionConflict'));

    expect(await run(table, 'login-taken')).toEqual({ loads: 1, ended: 'Failure: unavailable' });
    expect(new Set(tokens).size).toBe(1);
  });

  it('of which nobody knows the outcome is neither a success nor a refusal', async () => {
    const { table, tokens } = tableThatReplies(lost());

    expect(await run(table, 'login-taken')).toEqual({ loads: 1, ended: 'Failure: unavailable' });
    expect(new Set(tokens).size).toBe(1);
  });

  it.each([
    ['a condition that no rule has set', cancelled('ConditionalCheckFailed'), undefined],
    ['a request that DynamoDB cannot read', cancelled('ValidationError'), 'login-taken'],
    ['an error of another kind', new TypeError('cancelled'), 'login-taken'],
    [
      'a reason that is none of ours beside a broken rule',
      cancelled('ConditionalCheckFailed', 'ValidationError'),
      'login-taken',
    ],
    [
      'a reason that is none of ours beside a conflict',
      cancelled('TransactionConflict', 'ItemCollectionSizeLimitExceeded'),
      'login-taken',
    ],
    ['no reason at all', cancelled(), 'login-taken'],
  ] as const)('is a defect, and said to be one, after %s', async (_, reply, otherwise) => {
    const { ended } = await run(tableThatReplies(reply).table, otherwise);

    expect(ended).toMatch(/^(TransactionCanceledException|TypeError): cancelled$/);
  });

  it('takes a reason without a code for none', async () => {
    const { table } = tableThatReplies(cancelled(undefined as unknown as string, 'ConditionalCheckFailed'));

    expect((await run(table, 'login-taken', 'email-taken')).ended).toBe('Failure: email-taken');
  });

  it.each([
    ['changed', cancelled('ConditionalCheckFailed')],
    ['busy', cancelled('TransactionConflict')],
  ])('tells of each further try beforehand: %s', async (_, reply) => {
    const { table, tokens } = tableThatReplies(reply, reply, undefined);
    const told: number[] = [];

    const changed = change(
      table,
      async () => undefined,
      () => ({ writes: [write('retry')], result: undefined }),
      async () => {
        await aWhile();
        told.push(tokens.length);
      },
    );
    await vi.runAllTimersAsync();
    await changed;

    expect(told).toEqual([1, 2]);
  });

  it.each([
    ['busy', 'TransactionConflict', 0],
    ['changed once more', 'ConditionalCheckFailed', 1],
  ])('waits below a bound that doubles from 25 ms to 400 ms where the table is %s', async (_, code, first) => {
    const longest: number[] = [];

    for (let round = 0; round < 60; round++) {
      const times: number[] = [];
      const table = {
        async transact() {
          times.push(Date.now());
          throw cancelled(code);
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
  });
});

describe('a transaction', () => {
  /** The outcome of one transaction, how long it took (milliseconds), and the tokens that were sent. */
  async function send(...replies: Reply[]) {
    const started = Date.now();
    const { table, tokens } = tableThatReplies(...replies);
    const committed = commit(table, [write('login-taken')]).catch((error) => `${error.name}: ${error.message}`);
    await vi.runAllTimersAsync();
    return { outcome: await committed, took: Date.now() - started, tries: tokens.length, tokens: new Set(tokens).size };
  }
  const conflict = (attempts = 1) => afterAttempts(attempts, cancelled('TransactionConflict'));

  it.each<[string, Reply[], string]>([
    ['is committed', [undefined], 'committed'],
    ['meets another one', [conflict()], 'busy'],
    ['loses its answer and is committed', [lost(), undefined], 'committed'],
    ['loses its answer and breaks a rule', [lost(), cancelled('ConditionalCheckFailed')], 'Failure: login-taken'],
    ['loses two answers', [lost(), lost()], 'Failure: unavailable'],
    ['loses an answer before and after meeting another one', [lost(), conflict(), lost()], 'Failure: unavailable'],
    ['is in doubt once and for all', [conflict(2), conflict(), conflict(), undefined], 'committed'],
  ])('that %s is sent under one token until that is known', async (_, replies, outcome) => {
    expect(await send(...replies)).toMatchObject({ outcome, tries: replies.length, tokens: 1 });
  });

  it('is sent again at once when its answer is lost', async () => {
    expect((await send(lost(), undefined)).took).toBe(0);
  });

  it('in doubt that goes on meeting others gives up after five seconds', async () => {
    const { outcome, took, tries } = await send(lost(), conflict());

    expect(outcome).toBe('Failure: unavailable');
    expect(took).toBeGreaterThanOrEqual(5000);
    expect(took).toBeLessThan(5400);
    expect(tries).toBeGreaterThan(10);
  });

  it('has a token of its own', async () => {
    const { table, tokens } = tableThatReplies(undefined);

    await commit(table, [write()]);
    await commit(table, [write()]);

    expect(new Set(tokens).size).toBe(2);
  });
});

describe('a change that an outage may prevent', () => {
  it('fails as any other, but for the outage', async () => {
    const failing = (error: unknown) => unlessUnavailable(Promise.reject(error));

    await expect(unlessUnavailable(Promise.resolve('done'))).resolves.toBeUndefined();
    await expect(failing(new Failure('unavailable'))).resolves.toBeUndefined();
    await expect(failing(new Failure('login-taken'))).rejects.toMatchObject({ code: 'login-taken' });
    await expect(failing(lost())).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(failing(Object.assign(new Error(), { code: 'unavailable' }))).rejects.toBeInstanceOf(Error);
  });
});
