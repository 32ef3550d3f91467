import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { callEngine as callEngineWith, startEngine } from '../../infra/local/aws/engine.ts';
import { createTable } from '../../infra/local/aws/stack-table.ts';
import type { AwsResponse } from '../../infra/local/calls/aws-call.ts';
import { type Item, itemBytes, writeUnits } from '../../infra/local/capacity/item-size.ts';
import { meterCapacity } from '../../infra/local/capacity/meter-capacity.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { readUnits } from '../support/costs/read-units.ts';
import { startGatehouse } from '../support/instance/gatehouse.ts';

const KB = 1024;
const S = (text: string): { S: string } => ({ S: text });

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
});

describe('capacity units', () => {
  // The examples of "DynamoDB read and write operations" in the developer guide, and the limits.
  it.each([
    [4 * KB, 'strong', 1],
    [4 * KB + 1, 'strong', 2],
    [10 * KB, 'transactional', 6],
    [0, 'strong', 1],
  ] as const)('a read of %d bytes in the mode %s takes %d', (bytes, mode, units) => {
    expect(readUnits(bytes, mode)).toBe(units);
  });

  it.each([
    [512, 1],
    [KB, 1],
    [KB + 1, 2],
    [3.5 * KB, 4],
    [0, 1],
  ])('a write of %d bytes takes %d, and twice as many in a transaction', (bytes, units) => {
    expect([writeUnits(bytes, false), writeUnits(bytes, true)]).toEqual([units, 2 * units]);
  });
});

/* From here on, a real engine is called, and only the tests advance the clock. */

const TableName = 'capacity';
const ignore = () => undefined;
const engine = await startEngine({ file: undefined, externalUrl: undefined }, ignore, ignore);
afterAll(engine.stop);
const names = ['pk', 'sk'];
await createTable(engine.url, {
  TableName,
  KeySchema: names.map((AttributeName, index) => ({
    AttributeName,
    KeyType: index === 0 ? 'HASH' : 'RANGE',
  })),
  AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
});

let clock = 0;
let maximum: ReturnType<Parameters<typeof meterCapacity>[0]>;
let meter: ReturnType<typeof meterCapacity>;
let tests = 0;
/** Each test has a partition key of its own. */
let pk: string;
beforeEach(() => {
  maximum = {};
  meter = meterCapacity(
    () => maximum,
    () => clock,
  );
  pk = `pk${++tests}`;
});

const callEngine = (operation: string, input: object): Promise<AwsResponse> =>
  callEngineWith(engine.url, operation, JSON.stringify(input));

/** The name of the error; the codes of a cancelled transaction; undefined for a success. */
async function errorOf(operation: string, input: object): Promise<string | undefined> {
  const { status, body } = await meter(
    { operation, input: input as Record<string, unknown> },
    (metered) => callEngine(operation, metered),
    (keys) => callEngine('BatchGetItem', keys),
  );
  if (status === 200) return undefined;
  const { __type, CancellationReasons } = typeof body === 'string' ? JSON.parse(body) : body;
  return (
    CancellationReasons?.map(({ Code }: { Code: string }) => Code).join() ?? __type.split('#')[1]
  );
}

const keyOf = (sk: string, key = pk) => ({ TableName, Key: { pk: S(key), sk: S(sk) } });
/** A Put of an item of this size. */
const itemOf = (sk: string, bytes: number, key = pk) => {
  const { Key } = keyOf(sk, key);
  return { TableName, Item: { ...Key, v: S('x'.repeat(bytes - itemBytes(Key) - 1)) } };
};
const store = (...items: object[]) => Promise.all(items.map((item) => callEngine('PutItem', item)));
const isStored = async (sk: string, key = pk) =>
  String((await callEngine('GetItem', keyOf(sk, key))).body).includes('Item');
const transactionOf = (...TransactItems: object[]) => ({ TransactItems });
const query = (key = pk) => ({
  TableName,
  KeyConditionExpression: 'pk = :pk',
  ExpressionAttributeValues: { ':pk': S(key) },
  ConsistentRead: true,
});

/** Takes these units of the 1,000 write units that a partition key has in a second. */
async function takeWrites(units: number, key = pk): Promise<void> {
  for (let left = units; left > 0; left -= 400)
    expect(
      await errorOf('PutItem', itemOf(`${left}`, Math.min(left, 400) * KB, key)),
    ).toBeUndefined();
}

/** Takes the 3,000 read units that a partition key has in a second. */
async function exhaustReads(): Promise<void> {
  await store(itemOf('1', 400 * KB), itemOf('2', 400 * KB));
  for (let read = 0; read < 15; read++) await errorOf('Query', query());
}

const HOT = 'ThrottlingException';

describe('a partition key', () => {
  it('rejects writes beyond 1,000 units per second, and regains one per millisecond', async () => {
    await takeWrites(1000);

    expect(await errorOf('PutItem', itemOf('small', 100))).toBe(HOT);
    expect(await isStored('small')).toBe(false);
    clock += 1;
    expect(await errorOf('PutItem', itemOf('small', 100))).toBeUndefined();
    expect(await errorOf('DeleteItem', keyOf('small'))).toBe(HOT);
  });

  it('serves at most one second of its rate at once, however long it was idle', async () => {
    await errorOf('PutItem', itemOf('small', 100));
    clock += 3_600_000;

    await takeWrites(1000);

    expect(await errorOf('PutItem', itemOf('small', 100))).toBe(HOT);
  });

  it('shares no capacity with other keys, nor between its reads and its writes', async () => {
    await takeWrites(1000);

    expect(await errorOf('PutItem', itemOf('small', 100, 'other'))).toBeUndefined();
    expect(await errorOf('GetItem', keyOf('small'))).toBeUndefined();
  });

  it('rejects reads beyond 3,000 units per second', async () => {
    await exhaustReads();

    const batch = { [TableName]: { Keys: ['1', '2'].map((sk) => keyOf(sk).Key) } };
    const reads = transactionOf({ Get: keyOf('1', 'other') }, { Get: keyOf('1') });
    expect([
      await errorOf('GetItem', keyOf('1')),
      await errorOf('Query', query()),
      await errorOf('BatchGetItem', { RequestItems: batch }),
      await errorOf('TransactGetItems', reads),
    ]).toEqual([HOT, HOT, 'ProvisionedThroughputExceededException', 'None,ThrottlingError']);
  });

  it('admits a read that costs more than is left, then none until refilled', async () => {
    await exhaustReads();
    clock += 1;
    const read = { ...keyOf('1'), ConsistentRead: true };

    expect(await errorOf('GetItem', read)).toBeUndefined();
    clock += 32;
    expect(await errorOf('GetItem', read)).toBe(HOT);
    clock += 1;
    expect(await errorOf('GetItem', read)).toBeUndefined();
  });
});

describe('the table', () => {
  it('rejects requests beyond its maximum, which a deployment can change', async () => {
    maximum = { MaxReadRequestUnits: 1, MaxWriteRequestUnits: 1 };

    const read = { ...keyOf('1'), ConsistentRead: true };
    const rejected = [await errorOf('PutItem', itemOf('1', 100)), await errorOf('GetItem', read)];
    rejected.push(await errorOf('PutItem', itemOf('2', 100)), await errorOf('GetItem', read));
    maximum = { MaxWriteRequestUnits: 2 };

    expect(rejected).toEqual([undefined, undefined, HOT, HOT]);
    expect(await errorOf('PutItem', itemOf('2', 2 * KB))).toBeUndefined();
  });

  it('serves the unused capacity of the last 300 seconds in a burst', async () => {
    maximum = { MaxWriteRequestUnits: 1 };
    await errorOf('PutItem', itemOf('1', 100));
    clock += 3_600_000;

    expect(await errorOf('PutItem', itemOf('1', 300 * KB))).toBeUndefined();
    expect(await errorOf('PutItem', itemOf('2', 100))).toBe(HOT);
  });
});

describe('the cost of a write', () => {
  const update = (sk: string, bytes: number) => ({
    ...keyOf(sk),
    UpdateExpression: 'SET v = :v',
    ExpressionAttributeValues: { ':v': S('x'.repeat(bytes)) },
  });
  const failing = { ConditionExpression: 'attribute_exists(absent)' };

  it.each<[string, number, string, () => object]>([
    ['a Put of a new item costs its size', 3, 'PutItem', () => itemOf('none', 3 * KB)],
    ['a Put over a larger item costs the old size', 5, 'PutItem', () => itemOf('5k', 3 * KB)],
    ['an Update that shrinks an item costs its old size', 5, 'UpdateItem', () => update('5k', 10)],
    ['an Update costs the size of its values', 8, 'UpdateItem', () => update('5k', 8000)],
    ['a Delete costs the size of the item', 5, 'DeleteItem', () => keyOf('5k')],
    [
      'a failed condition costs as much as a success',
      7,
      'PutItem',
      () => ({ ...itemOf('5k', 7 * KB), ...failing }),
    ],
    [
      'a transaction costs twice the sum of its writes and checks',
      2 * (5 + 1 + 3),
      'TransactWriteItems',
      () =>
        transactionOf(
          { Delete: keyOf('5k') },
          { ConditionCheck: { ...keyOf('none'), ...failing } },
          { Put: itemOf('6', 3 * KB) },
        ),
    ],
  ])('%s (%d units)', async (_, units, operation, input) => {
    await store(itemOf('5k', 5 * KB));
    await takeWrites(1000 - units);

    const error = await errorOf(operation, input());

    expect(String(error)).not.toContain('Throttling');
    expect(await errorOf('DeleteItem', keyOf('none'))).toBe(HOT);
  });
});

describe('a transaction', () => {
  it('is cancelled where it exceeds a limit, is not applied, and takes no capacity', async () => {
    await takeWrites(999);
    const put = (key: string) => ({ Put: itemOf('1', 100, key) });
    const transaction = transactionOf(put(`${pk}a`), put(pk), put(`${pk}c`));

    for (let tries = 0; tries < 2; tries++)
      expect(await errorOf('TransactWriteItems', transaction)).toBe('None,ThrottlingError,None');

    expect(await isStored('1', `${pk}a`)).toBe(false);
    expect(await errorOf('DeleteItem', keyOf('none'))).toBeUndefined();
    await takeWrites(1000, `${pk}a`);
  });

  it('of more than 1,000 units under one partition key is always cancelled', async () => {
    const sks = Array.from({ length: 90 }, (_, n) => String(n));
    await store(...sks.map((sk) => itemOf(sk, 16 * KB)));
    const deletion = transactionOf(...sks.map((sk) => ({ Delete: keyOf(sk) })));
    // 31 items of 16 KB, charged twice in a transaction, take 992 of the 1,000 units.
    const expected = sks.map((_, n) => (n < 31 ? 'None' : 'ThrottlingError')).join();

    for (const idleMs of [0, 3_600_000]) {
      clock += idleMs;
      expect(await errorOf('TransactWriteItems', deletion)).toBe(expected);
    }
    expect(await isStored('0')).toBe(true);
  });
});

it.each([
  ['throttles nothing by default', {}, []],
  ['meters its table for every caller with meterCapacity', { meterCapacity: true }, [HOT]],
])('the local cloud %s', async (_, options, expected) => {
  const gatehouse = await startGatehouse({ ...options, breaksData: true });
  const { endpoint, tableName } = gatehouse.cloud;
  const region = 'eu-central-1';
  const operator = new DynamoDBClient({
    endpoint,
    region,
    credentials: OPERATOR,
    maxAttempts: 1,
  });

  // The template allows 2,000 units per second; 30 items of 400 KB take 12,000, too many even for a
  // slow machine.
  const outcomes = await Promise.allSettled(
    Array.from({ length: 30 }, (_, n) =>
      operator.send(
        new PutItemCommand({ ...itemOf('1', 400 * KB, `HOT${n}`), TableName: tableName }),
      ),
    ),
  );

  const errors = outcomes.flatMap((each) => (each.status === 'rejected' ? each.reason.name : []));
  expect([...new Set(errors)]).toEqual(expected);
  operator.destroy();
  await gatehouse.stop();
});
