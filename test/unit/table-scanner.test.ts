import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import { openTableWith } from '../../lib/table/open-table.ts';
import { openTableScanner } from '../../lib/table/table-scanner.ts';
import { set } from '../../lib/table/write.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';

function scannerReceiving(...responses: ScriptedResponse[]) {
  const { settings, requests, inputs } = scriptedClient(...responses);
  const client = new DynamoDBClient(settings);
  return { scanner: openTableScanner(['login', 'n'], 'Gates', client), requests, inputs };
}

const key = (sk: string) => ({ pk: 'a', sk });
const wire = (sk: string) => ({ pk: { S: 'a' }, sk: { S: sk } });
const PROJECTION = {
  ProjectionExpression: '#n0, #n1, #n2, #n3',
  ExpressionAttributeNames: { '#n0': 'pk', '#n1': 'sk', '#n2': 'login', '#n3': 'n' },
};

it('leaves undefined values out of what the table of the same client writes', async () => {
  const { settings, inputs } = scriptedClient({});
  const client = new DynamoDBClient(settings);
  const table = openTableWith('Gates', client);
  openTableScanner(['login'], 'Gates', client);

  await table.update(set(key('1'), { changes: [{ from: undefined }] }));

  const values = { ':set0': { L: [{ M: {} }] } };
  expect(inputs()).toMatchObject([{ ExpressionAttributeValues: values }]);
});

describe('scan', () => {
  it('fails for a page without items, which is not from DynamoDB', async () => {
    const { scanner } = scannerReceiving({}, {});

    await expect(scanner.scan().next()).rejects.toThrow('The answer is not from AWS');
    await expect(scanner.range('USER')).rejects.toThrow('The answer is not from AWS');
  });

  it('yields all items page by page, consistently and with the chosen attributes', async () => {
    const { scanner, inputs } = scannerReceiving(
      { Items: [wire('1'), wire('2')], LastEvaluatedKey: wire('2') },
      { Items: [], LastEvaluatedKey: wire('5') },
      { Items: [wire('6')] },
    );

    const pages = [];
    for await (const page of scanner.scan()) pages.push(page);

    expect(pages).toEqual([[key('1'), key('2')], [], [key('6')]]);
    const request = { TableName: 'Gates', ConsistentRead: true, ...PROJECTION };
    expect(inputs()).toEqual([
      request,
      { ...request, ExclusiveStartKey: wire('2') },
      { ...request, ExclusiveStartKey: wire('5') },
    ]);
  });
});

describe('snapshot', () => {
  const transactGet = (...sks: string[]) => ({
    TransactItems: sks.map((sk) => ({ Get: { TableName: 'Gates', Key: wire(sk), ...PROJECTION } })),
  });
  const cancelled = { error: 'TransactionCanceledException', more: { CancellationReasons: [] } };

  it('reads several items in one transaction, in the order of their keys', async () => {
    const { scanner, inputs } = scannerReceiving({
      Responses: [{ Item: wire('1') }, {}, { Item: wire('3') }],
    });

    const items = await scanner.snapshot(['1', '2', '3'].map(key));

    expect(items).toEqual([key('1'), undefined, key('3')]);
    expect(inputs()).toEqual([transactGet('1', '2', '3')]);
  });

  it('reads a single item by a strongly consistent read instead of a transaction', async () => {
    const { scanner, requests } = scannerReceiving({ Item: wire('1') }, {});

    const found = await scanner.snapshot([key('1')]);
    const missing = await scanner.snapshot([key('2')]);

    expect([found, missing]).toEqual([[key('1')], [undefined]]);
    expect(requests.map(({ operation, input }) => [operation, input])).toEqual([
      ['GetItem', { TableName: 'Gates', Key: wire('1'), ConsistentRead: true, ...PROJECTION }],
      ['GetItem', { TableName: 'Gates', Key: wire('2'), ConsistentRead: true, ...PROJECTION }],
    ]);
  });

  it('makes up to ten attempts after conflicts, less than 200 ms apart', async () => {
    const timer = vi.spyOn(globalThis, 'setTimeout').mockImplementation((done: () => void) => {
      queueMicrotask(done);
      return undefined as unknown as NodeJS.Timeout;
    });
    const { scanner, requests } = scannerReceiving(...Array(11).fill(cancelled));

    const failing = scanner.snapshot([key('1'), key('2')]);

    await expect(failing).rejects.toMatchObject({ name: 'TransactionCanceledException' });
    expect(requests).toHaveLength(10);
    const waits = timer.mock.calls.map(([, milliseconds]) => milliseconds ?? 0);
    expect(waits).toHaveLength(9);
    expect(Math.max(...waits)).toBeLessThan(200);
    expect(Math.max(...waits)).toBeGreaterThan(50);
  });
});

describe('range', () => {
  it('continues from the end of each page of a collection', async () => {
    const { scanner, inputs } = scannerReceiving(
      { Items: [{ ...wire('1'), bytes: { N: '9' } }], LastEvaluatedKey: wire('1') },
      { Items: [], LastEvaluatedKey: wire('2') },
      { Items: [wire('3')] },
    );

    const items = await scanner.range('a');

    expect(items).toEqual([{ ...key('1'), bytes: 9 }, key('3')]);
    expect(inputs().map(({ ExclusiveStartKey }) => ExclusiveStartKey)).toEqual([
      ...[undefined, wire('1'), wire('2')],
    ]);
  });

  it('passes both bounds', async () => {
    const { scanner, inputs } = scannerReceiving({ Items: [] });

    await scanner.range('a', { from: 'b', to: 'c' });

    expect(inputs()).toMatchObject([
      {
        ConsistentRead: true,
        KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ':pk': { S: 'a' }, ':from': { S: 'b' }, ':to': { S: 'c' } },
        ProjectionExpression: '#pk, #sk, #bytes',
        ExpressionAttributeNames: { '#pk': 'pk', '#sk': 'sk', '#bytes': 'bytes' },
      },
    ]);
  });
});
