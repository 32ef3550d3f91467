import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { setDeadline } from '../../lib/runtime/deadline.ts';
import { LONGEST_READ, openTable } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { type Reply, scripted } from '../support/scripted-client.ts';

/* What is asked of DynamoDB, and what is made of answers that the embedded engine never gives. */

afterEach(() => {
  vi.restoreAllMocks();
  setDeadline(Number.POSITIVE_INFINITY);
});

function tableThatAnswers(...replies: Reply[]) {
  const { settings, asked, inputs } = scripted(...replies);
  return { table: openTable('Gates', new DynamoDBClient(settings)), asked, inputs };
}

const key = (sk: string) => ({ pk: 'a', sk });
const wire = (sk: string) => ({ pk: { S: 'a' }, sk: { S: sk } });
const items = (length: number, from = 0) => Array.from({ length }, (_, n) => wire(String(from + n)));
const times = (length: number, reply: Reply) => Array.from({ length }, () => reply);

describe('reading one item', () => {
  it('is strongly consistent, and returns the item', async () => {
    const { table, inputs } = tableThatAnswers({ Item: { ...wire('b'), n: { N: '7' } } });

    const item = await table.get(key('b'));

    expect(item).toEqual({ pk: 'a', sk: 'b', n: 7 });
    expect(inputs()).toEqual([{ TableName: 'Gates', Key: wire('b'), ConsistentRead: true }]);
  });

  it('returns undefined where there is none', async () => {
    const { table } = tableThatAnswers({});

    expect(await table.get(key('b'))).toBeUndefined();
  });
});

describe('reading many items', () => {
  const request = (...sks: string[]) => ({
    RequestItems: { Gates: { Keys: sks.map(wire), ConsistentRead: true } },
  });
  const response = (found: string[], unprocessed: string[] = []) => ({
    Responses: { Gates: found.map(wire) },
    UnprocessedKeys: unprocessed.length > 0 ? { Gates: { Keys: unprocessed.map(wire), ConsistentRead: true } } : {},
  });

  it('asks again for exactly the keys that were left unprocessed, until none is, and keeps the items it has', async () => {
    const { table, inputs } = tableThatAnswers(
      response(['1'], ['2', '3', '4']),
      response([], ['2', '3', '4']),
      response(['3'], ['2']),
      response(['2']),
    );

    const found = await table.getAll(['1', '2', '3', '4'].map(key));

    expect(found).toEqual(['1', '3', '2'].map(key));
    expect(inputs()).toEqual([
      request('1', '2', '3', '4'),
      request('2', '3', '4'),
      request('2', '3', '4'),
      request('2'),
    ]);
  });

  it('waits for a moment below 50 ms before it asks again, and not after the last answer', async () => {
    const waits: number[] = [];
    const askedAtItsEnd: number[] = [];
    let asked: readonly unknown[] = [];
    const immediately = (over: () => void, milliseconds = 0) => {
      waits.push(milliseconds);
      return setImmediate(() => {
        askedAtItsEnd.push(asked.length);
        over();
      }) as unknown as NodeJS.Timeout;
    };
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(immediately);

    for (let round = 0; round < 60; round++) {
      const scriptedTable = tableThatAnswers(response([], ['1']), response(['1']));
      asked = scriptedTable.asked;
      await scriptedTable.table.getAll([key('1')]);
    }

    expect(waits).toHaveLength(60);
    expect(Math.max(...waits)).toBeLessThan(50);
    expect(Math.max(...waits)).toBeGreaterThan(35);
    expect(askedAtItsEnd).toEqual(Array(60).fill(1));
  });

  it('asks nothing for no keys', async () => {
    const { table, asked } = tableThatAnswers();

    expect(await table.getAll([])).toEqual([]);
    expect(asked).toEqual([]);
  });
});

describe('reading a collection', () => {
  const page = (found: object[], { next, units = 1 }: { next?: string; units?: number } = {}) => ({
    Items: found,
    ConsumedCapacity: { TableName: 'Gates', CapacityUnits: units },
    ...(next && { LastEvaluatedKey: wire(next) }),
  });
  const request = {
    TableName: 'Gates',
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: 'a' } },
    ConsistentRead: true,
    ScanIndexForward: true,
    ReturnConsumedCapacity: 'TOTAL',
  };

  it('goes on from where each page ends until there is no more', async () => {
    const { table, inputs } = tableThatAnswers(
      page(items(2), { next: '1' }),
      page([], { next: '7' }),
      page(items(1, 8)),
    );

    const found = await table.query('a');

    expect(found.map(({ sk }) => sk)).toEqual(['0', '1', '8']);
    expect(inputs()).toEqual([
      request,
      { ...request, ExclusiveStartKey: wire('1') },
      { ...request, ExclusiveStartKey: wire('7') },
    ]);
  });

  it('takes a page without items for an empty one', async () => {
    const { table } = tableThatAnswers({});

    expect(await table.query('a')).toEqual([]);
  });

  it('asks for no more than are wanted, on every page', async () => {
    const { table, inputs } = tableThatAnswers(page(items(3), { next: '2' }), page(items(2, 3), { next: '4' }));

    const found = await table.query('a', { limit: 5 });

    expect(found).toHaveLength(5);
    expect(inputs().map(({ Limit }) => Limit)).toEqual([5, 2]);
  });

  it('names the bounds of a range, and its direction', async () => {
    const { table, inputs } = tableThatAnswers(page([]));

    await table.query('a', { from: 'b', to: 'd', backwards: true });

    expect(inputs()).toEqual([
      {
        ...request,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ':pk': { S: 'a' }, ':from': { S: 'b' }, ':to': { S: 'd' } },
        ScanIndexForward: false,
      },
    ]);
  });

  it.each([
    ['10,000 items', [page(items(5000), { next: '4999' }), page(items(5000, 5000))], LONGEST_READ],
    ['16 MB', [page(items(1), { next: '0', units: 4096 }), page(items(1, 1))], 2],
    ['16 MB in several pages', [...times(8, page(items(1), { next: '0', units: 512 })), page(items(1, 1))], 9],
    [
      'more than 16 MB on its last page',
      [page(items(1), { next: '0', units: 4000 }), page(items(1), { units: 97 })],
      2,
    ],
    ['more than 16 MB on one page alone', [page(items(1), { units: 5000 })], 1],
  ])('of %s is allowed', async (_, replies, expected) => {
    const { table } = tableThatAnswers(...replies);

    expect(await table.query('a')).toHaveLength(expected);
  });

  it.each([
    ['10,001 items', undefined, [page(items(10_000), { next: '9999' }), page(items(1, 10_000))]],
    ['more than 16 MB, with more to come', undefined, [page(items(1), { next: '0', units: 4096.5 })]],
    [
      'more than 16 MB in several pages, with more to come',
      'page-too-deep',
      [page(items(1), { next: '0', units: 4096 }), page(items(1), { next: '1', units: 0.5 })],
    ],
  ] as const)('of %s fails as the range says (%s), and reads no further', async (_, tooLong, replies) => {
    const { table, asked } = tableThatAnswers(...replies);

    const reading = table.query('a', { ...(tooLong && { tooLong }) });

    await expect(reading).rejects.toMatchObject({ code: tooLong ?? 'list-too-long' });
    expect(asked).toHaveLength(replies.length);
  });

  it('is allowed beyond 16 MB where the limit is reached, and reads no further', async () => {
    const { table, asked } = tableThatAnswers(page(items(2), { next: '1', units: 5000 }));

    expect(await table.query('a', { limit: 2 })).toHaveLength(2);
    expect(asked).toHaveLength(1);
  });

  it('of a limit beyond the longest list fails before anything is read', async () => {
    const { table, asked } = tableThatAnswers(page([]));

    await expect(table.query('a', { limit: 10_001, tooLong: 'audit-list-too-long' })).rejects.toMatchObject({
      code: 'audit-list-too-long',
    });
    expect(asked).toEqual([]);
    expect(await table.query('a', { limit: 10_000 })).toEqual([]);
  });
});

describe('numbers', () => {
  it.each([
    [{ Item: { n: { N: '12' } } }, 12],
    [{ Item: wire('USER') }, 0],
    [{}, 0],
  ])('of a kind are read from its total: %j', async (reply, expected) => {
    const { table, inputs } = tableThatAnswers(reply);

    expect(await table.total('USER')).toBe(expected);
    expect(inputs()[0]).toMatchObject({ Key: { pk: { S: 'TOTAL' }, sk: { S: 'USER' } }, ConsistentRead: true });
  });

  it('come from the sequence of the kind, one further each time', async () => {
    const { table, inputs } = tableThatAnswers({ Attributes: { n: { N: '8' } } });

    expect(await table.nextId('INTEGRATION')).toBe(8);
    expect(inputs()).toEqual([
      {
        TableName: 'Gates',
        Key: { pk: { S: 'SEQUENCE' }, sk: { S: 'INTEGRATION' } },
        UpdateExpression: 'ADD #n :one',
        ExpressionAttributeNames: { '#n': 'n' },
        ExpressionAttributeValues: { ':one': { N: '1' } },
        ReturnValues: 'UPDATED_NEW',
      },
    ]);
  });
});

describe('an update outside of a transaction', () => {
  const write: Write = {
    act: 'Put',
    key: key('b'),
    update: 'ADD #n :one',
    condition: '#n < :one',
    names: { '#n': 'n' },
    values: { ':one': 1 },
    onConditionFailed: 'retry',
  };

  it('returns the item as it is then', async () => {
    const { table, inputs } = tableThatAnswers({ Attributes: { ...wire('b'), n: { N: '1' } } });

    expect(await table.update(write)).toEqual({ ...key('b'), n: 1 });
    expect(inputs()).toEqual([
      {
        TableName: 'Gates',
        Key: wire('b'),
        UpdateExpression: 'ADD #n :one',
        ConditionExpression: '#n < :one',
        ExpressionAttributeNames: { '#n': 'n' },
        ExpressionAttributeValues: { ':one': { N: '1' } },
        ReturnValues: 'ALL_NEW',
      },
    ]);
  });

  it('returns undefined where its condition does not hold', async () => {
    const { table } = tableThatAnswers({ error: 'ConditionalCheckFailedException' });

    expect(await table.update(write)).toBeUndefined();
  });

  it.each([{ error: 'ThrottlingException' }, { error: 'InternalServerError', status: 500 }])(
    'fails with unavailable in an outage: %j',
    async (reply) => {
      const { table } = tableThatAnswers(reply);

      await expect(table.update(write)).rejects.toMatchObject({ name: 'Failure', code: 'unavailable' });
    },
  );

  it('fails with any other error as it is', async () => {
    const { table } = tableThatAnswers({ error: 'ValidationException' });

    await expect(table.update(write)).rejects.toMatchObject({ name: 'ValidationException' });
  });
});

describe('a transaction', () => {
  it('carries its token, and each action with its own parts in the order of the writes', async () => {
    const { table, inputs } = tableThatAnswers({});
    const parts = {
      condition: '#n = :n',
      names: { '#n': 'n' },
      values: { ':n': 1 },
      onConditionFailed: 'retry',
    } as const;

    await table.transact(
      [
        {
          act: 'Put',
          key: key('1'),
          attributes: { n: 1, gone: undefined, deep: { gone: undefined }, pk: 'x', sk: 'y' },
        },
        { act: 'Put', key: key('2'), attributes: {}, ...parts },
        { act: 'Update', key: key('3'), update: 'SET #n = :n', ...parts },
        { act: 'Delete', key: key('4'), ...parts },
        { act: 'Delete', key: key('5'), names: {}, values: {} },
        { act: 'ConditionCheck', key: key('6'), ...parts },
      ],
      'token',
    );

    const common = {
      TableName: 'Gates',
      ConditionExpression: '#n = :n',
      ExpressionAttributeNames: { '#n': 'n' },
      ExpressionAttributeValues: { ':n': { N: '1' } },
    };
    expect(inputs()).toEqual([
      {
        ClientRequestToken: 'token',
        TransactItems: [
          { Put: { TableName: 'Gates', Item: { n: { N: '1' }, deep: { M: {} }, ...wire('1') } } },
          { Put: { ...common, Item: wire('2') } },
          { Update: { ...common, Key: wire('3'), UpdateExpression: 'SET #n = :n' } },
          { Delete: { ...common, Key: wire('4') } },
          { Delete: { TableName: 'Gates', Key: wire('5') } },
          { ConditionCheck: { ...common, Key: wire('6') } },
        ],
      },
    ]);
  });

  it('fails as the SDK fails, with the reasons', async () => {
    const { table } = tableThatAnswers({
      error: 'TransactionCanceledException',
      more: { CancellationReasons: [{ Code: 'ConditionalCheckFailed' }] },
    });

    await expect(table.transact([{ act: 'Delete', key: key('1') }], 'token')).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'ConditionalCheckFailed' }],
    });
  });
});

it.each([
  ['get', (table: ReturnType<typeof openTable>) => table.get(key('1'))],
  ['getAll', (table) => table.getAll([key('1')])],
  ['query', (table) => table.query('a')],
  ['nextId', (table) => table.nextId('USER')],
  ['update', (table) => table.update({ act: 'Update', key: key('1'), update: 'ADD #n :one' })],
  ['transact', (table) => table.transact([{ act: 'Delete', key: key('1') }], 'token')],
] satisfies [string, (table: ReturnType<typeof openTable>) => Promise<unknown>][])(
  '%s gives up half a second before the request must be answered',
  async (_, call) => {
    const { table, asked } = tableThatAnswers({});
    setDeadline(0);

    await call(table).catch(() => undefined);

    // The SDK does not even send what has been given up before; what it sends carries the signal.
    expect(asked.map(({ signal }) => signal?.aborted)).not.toContain(false);
    expect(asked.map(({ signal }) => signal)).not.toContain(undefined);
  },
);

it('opens one patient client for all tables of a function, and needs the name of the table', () => {
  vi.stubEnv('TABLE_NAME', '');
  const from = vi.spyOn(DynamoDBDocumentClient, 'from');

  openTable('One');
  openTable('Other');

  const [one, other] = from.mock.calls.map(([client]) => client);
  expect(other).toBe(one);
  expect(() => openTable()).toThrow('The environment variable TABLE_NAME is not set');
  vi.unstubAllEnvs();
});
