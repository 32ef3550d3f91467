import { beforeEach, describe, expect, it } from 'vitest';
import { detectConflicts } from '../../infra/local/aws/transaction-conflicts.ts';
import type { AwsResponse } from '../../infra/local/calls/aws-call.ts';

const OK: AwsResponse = { status: 200, body: {} };
const succeed = async () => OK;

const item = (pk: string) => ({ TableName: 'house', Key: { pk: { S: pk }, sk: { S: '1' } } });
const put = (pk: string) => ({
  TableName: 'house',
  Item: { pk: { S: pk }, sk: { S: '1' }, n: { N: '7' } },
});
const transaction = (token: string, ...actions: object[]) => ({
  ClientRequestToken: token,
  TransactItems: actions,
});

function sdkErrorOf({ status, body }: AwsResponse) {
  const { __type, CancellationReasons } = body as {
    __type?: string;
    CancellationReasons?: { Code: string }[];
  };
  return {
    status,
    name: __type?.split('#')[1],
    codes: CancellationReasons?.map(({ Code }) => Code),
  };
}

let pass: ReturnType<typeof detectConflicts>;
let finish: (response: AwsResponse | Error) => Promise<unknown>;

/**
 * A transaction with a check of A, an update of B, a deletion of C and a put of D is in progress.
 */
beforeEach(() => {
  pass = detectConflicts();
  const { promise, resolve, reject } = Promise.withResolvers<AwsResponse>();
  const actions = [
    { ConditionCheck: item('A') },
    { Update: item('B') },
    { Delete: item('C') },
    { Put: put('D') },
  ];
  const first = pass('TransactWriteItems', transaction('first', ...actions), () => promise);
  finish = (response) => {
    if (response instanceof Error) reject(response);
    else resolve(response);
    return first.catch(() => undefined);
  };
});

describe('while a transaction is in progress', () => {
  it.each(['A', 'B', 'C', 'D'])(
    'another transaction on its item %s is cancelled with TransactionConflict at that position',
    async (pk) => {
      let reachedTable = false;
      const second = transaction(
        'second',
        { Update: item('X') },
        { ConditionCheck: item(pk) },
        { Put: put('Y') },
      );

      const response = await pass('TransactWriteItems', second, async () => {
        reachedTable = true;
        return OK;
      });

      expect(sdkErrorOf(response)).toEqual({
        status: 400,
        name: 'TransactionCanceledException',
        codes: ['None', 'TransactionConflict', 'None'],
      });
      expect(reachedTable).toBe(false);
    },
  );

  it('its items stay held, and the items of a cancelled one are not', async () => {
    const second = transaction('second', { Update: item('X') }, { Update: item('A') });
    await pass('TransactWriteItems', second, succeed);

    const other = transaction('third', { Update: item('X') });
    const responses = [
      await pass('TransactWriteItems', other, succeed),
      await pass('UpdateItem', item('A'), succeed),
    ];

    expect(responses.map((response) => sdkErrorOf(response).name)).toEqual([
      undefined,
      'TransactionConflictException',
    ]);
  });

  it.each([
    ['PutItem', put('B')],
    ['UpdateItem', item('A')],
    ['DeleteItem', item('D')],
  ])(
    'a single %s on one of its items fails with TransactionConflictException',
    async (operation, input) => {
      const response = await pass(operation, input, succeed);

      expect(sdkErrorOf(response)).toMatchObject({
        status: 400,
        name: 'TransactionConflictException',
      });
    },
  );

  it('a repeated request token fails with TransactionInProgressException', async () => {
    const response = await pass(
      'TransactWriteItems',
      transaction('first', { Update: item('B') }),
      succeed,
    );

    expect(sdkErrorOf(response)).toMatchObject({
      status: 400,
      name: 'TransactionInProgressException',
    });
  });

  it.each([
    ['GetItem', item('A')],
    ['Query', { TableName: 'house' }],
    ['UpdateItem', item('X')],
    ['UpdateItem', { ...item('A'), TableName: 'barn' }],
    ['TransactWriteItems', transaction('second', { Update: item('X') }, { Put: put('Y') })],
  ])('a %s that writes none of its items succeeds: %j', async (operation, input) => {
    expect(await pass(operation, input, succeed)).toBe(OK);
  });
});

it.each([
  ['succeeded', OK],
  ['was rejected', { status: 400, body: {} }],
  ['got no response', new Error('connection lost')],
])('a transaction that %s releases its items', async (_, outcome) => {
  await finish(outcome);

  const next = await pass(
    'TransactWriteItems',
    transaction('second', { ConditionCheck: item('A') }),
    succeed,
  );
  const repeated = await pass(
    'TransactWriteItems',
    transaction('first', { Update: item('B') }),
    succeed,
  );
  const single = await pass('PutItem', put('D'), succeed);

  expect([next, repeated, single]).toEqual([OK, OK, OK]);
});
