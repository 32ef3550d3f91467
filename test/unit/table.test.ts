import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import { setDeadline } from '../../lib/runtime/execution-environment.ts';
import { openTable, openTableWith } from '../../lib/table/open-table.ts';
import { LIST_ITEMS_MAX } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';

/* The requests to DynamoDB, and the handling of responses that the embedded engine never sends. */

function tableReceiving(...responses: ScriptedResponse[]) {
  const { settings, requests, inputs } = scriptedClient(...responses);
  return { table: openTableWith('Gates', new DynamoDBClient(settings)), requests, inputs };
}

const key = (sk: string) => ({ pk: 'a', sk });
const wire = (sk: string) => ({ pk: { S: 'a' }, sk: { S: sk } });
const items = (length: number, from = 0) =>
  Array.from({ length }, (_, n) => wire(String(from + n)));

describe('get', () => {
  it('returns the item by a strongly consistent read', async () => {
    const { table, inputs } = tableReceiving({ Item: { ...wire('b'), n: { N: '7' } } });

    const item = await table.get(key('b'));

    expect(item).toEqual({ pk: 'a', sk: 'b', n: 7 });
    expect(inputs()).toEqual([{ TableName: 'Gates', Key: wire('b'), ConsistentRead: true }]);
  });
});

describe('getAll', () => {
  const request = (...sks: string[]) => ({
    RequestItems: { Gates: { Keys: sks.map(wire), ConsistentRead: true } },
  });
  const response = (found: string[], unprocessed: string[] = []) => ({
    Responses: { Gates: found.map(wire) },
    UnprocessedKeys:
      unprocessed.length > 0
        ? { Gates: { Keys: unprocessed.map(wire), ConsistentRead: true } }
        : {},
  });

  it('retries exactly the unprocessed keys, and keeps the items read before', async () => {
    const { table, inputs } = tableReceiving(
      response(['1'], ['2', '3', '4']),
      response([], ['2', '3', '4']),
      response(['3'], ['2']),
      response(['2']),
    );

    const found = await table.getAll(['4', '2', '1', '3'].map(key));

    expect(found).toEqual([undefined, ...['2', '1', '3'].map(key)]);
    expect(inputs()).toEqual([
      request('4', '2', '1', '3'),
      request('2', '3', '4'),
      request('2', '3', '4'),
      request('2'),
    ]);
  });

  it('fails with unavailable when keys stay unprocessed twice in a request', async () => {
    const unprocessed = response(['1'], ['2']);
    const { table, requests } = tableReceiving(unprocessed, response([], ['2']), response(['2']));
    setDeadline(10_000);

    await expect(table.getAll(['1', '2'].map(key))).rejects.toMatchObject({ code: 'unavailable' });

    expect(requests).toHaveLength(2);
  });

  it('reports the units of each call only to those who ask', async () => {
    const consumed = (units: object[]) => ({ Responses: {}, ConsumedCapacity: units });
    const responses = [consumed([{ CapacityUnits: 2.5 }]), consumed([]), { Responses: {} }];
    const { table, inputs } = tableReceiving(...responses, { Responses: {} });
    const reported: number[] = [];

    for (const _ of responses) await table.getAll([key('1')], (units) => reported.push(units));
    await table.getAll([key('1')]);

    expect(reported).toEqual([2.5, 0, 0]);
    expect(inputs().map(({ ReturnConsumedCapacity }) => ReturnConsumedCapacity)).toEqual([
      ...Array(3).fill('TOTAL'),
      undefined,
    ]);
  });

  it('waits less than 100 ms before a retry, and not after the last response', async () => {
    const waits: number[] = [];
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms: number) => {
      waits.push(ms);
      setImmediate(done);
    }) as never);

    await tableReceiving(response([], ['1']), response(['1'])).table.getAll([key('1')]);

    expect(waits.map((ms) => ms < 100)).toEqual([true]);
  });

  it('distinguishes keys that differ only in where their parts are divided', async () => {
    const keys = [
      { pk: 'a b', sk: 'c' },
      { pk: 'a', sk: 'b c' },
      { pk: 'b', sk: 'b c' },
    ];
    const item = { pk: { S: 'a' }, sk: { S: 'b c' }, n: { N: '2' } };
    const { table } = tableReceiving({ Responses: { Gates: [item] } });

    expect(await table.getAll(keys)).toEqual([undefined, { pk: 'a', sk: 'b c', n: 2 }, undefined]);
  });

  it('sends no request for no keys', async () => {
    const { table, requests } = tableReceiving();

    expect(await table.getAll([])).toEqual([]);
    expect(requests).toEqual([]);
  });
});

describe('query', () => {
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

  it('continues from the end of each page until there are no more', async () => {
    const { table, inputs } = tableReceiving(
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

  it('sends its bounds and direction, and what is left of its limit', async () => {
    const { table, inputs } = tableReceiving(
      page(items(2), { next: '1' }),
      page(items(1, 2), { next: '2' }),
    );

    await table.query('a', { from: 'b', to: 'c', backwards: true, limit: 3 });

    const bounded = {
      ...request,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: { ':pk': { S: 'a' }, ':from': { S: 'b' }, ':to': { S: 'c' } },
      ScanIndexForward: false,
    };
    expect(inputs()).toEqual([
      { ...bounded, Limit: 3 },
      { ...bounded, Limit: 1, ExclusiveStartKey: wire('1') },
    ]);
  });

  it('reports the read units of each call, including those before a failure', async () => {
    const consumed: number[] = [];
    const report = (units: number) => consumed.push(units);
    const complete = tableReceiving(
      page(items(1), { next: '1', units: 2.5 }),
      page([], { units: 1 }),
    );
    const tooLong = tableReceiving(
      page(items(1), { next: '1', units: 40 }),
      page([], { next: '2', units: 4096 }),
    );

    await complete.table.query('a', {}, report);
    await expect(tooLong.table.query('a', {}, report)).rejects.toMatchObject({
      code: 'list-too-long',
    });

    expect(consumed).toEqual([2.5, 1, 40, 4096]);
  });

  it.each([
    [
      '10,000 items',
      [page(items(5000), { next: '4999' }), page(items(5000, 5000))],
      LIST_ITEMS_MAX,
    ],
    ['16 MB', [page(items(1), { next: '0', units: 4096 }), page(items(1, 1))], 2],
    [
      'more than 16 MB on its last page',
      [page(items(1), { next: '0', units: 4000 }), page(items(1), { units: 97 })],
      2,
    ],
    ['more than 16 MB on a single page', [page(items(1), { units: 5000 })], 1],
  ])('allows %s', async (_, responses, expected) => {
    const { table } = tableReceiving(...responses);

    expect(await table.query('a')).toHaveLength(expected);
  });

  it.each([
    ['10,001 items', undefined, [page(items(10_000), { next: '9999' }), page(items(1, 10_000))]],
    [
      'more than 16 MB in several pages, with more to come',
      'page-too-deep',
      [page(items(1), { next: '0', units: 4096 }), page(items(1), { next: '1', units: 0.5 })],
    ],
  ] as const)(
    'rejects %s with the failure of the range (%s) and reads no further',
    async (_, tooLong, responses) => {
      const { table, requests } = tableReceiving(...responses);

      const reading = table.query('a', { ...(tooLong && { tooLong }) });

      await expect(reading).rejects.toMatchObject({ code: tooLong ?? 'list-too-long' });
      expect(requests).toHaveLength(responses.length);
    },
  );

  it('allows more than 16 MB when the limit is reached and reads no further', async () => {
    const { table, requests } = tableReceiving(page(items(2), { next: '1', units: 5000 }));

    expect(await table.query('a', { limit: 2 })).toHaveLength(2);
    expect(requests).toHaveLength(1);
  });

  it('rejects a limit beyond the longest list before it reads anything', async () => {
    const { table, requests } = tableReceiving({});

    await expect(
      table.query('a', { limit: 10_001, tooLong: 'audit-list-too-long' }),
    ).rejects.toMatchObject({
      code: 'audit-list-too-long',
    });
    expect(requests).toEqual([]);
    expect(await table.query('a', { limit: 10_000 })).toEqual([]);
  });
});

describe('update', () => {
  const write: Write = {
    act: 'Update',
    key: key('b'),
    update: 'ADD #n :one',
    condition: '#n < :one',
    names: { '#n': 'n' },
    values: { ':one': 1 },
    onConditionFailed: 'retry',
  };

  it('returns undefined when its condition fails', async () => {
    const { table } = tableReceiving({ error: 'ConditionalCheckFailedException' });

    expect(await table.update(write)).toBeUndefined();
  });

  it.each([{ error: 'ThrottlingException' }, { error: 'InternalServerError', status: 500 }])(
    'fails with unavailable in an outage: %j',
    async (response) => {
      const { table } = tableReceiving(response);

      await expect(table.update(write)).rejects.toMatchObject({
        name: 'Failure',
        code: 'unavailable',
        cause: { name: response.error },
      });
    },
  );

  it('rethrows any other error', async () => {
    const { table } = tableReceiving({ error: 'ValidationException' });

    await expect(table.update(write)).rejects.toMatchObject({ name: 'ValidationException' });
  });
});

describe('transact', () => {
  it('sends its token and the parts of each write, in order', async () => {
    const { table, inputs } = tableReceiving({});
    const [condition, names, values] = ['#n = :n', { '#n': 'n' }, { ':n': 1 }];
    const parts = { condition, names, values, onConditionFailed: 'retry' } as const;
    const update = 'SET #n = :n';
    const attributes = { n: 1, gone: undefined, deep: { gone: undefined }, pk: 'x', sk: 'y' };

    await table.transact(
      [
        { act: 'Put', key: key('1'), attributes },
        { act: 'Update', key: key('3'), update, ...parts },
        // DynamoDB rejects an empty condition; without it, the deletion would have none.
        { act: 'Delete', key: key('5'), condition: '', names: {}, values: {} },
        { act: 'ConditionCheck', key: key('6'), ...parts },
      ],
      'token',
    );

    const sent = {
      TableName: 'Gates',
      ConditionExpression: condition,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: { ':n': { N: '1' } },
    };
    expect(inputs()).toEqual([
      {
        ClientRequestToken: 'token',
        TransactItems: [
          { Put: { TableName: 'Gates', Item: { ...wire('1'), n: { N: '1' }, deep: { M: {} } } } },
          { Update: { ...sent, Key: wire('3'), UpdateExpression: update } },
          { Delete: { TableName: 'Gates', ConditionExpression: '', Key: wire('5') } },
          { ConditionCheck: { ...sent, Key: wire('6') } },
        ],
      },
    ]);
  });
});

it.each([
  ['get', (table: ReturnType<typeof openTableWith>) => table.get(key('1'))],
  ['getAll', (table) => table.getAll([key('1')])],
  ['query', (table) => table.query('a')],
  ['nextId', (table) => table.nextId('USER')],
  ['update', (table) => table.update({ act: 'Update', key: key('1'), update: 'ADD #n :one' })],
  ['transact', (table) => table.transact([{ act: 'Delete', key: key('1') }], 'token')],
] satisfies [string, (table: ReturnType<typeof openTableWith>) => Promise<unknown>][])(
  '%s is aborted half a second before the deadline of the request',
  async (_, call) => {
    const { table, requests } = tableReceiving({});
    setDeadline(0);

    await call(table).catch(() => undefined);

    // The SDK does not send a request that is already aborted; a request that it sends carries the
    // signal.
    expect(requests.map(({ signal }) => signal?.aborted)).not.toContain(false);
    expect(requests.map(({ signal }) => signal)).not.toContain(undefined);
  },
);

it('openTable shares one client between all tables of a function', () => {
  vi.stubEnv('TABLE_NAME', 'Gates');
  const from = vi.spyOn(DynamoDBDocumentClient, 'from');

  openTable();
  openTable();

  expect(new Set(from.mock.calls.map(([client]) => client)).size).toBe(1);
});
