import { setTimeout as wait } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { transactionsInFlight } from '../infra/local/aws/in-flight.ts';
import type { AwsResponse } from '../infra/local/calls/aws-call.ts';

const OK: AwsResponse = { status: 200, body: {} };
const passed = async () => OK;

const item = (pk: string) => ({ TableName: 'house', Key: { pk: { S: pk }, sk: { S: '1' } } });
const put = (pk: string) => ({ TableName: 'house', Item: { pk: { S: pk }, sk: { S: '1' }, n: { N: '7' } } });
const transaction = (token: string, ...actions: object[]) => ({ ClientRequestToken: token, TransactItems: actions });

/** What the SDK would throw. */
function errorOf({ status, body }: AwsResponse) {
  const { __type, CancellationReasons } = body as { __type?: string; CancellationReasons?: { Code: string }[] };
  return { status, name: __type?.split('#')[1], codes: CancellationReasons?.map(({ Code }) => Code) };
}

let pass: ReturnType<typeof transactionsInFlight>;
let finish: (answer: AwsResponse | Error) => Promise<unknown>;

/** A transaction on A (a check), B (an update), C (a deletion) and D (a put) is under way. */
beforeEach(() => {
  pass = transactionsInFlight();
  const { promise, resolve, reject } = Promise.withResolvers<AwsResponse>();
  const actions = [{ ConditionCheck: item('A') }, { Update: item('B') }, { Delete: item('C') }, { Put: put('D') }];
  const first = pass('TransactWriteItems', transaction('first', ...actions), () => promise);
  finish = (answer) => {
    if (answer instanceof Error) reject(answer);
    else resolve(answer);
    return first.catch(() => undefined);
  };
});

describe('while a transaction is under way', () => {
  it.each(['A', 'B', 'C', 'D'])('another that names its item %s is cancelled at that position', async (pk) => {
    let forwarded = false;
    const second = transaction('second', { Update: item('X') }, { ConditionCheck: item(pk) }, { Put: put('Y') });

    const answer = await pass('TransactWriteItems', second, async () => {
      forwarded = true;
      return OK;
    });

    expect(errorOf(answer)).toEqual({
      status: 400,
      name: 'TransactionCanceledException',
      codes: ['None', 'TransactionConflict', 'None'],
    });
    expect(forwarded).toBe(false);
  });

  it('another that was cancelled holds nothing', async () => {
    const second = transaction('second', { Update: item('X') }, { Update: item('A') });
    await pass('TransactWriteItems', second, passed);

    const third = await pass('TransactWriteItems', transaction('third', { Update: item('X') }), passed);

    expect(third).toBe(OK);
  });

  it.each([
    ['PutItem', put('B')],
    ['UpdateItem', item('A')],
    ['DeleteItem', item('D')],
  ])('a single %s of its items is refused', async (operation, input) => {
    const answer = await pass(operation, input, passed);

    expect(errorOf(answer)).toMatchObject({ status: 400, name: 'TransactionConflictException' });
  });

  it('the same one again is told that it is in progress', async () => {
    const answer = await pass('TransactWriteItems', transaction('first', { Update: item('B') }), passed);

    expect(errorOf(answer)).toMatchObject({ status: 400, name: 'TransactionInProgressException' });
  });

  it.each([
    ['GetItem', item('A')],
    ['Query', { TableName: 'house' }],
    ['UpdateItem', item('X')],
    ['UpdateItem', { ...item('A'), TableName: 'barn' }],
    ['TransactWriteItems', transaction('second', { Update: item('X') }, { Put: put('Y') })],
  ])('a %s that meets none of its items in a write passes: %j', async (operation, input) => {
    expect(await pass(operation, input, passed)).toBe(OK);
  });
});

it.each([
  ['succeeded', OK],
  ['was refused', { status: 400, body: {} }],
  ['got no answer', new Error('connection lost')],
])('after it %s its items are free again', async (_, outcome) => {
  await finish(outcome);

  const next = await pass('TransactWriteItems', transaction('second', { ConditionCheck: item('A') }), passed);
  const repeated = await pass('TransactWriteItems', transaction('first', { Update: item('B') }), passed);
  const single = await pass('PutItem', put('D'), passed);

  expect([next, repeated, single]).toEqual([OK, OK, OK]);
});

it('a transaction can be held under way for a while', async () => {
  pass = transactionsInFlight(50);
  const first = pass('TransactWriteItems', transaction('first', { Update: item('A') }), passed);

  await wait(10);
  const meanwhile = await pass('UpdateItem', item('A'), passed);
  const outcome = await first;
  const afterwards = await pass('UpdateItem', item('A'), passed);

  expect(errorOf(meanwhile).name).toBe('TransactionConflictException');
  expect([outcome, afterwards]).toEqual([OK, OK]);
});
