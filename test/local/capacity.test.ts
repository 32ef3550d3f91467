import { setTimeout as wait } from 'node:timers/promises';
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAwsEndpoint } from '../../infra/local/aws/aws-endpoint.ts';
import { startEngine } from '../../infra/local/aws/engine.ts';
import { localMailbox } from '../../infra/local/aws/mailbox.ts';
import type { AwsResponse } from '../../infra/local/calls/aws-call.ts';
import {
  bytesAfterUpdate,
  type Item,
  itemBytes,
  readUnits,
  type Value,
  writeUnits,
} from '../../infra/local/capacity/item-size.ts';
import { meterCapacity } from '../../infra/local/capacity/meter-capacity.ts';
import { tokenBucket } from '../../infra/local/capacity/token-bucket.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { openMemoryState } from '../../infra/local/state/state.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';

const KB = 1024;
const S = (text: string): { S: string } => ({ S: text });
const text = (bytes: number) => S('x'.repeat(bytes));

describe('the size of an item', () => {
  it.each<[string, Item, number]>([
    ['a string takes its name and its text in UTF-8', { näme: S('a€') }, 5 + 4],
    [
      'a number takes one byte per two significant digits, plus one',
      { n: { N: '12345' } },
      1 + 3 + 1,
    ],
    ['leading and trailing zeros of a number take nothing', { n: { N: '-0.0012300' } }, 1 + 2 + 1],
    ['the exponent of a number takes nothing', { n: { N: '1.5E+10' } }, 1 + 1 + 1],
    ['zero takes one byte', { n: { N: '0' } }, 1 + 1],
    ['a binary takes its raw bytes', { b: { B: Buffer.alloc(5).toString('base64') } }, 1 + 5],
    ['a boolean takes one byte', { t: { BOOL: false } }, 1 + 1],
    ['a null takes one byte', { z: { NULL: true } }, 1 + 1],
    ['an empty list takes three bytes', { l: { L: [] } }, 1 + 3],
    [
      'an element of a list takes one byte and its value',
      { l: { L: [S('ab'), { N: '1' }] } },
      1 + 3 + (1 + 2) + (1 + 2),
    ],
    [
      'an element of a map takes one byte, its name and its value',
      { m: { M: { ab: S('c') } } },
      1 + 3 + (1 + 2 + 1),
    ],
    ['a set of strings takes its elements', { s: { SS: ['ab', 'c'] } }, 1 + 3],
    ['a set of numbers takes its elements', { s: { NS: ['1', '123'] } }, 1 + 2 + 3],
    ['a set of binaries takes its elements', { s: { BS: ['AAAA', 'AA=='] } }, 1 + 3 + 1],
    ['all attributes count, keys included', { pk: S('A'), sk: S('1'), v: S('xyz') }, 3 + 3 + 4],
  ])('%s', (_, item, bytes) => {
    expect(itemBytes(item)).toBe(bytes);
  });

  it('is 0 for a missing item', () => {
    expect(itemBytes(undefined)).toBe(0);
  });

  const values: Record<string, Value> = {
    ':long': text(50),
    ':one': { N: '1' },
    ':two': { SS: ['cd', 'ef'] },
  };
  const before: Item = { pk: S('A'), sk: S('1'), v: text(10), n: { N: '5' }, ids: { SS: ['ab'] } };
  const size = itemBytes(before);
  it.each<[string, Item | undefined, number]>([
    ['SET v = :long', before, size + 40],
    ['SET #w = :long', before, size + 1 + 50],
    ['set v=:long, #w = :one REMOVE ids', before, size + 40 + (1 + 2) - (3 + 2)],
    ['REMOVE v, ids', before, size - (1 + 10) - (3 + 2)],
    ['SET #w = :long', undefined, 6 + 1 + 50],
    ['ADD ids :two', before, size + 4],
    ['ADD #w :two', before, size + 1 + 4],
  ])('is exact after the update `%s`', (UpdateExpression, stored, bytes) => {
    const update = {
      Key: { pk: S('A'), sk: S('1') },
      UpdateExpression,
      ExpressionAttributeNames: { '#w': 'w' },
      ExpressionAttributeValues: values,
    };

    expect(bytesAfterUpdate(update, stored)).toBe(bytes);
  });

  it.each<[string, number]>([
    ['ADD n :one', size + 2],
    ['SET n = n + :one', size + 2 + 2],
    ['SET v = if_not_exists(v, :long)', size + 10 + 50],
    ['SET m.x = :long', size + 3 + 50],
    ['DELETE ids :two', size],
  ])('is never underestimated after the update `%s`', (UpdateExpression, bytes) => {
    const update = {
      Key: { pk: S('A'), sk: S('1') },
      UpdateExpression,
      ExpressionAttributeValues: values,
    };

    expect(bytesAfterUpdate(update, before)).toBe(bytes);
  });
});

describe('capacity units', () => {
  it.each([
    // From "DynamoDB read and write operations" in the developer guide: 3,500 bytes, 8 KB, 10 KB
    // and a missing item.
    [3500, 0.5, 1, 2],
    [4 * KB, 0.5, 1, 2],
    [4 * KB + 1, 1, 2, 4],
    [8 * KB, 1, 2, 4],
    [10 * KB, 1.5, 3, 6],
    [0, 0.5, 1, 2],
  ])(
    'a read of %d bytes takes %d eventually consistent, %d strongly consistent and %d ' +
      'transactional',
    (bytes, ...units) => {
      expect([
        readUnits(bytes, 'eventual'),
        readUnits(bytes, 'strong'),
        readUnits(bytes, 'transactional'),
      ]).toEqual(units);
    },
  );

  it.each([
    // From the same page: 512 bytes, 1.6 KB, 3.5 KB and a missing item.
    [512, 1, 2],
    [1 * KB, 1, 2],
    [1 * KB + 1, 2, 4],
    [1.6 * KB, 2, 4],
    [3.5 * KB, 4, 8],
    [0, 1, 2],
  ])(
    'a write of %d bytes takes %d on its own and %d in a transaction',
    (bytes, alone, transactional) => {
      expect([writeUnits(bytes, false), writeUnits(bytes, true)]).toEqual([alone, transactional]);
    },
  );
});

let clock = 0;
const now = () => clock;

describe('a token bucket', () => {
  it('starts with one second of its rate and holds no more than its capacity', () => {
    const bucket = tokenBucket(10, 30, now);

    const filling = [0, 1000, 1000, 1000].map((elapsed) => {
      clock += elapsed;
      return bucket.available();
    });

    expect(filling).toEqual([10, 20, 30, 30]);
    expect(bucket.isFull()).toBe(true);
  });

  it('goes below zero when more is taken than available, and refills from there', () => {
    const bucket = tokenBucket(10, 10, now);

    bucket.take(25);
    const filling = [0, 1400, 100, 50].map((elapsed) => {
      clock += elapsed;
      return bucket.available();
    });

    expect(filling).toEqual([-15, -1, 0, 0.5]);
  });
});

/*
 * From here on, the real SDK calls the local AWS endpoint with a real engine, and only the tests
 * advance the clock.
 */

const TableName = 'capacity';
const region = 'eu-central-1';
const clientOf = (endpoint: string) =>
  new DynamoDBClient({ endpoint, region, credentials: OPERATOR, maxAttempts: 1 });

const engine = await startEngine(
  { file: undefined, externalUrl: undefined },
  () => undefined,
  () => undefined,
);
/** Bypasses the meter. */
const direct = clientOf(engine.url);
afterAll(async () => {
  direct.destroy();
  await engine.stop();
});
await direct.send(
  new CreateTableCommand({
    TableName,
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'S' },
    ],
    BillingMode: 'PAY_PER_REQUEST',
  }),
);

type Maximum = { Read?: number; Write?: number };
const mailbox = localMailbox(openMemoryState());

async function openMetered(maximum: Maximum | undefined, holdTransactions?: number) {
  const awsEndpoint = await startAwsEndpoint({
    engineUrl: engine.url,
    port: 0,
    apiUrl: () => '',
    kms: () => ({ status: 400, body: {} }),
    identify: () => undefined,
    kill: () => undefined,
    mailbox,
    denialReason: () => undefined,
    stackTable: () => ({ TableName: 'Table' }),
    onCommitted: () => undefined,
    onLateCall: () => undefined,
    onDenied: () => undefined,
    holdTransactions,
    meter: maximum && meterCapacity({ region, tableMaximum: () => maximum, now }),
  });
  const client = clientOf(awsEndpoint.url);
  return {
    client,
    close() {
      client.destroy();
      awsEndpoint.stop();
    },
  };
}

let client: DynamoDBClient;
let close: () => void;
beforeEach(async () => ({ client, close } = await openMetered({})));
afterEach(() => close());

/** Gives the table this maximum for the rest of the test. */
async function limitTable(maximum: Maximum): Promise<void> {
  close();
  ({ client, close } = await openMetered(maximum));
}

const keyOf = (pk: string, sk: string) => ({ pk: S(pk), sk: S(sk) });
/** An item of this size, keys included. */
const itemOf = (pk: string, sk: string, bytes: number) => ({
  ...keyOf(pk, sk),
  v: text(bytes - itemBytes({ ...keyOf(pk, sk), v: S('') })),
});
const store = (...items: ReturnType<typeof itemOf>[]) =>
  Promise.all(items.map((Item) => direct.send(new PutItemCommand({ TableName, Item }))));
const isStored = async (pk: string, sk: string) =>
  (await direct.send(new GetItemCommand({ TableName, Key: keyOf(pk, sk) }))).Item !== undefined;

const put = (pk: string, sk: string, bytes = 100) =>
  client.send(new PutItemCommand({ TableName, Item: itemOf(pk, sk, bytes) }));
const get = (pk: string, sk: string, ConsistentRead = true) =>
  client.send(new GetItemCommand({ TableName, Key: keyOf(pk, sk), ConsistentRead }));
const queryInput = (pk: string) => ({
  TableName,
  KeyConditionExpression: 'pk = :pk',
  ExpressionAttributeValues: { ':pk': S(pk) },
  ConsistentRead: true,
});
const query = (pk: string) => client.send(new QueryCommand(queryInput(pk)));

async function exhaustWrites(pk: string): Promise<void> {
  for (const [sk, units] of [
    ['large', 400],
    ['larger', 400],
    ['largest', 200],
  ] as const)
    await put(pk, sk, units * KB);
}

async function exhaustReads(pk: string): Promise<void> {
  await store(itemOf(pk, 'large', 400 * KB), itemOf(pk, 'larger', 400 * KB));
  const count = new QueryCommand({ ...queryInput(pk), Select: 'COUNT' });
  await Promise.all(Array.from({ length: 15 }, () => client.send(count)));
}

const SUCCEEDED: AwsResponse = { status: 200, body: {} };
const resource = `arn:aws:dynamodb:${region}:000000000000:table/${TableName}`;
const HOT_KEY =
  /^Throughput exceeds the current capacity of your table or index\. .*bp-partition-key-design\.html\.$/;
const OVER_MAXIMUM =
  'Throughput exceeds the maximum OnDemandThroughput configured on table or index';
const throttledBy = (reason: string) => ({
  name: 'ThrottlingException',
  throttlingReasons: [{ reason, resource }],
});

describe('a partition key', () => {
  it('rejects a write beyond 1,000 units per second and does not apply it', async () => {
    await exhaustWrites('W1');

    const error = await put('W1', 'small').catch((each) => each);

    expect(error).toMatchObject({
      ...throttledBy('TableWriteKeyRangeThroughputExceeded'),
      message: expect.stringMatching(HOT_KEY),
    });
    expect(await isStored('W1', 'small')).toBe(false);
  });

  it.each([
    [
      'UpdateItem',
      () =>
        new UpdateItemCommand({
          TableName,
          Key: keyOf('W2', 'large'),
          UpdateExpression: 'REMOVE v',
        }),
    ],
    ['DeleteItem', () => new DeleteItemCommand({ TableName, Key: keyOf('W2', 'large') })],
  ])('rejects %s beyond 1,000 units per second', async (_, command) => {
    await exhaustWrites('W2');

    await expect(client.send(command() as DeleteItemCommand)).rejects.toMatchObject(
      throttledBy('TableWriteKeyRangeThroughputExceeded'),
    );
    expect(await isStored('W2', 'large')).toBe(true);
  });

  it('regains one write unit per millisecond', async () => {
    await exhaustWrites('W3');

    clock += 1;
    await put('W3', 'small');

    await expect(put('W3', 'small')).rejects.toMatchObject(
      throttledBy('TableWriteKeyRangeThroughputExceeded'),
    );
  });

  it('serves at most one second of its rate at once, however long it was idle', async () => {
    await put('W4', 'small');
    clock += 3_600_000;

    await exhaustWrites('W4');

    await expect(put('W4', 'small')).rejects.toMatchObject(
      throttledBy('TableWriteKeyRangeThroughputExceeded'),
    );
  });

  it('is remembered until its capacity is restored, however many other keys are used', async () => {
    const meter = meterCapacity({ region, tableMaximum: () => ({}), now });
    const write = (pk: string, bytes: number) => {
      const input = { TableName, Item: itemOf(pk, '1', bytes) };
      return meter(
        { operation: 'PutItem', input },
        async () => SUCCEEDED,
        async () => SUCCEEDED,
      );
    };
    await write('W7', 1000 * KB);
    for (let other = 0; other < 2000; other++) await write(`W7-${other}`, 100);

    const again = await write('W7', 100);

    expect(again.status).toBe(400);
  });

  it('shares no capacity with other keys, nor between its reads and its writes', async () => {
    await exhaustWrites('W5');

    await put('W6', 'small');
    await get('W5', 'small');
  });

  it.each([
    ['GetItem', () => get('R1', 'large')],
    ['Query', () => query('R1')],
  ])('rejects a %s beyond 3,000 units per second with ThrottlingException', async (_, read) => {
    await exhaustReads('R1');

    const error = await read().catch((each) => each);

    expect(error).toMatchObject({
      ...throttledBy('TableReadKeyRangeThroughputExceeded'),
      message: expect.stringMatching(HOT_KEY),
    });
  });

  it('admits a read that costs more than is left, then none until refilled', async () => {
    await exhaustReads('R2');
    clock += 1;

    await get('R2', 'large');
    clock += 32;
    await expect(get('R2', 'large')).rejects.toMatchObject(
      throttledBy('TableReadKeyRangeThroughputExceeded'),
    );
    clock += 1;
    await get('R2', 'large');
  });

  it('is charged its share of a Scan and rejects a Scan that would continue in it', async () => {
    const page = () =>
      client.send(
        new ScanCommand({
          TableName,
          ExclusiveStartKey: keyOf('R3', '1'),
          Limit: 1,
          ConsistentRead: true,
          ProjectionExpression: 'pk',
        }),
      );
    await store(itemOf('R3', '1', 100), itemOf('R3', '2', 400 * KB));
    await Promise.all(Array.from({ length: 30 }, page));

    await expect(page()).rejects.toMatchObject(throttledBy('TableReadKeyRangeThroughputExceeded'));
    await expect(get('R3', '1')).rejects.toMatchObject(
      throttledBy('TableReadKeyRangeThroughputExceeded'),
    );
  });
});

it('a Scan charges each partition key for its share of the bytes', async () => {
  const meter = meterCapacity({ region, tableMaximum: () => ({}), now });
  const items = [itemOf('S1', '1', 100), itemOf('S2', '1', 400 * KB)];
  const scanned = {
    status: 200,
    body: { Items: items, ConsumedCapacity: { CapacityUnits: 6000 } },
  };
  const pass = async () => SUCCEEDED;
  await meter(
    { operation: 'Scan', input: { TableName, ConsistentRead: true } },
    async () => scanned,
    pass,
  );
  const read = (pk: string) =>
    meter(
      { operation: 'GetItem', input: { TableName, Key: keyOf(pk, '1') } },
      async () => SUCCEEDED,
      pass,
    );

  const responses = [await read('S1'), await read('S2')];

  expect(responses.map(({ status }) => status)).toEqual([200, 400]);
});

describe('the table', () => {
  it('has another maximum as soon as a deployment changes it', async () => {
    let maximum: Maximum = { Write: 1 };
    const meter = meterCapacity({ region, tableMaximum: () => maximum, now });
    const pass = async () => SUCCEEDED;
    const write = async (pk: string) =>
      (
        await meter(
          { operation: 'PutItem', input: { TableName, Item: itemOf(pk, '1', 100) } },
          pass,
          pass,
        )
      ).status;

    const before = [await write('D1'), await write('D2')];
    maximum = { Write: 2 };

    expect([...before, await write('D3'), await write('D4'), await write('D5')]).toEqual([
      200, 400, 200, 200, 400,
    ]);
  });

  it('rejects requests beyond its on-demand maximum with ThrottlingException', async () => {
    await limitTable({ Read: 2, Write: 2 });
    for (const pk of ['M1', 'M2']) await Promise.all([put(pk, '1'), get(pk, '1')]);

    const write = await put('M3', '1').catch((error) => error);
    const read = await get('M3', '1').catch((error) => error);

    expect(write).toMatchObject({
      ...throttledBy('TableWriteMaxOnDemandThroughputExceeded'),
      message: OVER_MAXIMUM,
    });
    expect(read).toMatchObject({
      ...throttledBy('TableReadMaxOnDemandThroughputExceeded'),
      message: OVER_MAXIMUM,
    });
    expect(await isStored('M3', '1')).toBe(false);
  });

  it('serves the unused capacity of the last 300 seconds in a burst', async () => {
    await limitTable({ Write: 1 });
    await put('B1', '1');
    clock += 3_600_000;

    await put('B1', '1', 300 * KB);

    await expect(put('B2', '1')).rejects.toMatchObject(
      throttledBy('TableWriteMaxOnDemandThroughputExceeded'),
    );
  });
});

/**
 * The cost of a call is deducted from these units; probes of the lowest possible cost count the
 * rest.
 */
const UNITS = { Read: 10, Write: 30 };
const CHEAPEST_UNITS = { Read: 0.5, Write: 1 };
async function unitsOf(kind: 'Read' | 'Write', call: () => Promise<unknown>): Promise<number> {
  await limitTable({ [kind]: UNITS[kind] });
  await call().catch((error) => {
    if (!['ConditionalCheckFailedException', 'TransactionCanceledException'].includes(error.name))
      throw error;
  });
  const cheapest = {
    Read: () => get('nothing', 'here', false),
    Write: () => client.send(new DeleteItemCommand({ TableName, Key: keyOf('nothing', 'here') })),
  };
  const probes = Array.from({ length: UNITS[kind] / CHEAPEST_UNITS[kind] }, () => cheapest[kind]());
  const served = (await Promise.allSettled(probes)).filter(
    ({ status }) => status === 'fulfilled',
  ).length;
  return UNITS[kind] - served * CHEAPEST_UNITS[kind];
}

describe('the cost of a call', () => {
  const update = (key: { pk: { S: string }; sk: { S: string } }, bytes: number) => ({
    TableName,
    Key: key,
    UpdateExpression: 'SET v = :v',
    ExpressionAttributeValues: { ':v': text(bytes) },
  });
  const failing = { ConditionExpression: 'attribute_exists(absent)' };
  const transact = (...TransactItems: object[]) =>
    client.send(new TransactWriteItemsCommand({ TransactItems: TransactItems as never }));

  // U/5k has 5 KB; U/none does not exist.
  const large = { TableName, Key: keyOf('U', '5k') };
  const none = { TableName, Key: keyOf('U', 'none') };
  beforeEach(async () => {
    await store(itemOf('U', '5k', 5 * KB), itemOf('U', '1500', 1500), itemOf('U', '6500', 6500));
    for (const sk of ['none', 'none2', '6']) {
      await direct.send(new DeleteItemCommand({ TableName, Key: keyOf('U', sk) }));
    }
  });

  it.each<[string, number, () => Promise<unknown>]>([
    ['a Put of a new item costs its size', 3, () => put('U', 'none', 3 * KB)],
    ['a Put over a larger item costs the old size', 5, () => put('U', '5k', 3 * KB)],
    ['a Put over a smaller item costs the new size', 7, () => put('U', '5k', 7 * KB)],
    [
      'an Update that shrinks an item costs its old size',
      5,
      () => client.send(new UpdateItemCommand(update(large.Key, 10))),
    ],
    [
      'an Update that grows an item costs its new size',
      8,
      () => client.send(new UpdateItemCommand(update(large.Key, 8000))),
    ],
    ['a Delete costs the size of the item', 5, () => client.send(new DeleteItemCommand(large))],
    ['a Delete of a missing item costs 1', 1, () => client.send(new DeleteItemCommand(none))],
    [
      'a write whose condition fails costs as much as if it succeeded',
      7,
      () =>
        client.send(new PutItemCommand({ TableName, Item: itemOf('U', '5k', 7 * KB), ...failing })),
    ],
    [
      'a BatchWriteItem costs the sum of its writes',
      1 + 4,
      () =>
        client.send(
          new BatchWriteItemCommand({
            RequestItems: {
              [TableName]: [
                { PutRequest: { Item: itemOf('U', 'none', 500) } },
                { PutRequest: { Item: itemOf('U', 'none2', 3.5 * KB) } },
              ],
            },
          }),
        ),
    ],
    [
      'a transaction costs twice the sum of its writes and checks',
      2 * (5 + 1 + 2 + 3),
      () =>
        transact(
          { Delete: large },
          { ConditionCheck: { ...none, ConditionExpression: 'attribute_not_exists(pk)' } },
          { Update: update(keyOf('U', '1500'), 10) },
          { Put: { TableName, Item: itemOf('U', '6', 3 * KB) } },
        ),
    ],
    [
      'a transaction that a condition cancels costs as much as if it succeeded',
      2 * (5 + 1),
      () => transact({ Delete: large }, { ConditionCheck: { ...none, ...failing } }),
    ],
  ])('%s (%d write units)', async (_, units, call) => {
    expect(await unitsOf('Write', call)).toBe(units);
  });

  it.each<[string, number, () => Promise<unknown>]>([
    ['a GetItem costs the size of the item', 2, () => get('U', '5k')],
    ['an eventually consistent GetItem costs half the size', 1, () => get('U', '5k', false)],
    ['a GetItem of a missing item costs 1', 1, () => get('U', 'none')],
    [
      'a GetItem of one attribute costs the size of the whole item',
      2,
      () =>
        client.send(
          new GetItemCommand({ ...large, ConsistentRead: true, ProjectionExpression: 'sk' }),
        ),
    ],
    [
      // From the developer guide: 1.5 KB and 6.5 KB round up to 4 KB and 8 KB; a missing item
      // counts as 4 KB.
      'a BatchGetItem costs the sum of its items, each rounded up',
      1 + 2 + 1,
      () =>
        client.send(
          new BatchGetItemCommand({
            RequestItems: {
              [TableName]: {
                Keys: ['1500', '6500', 'none'].map((sk) => keyOf('U', sk)),
                ConsistentRead: true,
              },
            },
          }),
        ),
    ],
    [
      'a TransactGetItems costs twice the sum of its items',
      2 * (2 + 1),
      () =>
        client.send(
          new TransactGetItemsCommand({ TransactItems: [{ Get: large }, { Get: none }] }),
        ),
    ],
    ['a Query costs the total size of its items, rounded up once', 4, () => query('U')],
    [
      'a Query also costs the items that its filter drops',
      4,
      () =>
        client.send(
          new QueryCommand({ ...queryInput('U'), FilterExpression: 'attribute_exists(absent)' }),
        ),
    ],
    ['a Query without results costs 1', 1, () => query('nothing')],
    [
      'a page of a Scan costs the total size of its items',
      2,
      () =>
        client.send(
          new ScanCommand({
            TableName,
            ExclusiveStartKey: keyOf('U', '1500'),
            Limit: 1,
            ConsistentRead: true,
          }),
        ),
    ],
  ])('%s (%d read units)', async (_, units, call) => {
    expect(await unitsOf('Read', call)).toBe(units);
  });

  it('a transaction repeated under the same token costs reads, not writes', async () => {
    const repeated = new TransactWriteItemsCommand({
      ClientRequestToken: 'again',
      TransactItems: [{ Put: { TableName, Item: itemOf('U', '5k', 5 * KB) } }],
    });
    const twice = async () => {
      await client.send(repeated);
      await client.send(repeated);
    };

    expect(await unitsOf('Write', twice)).toBe(2 * 5);
    expect(await unitsOf('Read', twice)).toBe(2 * 2);
  });

  it('a transaction repeated after it was canceled costs writes again', async () => {
    const meter = meterCapacity({ region, tableMaximum: () => ({}), now });
    const TransactItems = [{ Put: { TableName, Item: itemOf('Z', '1', 400 * KB) } }];
    const input = { ClientRequestToken: 'canceled', TransactItems };
    const forwarded: string[] = [];
    const transact = (response: AwsResponse, name: string) =>
      meter(
        { operation: 'TransactWriteItems', input },
        async () => {
          forwarded.push(name);
          return response;
        },
        async () => SUCCEEDED,
      );

    await transact({ status: 400, body: {} }, 'canceled');
    await transact(SUCCEEDED, 'throttled');

    expect(forwarded).toEqual(['canceled']);
  });

  it('a transaction repeated after 10 minutes costs writes again', async () => {
    const meter = meterCapacity({ region, tableMaximum: () => ({}), now });
    const succeed = async () => SUCCEEDED;
    const TransactItems = [{ Put: { TableName, Item: itemOf('Y', '1', 400 * KB) } }];
    const input = { ClientRequestToken: 'again', TransactItems };
    const transact = () => meter({ operation: 'TransactWriteItems', input }, succeed, succeed);
    const statuses = [];

    for (const elapsed of [0, 599_000, 1000, 0]) {
      clock += elapsed;
      statuses.push((await transact()).status);
      statuses.push(
        (
          await meter(
            { operation: 'PutItem', input: { TableName, Item: itemOf('Y', '2', 300 * KB) } },
            succeed,
            succeed,
          )
        ).status,
      );
    }

    expect(statuses).toEqual([200, 400, 200, 200, 200, 400, 200, 400]);
  });

  it('is returned only when ReturnConsumedCapacity requests it', async () => {
    const asked = await client.send(
      new QueryCommand({ ...queryInput('U'), ReturnConsumedCapacity: 'TOTAL' }),
    );
    const others = await query('U');
    const inDetail = await client.send(
      new QueryCommand({ ...queryInput('U'), ReturnConsumedCapacity: 'INDEXES' }),
    );

    expect(asked.ConsumedCapacity).toEqual({ TableName, CapacityUnits: 4 });
    expect(inDetail.ConsumedCapacity?.Table).toMatchObject({ CapacityUnits: 4 });
    expect(others.ConsumedCapacity).toBeUndefined();
    expect(others.Items).toEqual(asked.Items);
  });
});

describe('a transaction', () => {
  const transact = (...TransactItems: object[]) =>
    client.send(new TransactWriteItemsCommand({ TransactItems: TransactItems as never }));
  const putting = (pk: string, sk: string, bytes = 100) => ({
    Put: { TableName, Item: itemOf(pk, sk, bytes) },
  });
  const reasonsOf = (error: { CancellationReasons?: { Code?: string }[] }) =>
    error.CancellationReasons?.map(({ Code }) => Code);

  it('is cancelled with ThrottlingError where it exceeds a limit, and not applied', async () => {
    await exhaustWrites('T1');

    const error = await transact(putting('T2', '1'), putting('T1', '1'), putting('T3', '1')).catch(
      (each) => each,
    );

    expect(error).toMatchObject({
      name: 'TransactionCanceledException',
      message: expect.stringContaining('specific reasons [None, ThrottlingError, None]'),
      CancellationReasons: [
        { Code: 'None' },
        { Code: 'ThrottlingError', Message: expect.stringMatching(HOT_KEY) },
        { Code: 'None' },
      ],
    });
    expect(await Promise.all(['T1', 'T2', 'T3'].map((pk) => isStored(pk, '1')))).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('is cancelled with ThrottlingError when it exceeds the table maximum', async () => {
    await limitTable({ Write: 5 });

    const error = await transact(...['1', '2', '3'].map((sk) => putting(`T4${sk}`, sk))).catch(
      (each) => each,
    );

    expect(reasonsOf(error)).toEqual(['None', 'None', 'ThrottlingError']);
    expect(error.CancellationReasons[2].Message).toBe(OVER_MAXIMUM);
  });

  it('takes no capacity when throttled', async () => {
    const tooMuch = () => transact(putting('T5', '1', 400 * KB), putting('T5', '2', 101 * KB));
    await expect(tooMuch()).rejects.toThrow('[None, ThrottlingError]');
    await expect(tooMuch()).rejects.toThrow('[None, ThrottlingError]');

    await exhaustWrites('T5');
  });

  it('holds no items when throttled', async () => {
    const holdMs = 200;
    close();
    ({ client, close } = await openMetered({}, holdMs));
    await exhaustWrites('T6');
    const throttled = transact(putting('T7', '1'), putting('T6', '1')).catch(reasonsOf);

    await wait(holdMs / 4);
    await put('T7', '1');

    expect(await throttled).toEqual(['None', 'ThrottlingError']);
  });

  it('of reads is cancelled with ThrottlingError in the same way', async () => {
    await exhaustReads('T8');
    const read = new TransactGetItemsCommand({
      TransactItems: ['T9', 'T8'].map((pk) => ({ Get: { TableName, Key: keyOf(pk, 'large') } })),
    });

    await expect(client.send(read)).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'None' }, { Code: 'ThrottlingError' }],
    });
  });

  const ninety = Array.from({ length: 90 }, (_, n) => String(n).padStart(2, '0'));
  // 31 items of 16 KB, charged twice in a transaction, take 992 of the 1,000 units.
  const expected = ninety.map((_, n) => (n < 31 ? 'None' : 'ThrottlingError'));

  it('that deletes 90 items of 16 KB under one partition key is always cancelled', async () => {
    await store(...ninety.map((sk) => itemOf('T10', sk, 16 * KB)));
    const deletion = () =>
      transact(...ninety.map((sk) => ({ Delete: { TableName, Key: keyOf('T10', sk) } })));

    for (const idle of [0, 1000, 3_600_000]) {
      clock += idle;
      expect(reasonsOf(await deletion().catch((error) => error))).toEqual(expected);
    }
    expect(await isStored('T10', '00')).toBe(true);
  });

  it('that updates 90 items to 16 KB under one partition key is always cancelled', async () => {
    const updates = ninety.map((sk) => ({
      Update: {
        TableName,
        Key: keyOf('T11', sk),
        UpdateExpression: 'SET #v = :v',
        ExpressionAttributeNames: { '#v': 'v' },
        ExpressionAttributeValues: { ':v': itemOf('T11', sk, 16 * KB).v },
      },
    }));

    expect(reasonsOf(await transact(...updates).catch((error) => error))).toEqual(expected);
  });
});

describe('a batch', () => {
  const batchGet = (...pks: string[]) =>
    client.send(
      new BatchGetItemCommand({
        RequestItems: {
          [TableName]: { Keys: pks.map((pk) => keyOf(pk, 'large')), ConsistentRead: true },
        },
      }),
    );
  const batchPut = (...pks: string[]) =>
    client.send(
      new BatchWriteItemCommand({
        RequestItems: {
          [TableName]: pks.map((pk) => ({ PutRequest: { Item: itemOf(pk, '1', 100) } })),
        },
      }),
    );

  it('returns the keys that it could not read as UnprocessedKeys', async () => {
    await exhaustReads('G1');
    await store(itemOf('G2', 'large', 100));

    const { Responses, UnprocessedKeys } = await batchGet('G1', 'G2');

    expect(Responses?.[TableName]).toEqual([itemOf('G2', 'large', 100)]);
    expect(UnprocessedKeys).toEqual({
      [TableName]: { Keys: [keyOf('G1', 'large')], ConsistentRead: true },
    });
  });

  it('is rejected with ThroughputExceeded when it could read nothing', async () => {
    await exhaustReads('G3');

    await expect(batchGet('G3')).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
      ThrottlingReasons: [{ reason: 'TableReadKeyRangeThroughputExceeded', resource }],
    });
  });

  it('returns the items that it could not write as UnprocessedItems', async () => {
    await exhaustWrites('G4');

    const { UnprocessedItems } = await batchPut('G4', 'G5');

    expect(UnprocessedItems).toEqual({
      [TableName]: [{ PutRequest: { Item: itemOf('G4', '1', 100) } }],
    });
    expect([await isStored('G4', '1'), await isStored('G5', '1')]).toEqual([false, true]);
  });

  it('is charged only for the items that it wrote', async () => {
    await limitTable({ Write: 2 });

    const { UnprocessedItems } = await batchPut('G7', 'G8', 'G9');

    expect(UnprocessedItems?.[TableName]).toHaveLength(1);
    await expect(put('G8', '2')).rejects.toMatchObject(
      throttledBy('TableWriteMaxOnDemandThroughputExceeded'),
    );
  });

  it('is rejected with ThroughputExceeded when it could write nothing', async () => {
    await exhaustWrites('G6');

    await expect(batchPut('G6')).rejects.toMatchObject({
      name: 'ProvisionedThroughputExceededException',
      ThrottlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded', resource }],
    });
  });
});

describe('the local cloud', () => {
  const reason = 'TableWriteMaxOnDemandThroughputExceeded';

  it.each([
    ['throttles nothing by default', {}, []],
    ['meters its table for every caller with meterCapacity', { meterCapacity: true }, [reason]],
  ])('%s', async (_, options, expected) => {
    const gatehouse = await startGatehouse({ ...options, breaksData: true });
    const operator = clientOf(gatehouse.cloud.endpoint);

    // The template allows 2,000 units per second; 30 items of 400 KB take 12,000, too many even for
    // a slow machine.
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, n) => `HOT${n}`).map((pk) =>
        operator.send(
          new PutItemCommand({
            TableName: gatehouse.cloud.tableName,
            Item: itemOf(pk, '1', 400 * KB),
          }),
        ),
      ),
    );

    const reasons = outcomes.flatMap((each) =>
      each.status === 'rejected' ? each.reason.throttlingReasons : [],
    );
    expect([...new Set(reasons.map((each) => each.reason))]).toEqual(expected);
    operator.destroy();
    await gatehouse.stop();
  });
});
