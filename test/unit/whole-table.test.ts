import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openTableScanner } from '../../lib/table/table-scanner.ts';
import { type Reply, scripted } from '../support/scripted-client.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function tableThatAnswers(...replies: Reply[]) {
  const { settings, asked, inputs } = scripted(...replies);
  const client = new DynamoDBClient(settings);
  return { whole: openTableScanner(['login', 'n'], 'Gates', client), asked, inputs };
}

const key = (sk: string) => ({ pk: 'a', sk });
const wire = (sk: string) => ({ pk: { S: 'a' }, sk: { S: sk } });
const PROJECTION = {
  ProjectionExpression: '#n0, #n1, #n2, #n3',
  ExpressionAttributeNames: { '#n0': 'pk', '#n1': 'sk', '#n2': 'login', '#n3': 'n' },
};

describe('a scan of the whole table', () => {
  it('gives page by page all items, strongly consistent and with the chosen attributes only', async () => {
    const { whole, inputs } = tableThatAnswers(
      { Items: [wire('1'), wire('2')], LastEvaluatedKey: wire('2') },
      { LastEvaluatedKey: wire('5') },
      { Items: [wire('6')] },
    );

    const pages = [];
    for await (const page of whole.scan()) pages.push(page);

    expect(pages).toEqual([[key('1'), key('2')], [], [key('6')]]);
    const request = { TableName: 'Gates', ConsistentRead: true, ...PROJECTION };
    expect(inputs()).toEqual([
      request,
      { ...request, ExclusiveStartKey: wire('2') },
      { ...request, ExclusiveStartKey: wire('5') },
    ]);
  });
});

describe('a snapshot', () => {
  const together = (...sks: string[]) => ({
    TransactItems: sks.map((sk) => ({ Get: { TableName: 'Gates', Key: wire(sk), ...PROJECTION } })),
  });
  const cancelled = { error: 'TransactionCanceledException', more: { CancellationReasons: [] } };

  it('reads several items at one moment, and returns them in the order of their keys', async () => {
    const { whole, inputs } = tableThatAnswers({ Responses: [{ Item: wire('1') }, {}, { Item: wire('3') }] });

    const items = await whole.snapshot(['1', '2', '3'].map(key));

    expect(items).toEqual([key('1'), undefined, key('3')]);
    expect(inputs()).toEqual([together('1', '2', '3')]);
  });

  it('reads one item without a transaction, strongly consistent', async () => {
    const { whole, asked } = tableThatAnswers({ Item: wire('1') }, {});

    const found = await whole.snapshot([key('1')]);
    const missing = await whole.snapshot([key('2')]);

    expect([found, missing]).toEqual([[key('1')], [undefined]]);
    expect(asked.map(({ operation, input }) => [operation, input])).toEqual([
      ['GetItem', { TableName: 'Gates', Key: wire('1'), ConsistentRead: true, ...PROJECTION }],
      ['GetItem', { TableName: 'Gates', Key: wire('2'), ConsistentRead: true, ...PROJECTION }],
    ]);
  });

  it('that meets a transaction is tried again after less than 200 ms, ten times in all', async () => {
    const timer = vi.spyOn(globalThis, 'setTimeout').mockImplementation((over: () => void) => {
      queueMicrotask(over);
      return undefined as unknown as NodeJS.Timeout;
    });
    const patient = tableThatAnswers(...Array(9).fill(cancelled), { Responses: [{ Item: wire('1') }, {}] });
    const hopeless = tableThatAnswers(...Array(11).fill(cancelled));

    const items = await patient.whole.snapshot([key('1'), key('2')]);
    const failing = hopeless.whole.snapshot([key('1'), key('2')]);

    await expect(failing).rejects.toMatchObject({ name: 'TransactionCanceledException' });
    expect(items).toEqual([key('1'), undefined]);
    expect([patient.asked.length, hopeless.asked.length]).toEqual([10, 10]);
    const waits = timer.mock.calls.map(([, milliseconds]) => milliseconds ?? 0);
    expect(waits).toHaveLength(18);
    expect(Math.max(...waits)).toBeLessThan(200);
    expect(Math.max(...waits)).toBeGreaterThan(100);
  });

  it('that fails otherwise fails at once', async () => {
    const { whole, asked } = tableThatAnswers({ error: 'AccessDeniedException' });

    await expect(whole.snapshot([key('1'), key('2')])).rejects.toMatchObject({ name: 'AccessDeniedException' });
    expect(asked).toHaveLength(1);
  });
});

describe('a range', () => {
  const request = {
    TableName: 'Gates',
    ProjectionExpression: '#pk, #sk, #bytes',
    ExpressionAttributeNames: { '#pk': 'pk', '#sk': 'sk', '#bytes': 'bytes' },
    ConsistentRead: true,
  };

  it('of a whole collection goes on from where each page ends', async () => {
    const { whole, inputs } = tableThatAnswers(
      { Items: [{ ...wire('1'), bytes: { N: '9' } }], LastEvaluatedKey: wire('1') },
      { LastEvaluatedKey: wire('2') },
      { Items: [wire('3')] },
    );

    const items = await whole.range('a');

    expect(items).toEqual([{ ...key('1'), bytes: 9 }, key('3')]);
    const all = { ...request, KeyConditionExpression: '#pk = :pk', ExpressionAttributeValues: { ':pk': { S: 'a' } } };
    expect(inputs()).toEqual([all, { ...all, ExclusiveStartKey: wire('1') }, { ...all, ExclusiveStartKey: wire('2') }]);
  });

  it('with bounds names both', async () => {
    const { whole, inputs } = tableThatAnswers({ Items: [] });

    await whole.range('a', { from: 'b', to: 'c' });

    expect(inputs()).toEqual([
      {
        ...request,
        KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ':pk': { S: 'a' }, ':from': { S: 'b' }, ':to': { S: 'c' } },
      },
    ]);
  });
});

it('is the table that the stack names', () => {
  vi.stubEnv('TABLE_NAME', '');

  expect(() => openTableScanner([])).toThrow('The environment variable TABLE_NAME is not set');
  vi.unstubAllEnvs();
});
