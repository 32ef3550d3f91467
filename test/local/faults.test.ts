import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { detectConflicts } from '../../infra/local/aws/dynamodb.ts';
import { openFaults, type Rule } from '../../infra/local/aws/faults.ts';
import type { AwsCall, AwsResponse } from '../../infra/local/calls/aws-call.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/* What each fault does, and to which calls. How the service responds to it is in docs/calls.md. */

const faults = openFaults();
const forwarded: string[] = [];
const gatehouse = await useGatehouse({
  intercept: (call, forward) =>
    faults.intercept(call, () => {
      forwarded.push(call.operation);
      return forward();
    }),
});

let token: string;
beforeAll(async () => {
  token = await gatehouse.logIn('admin');
});

/**
 * Renames the admin account under these rules. Returns the status, the number of transactions
 * forwarded to the table, and whether the new name was stored.
 */
async function rename(firstName: string, ...rules: Rule[]) {
  faults.inject(rules);
  forwarded.length = 0;
  const { status } = await gatehouse.call('POST', '/api/account', {
    token,
    mayCrash: true,
    body: { firstName, lastName: 'A', email: 'admin@example.com', langKey: 'en' },
  });
  faults.inject([]);
  const stored = await gatehouse.table.get(entityKey('USER', 1));
  const transactions = forwarded.filter((operation) => operation === 'TransactWriteItems').length;
  return { status, transactions, done: stored?.firstName === firstName };
}

describe('a fault', () => {
  const first = { operation: 'TransactWriteItems', nth: 1 } as const;

  it.each([
    ['conflict', { status: 200, transactions: 1, done: true }],
    ['throttle', { status: 200, transactions: 1, done: true }],
    ['error-before', { status: 200, transactions: 1, done: true }],
    ['reset', { status: 200, transactions: 1, done: true }],
    ['error-after', { status: 200, transactions: 2, done: true }],
    ['lost', { status: 200, transactions: 2, done: true }],
    ['half', { status: 200, transactions: 2, done: true }],
    ['late', { status: 200, transactions: 2, done: true }],
    ['kill', { status: 500, transactions: 1, done: true }],
  ] as const)('%s affects only the call that its rule names', async (fault, outcome) => {
    expect(await rename(`By ${fault}`, { ...first, fault })).toEqual(outcome);
  });

  it('slow delays a call before it is made', async () => {
    const started = performance.now();
    const result = await rename('By slow', { ...first, fault: 'slow', milliseconds: 300 });

    expect(result).toEqual({ status: 200, transactions: 1, done: true });
    // The timers of Node.js can be early by a millisecond.
    expect(performance.now() - started).toBeGreaterThan(298);
  });

  it('affects every call when its rule names none', async () => {
    const result = await rename('Never', { function: 'POST /api/account', fault: 'error-before' });

    expect(result).toEqual({ status: 503, transactions: 0, done: false });
  });

  it('does not affect callers other than functions', async () => {
    faults.inject([{ fault: 'error-before' }]);

    const item = await gatehouse.table.get(entityKey('USER', 1));
    faults.inject([]);

    expect(item).toBeDefined();
  });
});

describe('a fault rule', () => {
  const read: AwsCall = {
    service: 'DynamoDB',
    operation: 'GetItem',
    input: { Key: { pk: { S: 'USER' }, sk: { S: '0000000000000001' } } },
    functionName: 'PUT /api/users',
    kill: () => undefined,
  };
  /** The response to the last of these calls under the rules. */
  async function responseTo(rules: Rule[], ...calls: Partial<AwsCall>[]): Promise<AwsResponse> {
    const some = openFaults();
    some.inject(rules);
    let response: AwsResponse = OK;
    for (const call of calls) response = await some.intercept({ ...read, ...call }, async () => OK);
    return response;
  }

  it.each<[Partial<Rule>, number]>([
    [{ function: 'PUT /api/users' }, 500],
    [{ function: 'POST /api/users' }, 200],
    [{ service: 'DynamoDB' }, 500],
    [{ service: 'KMS' }, 200],
    [{ operation: 'Query' }, 200],
    [{ item: 'USER/0000000000000001' }, 500],
    [{ item: 'USER/0000000000000002' }, 200],
    [{ item: 'USER/*' }, 500],
    [{ function: 'PUT /api/users', operation: 'Query' }, 200],
    [{ fault: 'conflict' }, 200],
  ])('%j changes the response of a read to %i', async (rule, status) => {
    expect((await responseTo([{ fault: 'error-before', ...rule }], {})).status).toBe(status);
  });

  it('counts the calls that it matches, also those to which another rule applies', async () => {
    const rules: Rule[] = [
      { operation: 'GetItem', nth: 1, fault: 'error-before' },
      { operation: 'GetItem', nth: 2, fault: 'throttle' },
    ];
    const calls = [{}, {}, {}];

    const responses = calls.map((_, n) => responseTo(rules, ...calls.slice(n)));

    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 400, 500]);
  });

  it.each<[string, object, string | undefined, (string | undefined)[] | undefined]>([
    ['the first item of a transaction', {}, undefined, ['TransactionConflict', 'None']],
    ['the item that it names', { item: 'B/*' }, undefined, ['None', 'TransactionConflict']],
    ['a single write', {}, 'PutItem', undefined],
  ])('causes a conflict on %s', async (_, rule, operation = 'TransactWriteItems', codes) => {
    const put = (pk: string) => ({ TableName: 'house', Item: { pk: { S: pk }, sk: { S: '1' } } });
    const input =
      operation === 'PutItem'
        ? put('A')
        : { TransactItems: [{ Put: put('A') }, { Put: put('B') }] };

    const { body } = await responseTo([{ fault: 'conflict', ...rule }], { operation, input });

    expect(body).toMatchObject({
      __type: expect.stringMatching(codes ? /#TransactionCanceled/ : /#TransactionConflict/),
      ...(codes && { CancellationReasons: codes.map((Code) => expect.objectContaining({ Code })) }),
    });
  });

  it.each([
    [[{ fault: 'fire' }], /0\.fault/],
    [[{ fault: 'lost', nht: 2 }], /0\.nht/],
    [[{ fault: 'lost', nth: 0 }], /0\.nth/],
    [[{ fault: 'lost', operation: 'GetItems' }], /0\.operation/],
    [{ fault: 'lost' }, /Array/],
  ])('is rejected when it is invalid: %j', (rules, sentence) => {
    expect(() => openFaults().inject(rules as unknown[])).toThrow(sentence);
  });

  it('is rejected when it names a function that the stack does not have', () => {
    const rules = ['GET /api/users', 'GET /nope'].map((name) => ({
      function: name,
      fault: 'lost',
    }));

    expect(() => openFaults().inject(rules, ['GET /api/users'])).toThrow(
      /^1\.function: There is no function GET \/nope: /,
    );
  });
});

/* What DynamoDB rejects while a transaction is in progress, which local engines do not. */

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
