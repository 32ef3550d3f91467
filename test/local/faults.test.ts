import { beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, openFaults, type Rule } from '../../infra/local/aws/faults.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';

/* What each fault does, and to which calls. How the service responds to it is in docs/faults.md. */

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
  const matches = async (rule: Partial<Rule>) => {
    const some = openFaults();
    some.inject([{ fault: 'error-before', ...rule }]);
    const response = await some.intercept(read, async () => ({ status: 200, body: {} }));
    return response.status === 500;
  };

  it.each([
    { function: 'PUT /api/users' },
    { service: 'DynamoDB' },
    { operation: 'GetItem' },
    { item: 'USER/0000000000000001' },
    { item: 'USER/*' },
    { nth: 1 },
  ] as const)('%j matches the call', async (rule) => {
    expect(await matches(rule)).toBe(true);
  });

  it.each([
    { function: 'POST /api/users' },
    { service: 'KMS' },
    { operation: 'Query' },
    { item: 'USER/0000000000000002' },
    { nth: 2 },
    { function: 'PUT /api/users', operation: 'Query' },
  ] as const)('%j does not match the call', async (rule) => {
    expect(await matches(rule)).toBe(false);
  });

  it.each([
    ['error-before', 0, 500, undefined],
    ['reset', 0, 500, 'before'],
    ['error-after', 1, 500, undefined],
    ['lost', 1, 200, 'before'],
    ['half', 1, 200, 'middle'],
    ['kill', 1, 200, 'before'],
  ] as const)(
    'of the fault %s makes %i calls and responds with %i, cut off %s',
    async (fault, calls, status, cut) => {
      const some = openFaults();
      some.inject([{ fault }]);
      let made = 0;

      const response = await some.intercept(read, async () => {
        made++;
        return { status: 200, body: {} };
      });

      expect([made, response.status, response.cut]).toEqual([calls, status, cut]);
    },
  );

  it.each([
    ['DynamoDB', 400, 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException'],
    ['KMS', 400, 'ThrottlingException'],
    ['SES', 429, 'TooManyRequestsException'],
  ] as const)('throttles as %s does', async (service, status, __type) => {
    const some = openFaults();
    some.inject([{ fault: 'throttle' }]);

    const response = await some.intercept({ ...read, service }, async () => ({
      status: 200,
      body: {},
    }));

    expect(response).toMatchObject({ status, body: { __type } });
  });

  it('counts the calls that it matches, also those to which another rule applies', async () => {
    const some = openFaults();
    some.inject([
      { operation: 'GetItem', nth: 1, fault: 'error-before' },
      { operation: 'GetItem', nth: 2, fault: 'throttle' },
    ]);
    const statuses: number[] = [];
    for (let calls = 0; calls < 3; calls++)
      statuses.push((await some.intercept(read, async () => ({ status: 200, body: {} }))).status);

    expect(statuses).toEqual([500, 400, 200]);
  });

  it.each<[string, object, string | undefined, (string | undefined)[]]>([
    ['the first item of a transaction', {}, undefined, ['TransactionConflict', 'None']],
    ['the item that it names', { item: 'B/*' }, undefined, ['None', 'TransactionConflict']],
    ['a single write', {}, 'PutItem', []],
  ])('causes a conflict on %s', async (_, rule, operation = 'TransactWriteItems', codes) => {
    const some = openFaults();
    some.inject([{ fault: 'conflict', ...rule }]);
    const put = (pk: string) => ({ TableName: 'house', Item: { pk: { S: pk }, sk: { S: '1' } } });
    const input =
      operation === 'PutItem'
        ? put('A')
        : { TransactItems: [{ Put: put('A') }, { Put: put('B') }] };

    const { body } = await some.intercept({ ...read, operation, input }, async () => ({
      status: 200,
      body: {},
    }));

    const { __type, CancellationReasons = [] } = body as {
      __type: string;
      CancellationReasons?: { Code: string }[];
    };
    expect(CancellationReasons.map(({ Code }) => Code)).toEqual(codes);
    expect(__type).toMatch(
      codes.length > 0 ? /#TransactionCanceledException$/ : /#TransactionConflictException$/,
    );
  });

  it('does not cause conflicts on reads', async () => {
    const some = openFaults();
    some.inject([{ fault: 'conflict' }]);

    const response = await some.intercept(read, async () => ({ status: 200, body: 'read' }));

    expect(response.body).toBe('read');
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
    const functions = gatehouse.cloud.functions.map(({ name }) => name);
    const inject = (...names: string[]) =>
      openFaults().inject(
        names.map((name) => ({ function: name, fault: 'lost' })),
        functions,
      );

    expect(functions).toContain('GET /api/users');
    expect(() => inject(...functions)).not.toThrow();
    expect(() => inject('GET /api/users', 'GET /nope')).toThrow(
      /^1\.function: There is no function GET \/nope: /,
    );
  });

  it('accepts every fault', () => {
    expect(() => openFaults().inject(FAULTS.map((fault) => ({ fault })))).not.toThrow();
  });
});
