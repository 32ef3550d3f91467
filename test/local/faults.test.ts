import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
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
    [200, 1, ['conflict', 'throttle', 'error-before', 'reset']],
    [200, 2, ['error-after', 'lost', 'half', 'late']],
    [500, 1, ['kill']],
  ] as const)('gives %i and %i transactions, all at the named call: %j', async (...row) => {
    const [status, transactions, faultNames] = row;
    const outcome = { status, transactions, done: true };
    for (const fault of faultNames)
      expect(await rename(`By ${fault}`, { ...first, fault }), fault).toEqual(outcome);
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
    [{ service: 'KMS' }, 200],
    [{ operation: 'Query' }, 200],
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

  it.each([
    [{}, ['TransactionConflict', 'None']],
    [{ item: 'B/*' }, ['None', 'TransactionConflict']],
  ])('causes a conflict on the item that it names, or on the first: %j', async (rule, codes) => {
    const rules: Rule[] = [{ fault: 'conflict', ...rule }];
    const input = transaction('', { Put: put('A') }, { Put: put('B') });

    const single = await responseTo(rules, { operation: 'PutItem', input: put('B') });
    const { body } = await responseTo(rules, { operation: 'TransactWriteItems', input });

    expect(body).toMatchObject({ CancellationReasons: codes.map((Code) => ({ Code })) });
    expect(errorOf(single)).toBe('TransactionConflictException');
  });

  it.each([
    [[{ fault: 'fire' }], /0\.fault/],
    [[{ fault: 'lost', nht: 2 }], /0\.nht/],
    [[{ fault: 'lost', operation: 'GetItems' }], /0\.operation/],
    [{ fault: 'lost' }, /Array/],
  ])('is rejected when it is invalid: %j', (rules, sentence) => {
    expect(() => openFaults().inject(rules as unknown[])).toThrow(sentence);
  });

  it('is rejected when it names a function that the stack does not have', () => {
    const names = ['GET /api/users', 'GET /nope'];
    const rules = names.map((name) => ({ function: name, fault: 'lost' }));

    expect(() => openFaults().inject(rules, ['GET /api/users'])).toThrow(
      /^1\.function: There is no function GET \/nope: /,
    );
  });
});

/* What DynamoDB rejects while a transaction is in progress, which local engines do not. */

const OK: AwsResponse = { status: 200, body: {} };
const succeed = async () => OK;

const item = (pk: string) => ({ TableName: 'house', Key: { pk: { S: pk }, sk: { S: '1' } } });
const put = (pk: string) => ({ TableName: 'house', Item: { ...item(pk).Key, n: { N: '7' } } });
const transaction = (token: string, ...actions: object[]) => ({
  ClientRequestToken: token,
  TransactItems: actions,
});

const errorOf = ({ body }: AwsResponse) => (body as { __type?: string }).__type?.split('#')[1];

let pass: ReturnType<typeof detectConflicts>;
let finish: (response: AwsResponse | Error) => Promise<unknown>;

/** In progress: a check of A, an update of B, a deletion of C and a put of D. */
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
  it.each(['A', 'B', 'C', 'D'])('another transaction on its item %s is cancelled', async (pk) => {
    const actions = [{ Update: item('X') }, { ConditionCheck: item(pk) }, { Put: put('Y') }];
    const forward = vi.fn(succeed);

    const response = await pass('TransactWriteItems', transaction('second', ...actions), forward);

    const codes = ['None', 'TransactionConflict', 'None'];
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ CancellationReasons: codes.map((Code) => ({ Code })) });
    expect(forward).not.toHaveBeenCalled();
    // Its other items are not held; the items of the first transaction still are.
    expect(await pass('UpdateItem', item('X'), succeed)).toBe(OK);
    expect(errorOf(await pass('UpdateItem', item(pk), succeed))).toMatch(/^TransactionConflict/);
  });

  it.each([
    ['PutItem', put('B')],
    ['UpdateItem', item('A')],
  ])('a single %s on one of its items fails', async (operation, input) => {
    const response = await pass(operation, input, succeed);

    expect([response.status, errorOf(response)]).toEqual([400, 'TransactionConflictException']);
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

  const next = transaction('second', { ConditionCheck: item('A') });
  expect(await pass('TransactWriteItems', next, succeed)).toBe(OK);
});
