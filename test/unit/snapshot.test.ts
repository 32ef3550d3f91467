import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import { setDeadline } from '../../lib/runtime/execution-environment.ts';
import { snapshotsOf } from '../../lib/table/snapshot.ts';
import { type ScriptedResponse, scriptedClient } from '../support/doubles/scripted-client.ts';

/* The conflicts that the embedded engine never has. */

function tableReceiving(...responses: ScriptedResponse[]) {
  const { settings, requests, inputs } = scriptedClient(...responses);
  const snapshot = snapshotsOf('Gates', new DynamoDBClient(settings));
  return { snapshot, requests, inputs };
}

const key = (sk: string) => ({ pk: 'a', sk });
const ignore = () => undefined;
const wire = (sk: string) => ({ pk: { S: 'a' }, sk: { S: sk } });

describe('snapshot', () => {
  const cancelled = { error: 'TransactionCanceledException' };

  it('returns items as of one moment in the order of their keys', async () => {
    const ConsumedCapacity = [{ TableName: 'Gates', CapacityUnits: 4 }];
    const read = { Responses: [{ Item: wire('1') }, {}], ConsumedCapacity };
    const { snapshot, requests, inputs } = tableReceiving(cancelled, read);
    const consumed: number[] = [];

    expect(await snapshot([key('1'), key('2')], (units) => consumed.push(units))).toEqual([
      key('1'),
      undefined,
    ]);

    expect(requests.map(({ operation }) => operation)).toEqual([
      'TransactGetItems',
      'TransactGetItems',
    ]);
    expect(inputs()[1]).toEqual({
      TransactItems: ['1', '2'].map((sk) => ({ Get: { TableName: 'Gates', Key: wire(sk) } })),
      ReturnConsumedCapacity: 'TOTAL',
    });
    expect(consumed).toEqual([4]);
  });

  it('fails with unavailable when the items keep changing', async () => {
    vi.spyOn(globalThis, 'setTimeout').mockImplementation((done: () => void) => {
      queueMicrotask(done);
      return undefined as unknown as NodeJS.Timeout;
    });
    const { snapshot, requests } = tableReceiving(...Array(11).fill(cancelled));
    setDeadline(10_000);

    await expect(snapshot([key('1')], ignore)).rejects.toMatchObject({
      code: 'unavailable',
      cause: { name: cancelled.error },
    });
    expect(requests).toHaveLength(10);
  });

  it('fails with unavailable when the items are throttled twice in a request', async () => {
    const throttled = {
      ...cancelled,
      more: { CancellationReasons: [{ Code: 'ThrottlingError' }] },
    };
    const { snapshot, requests } = tableReceiving(...Array(11).fill(throttled));
    setDeadline(10_000);
    const startedAt = Date.now();

    await expect(snapshot([key('1')], ignore)).rejects.toMatchObject({ code: 'unavailable' });

    expect(requests).toHaveLength(2);
    expect(Date.now() - startedAt).toBeLessThan(1000);
  });

  it('rethrows any other error, and ends with the deadline', async () => {
    const { snapshot } = tableReceiving({ error: 'AccessDeniedException' }, { Responses: [] });

    await expect(snapshot([key('1')], ignore)).rejects.toMatchObject({
      name: 'AccessDeniedException',
    });
    setDeadline(0);
    await expect(snapshot([key('1')], ignore)).rejects.toMatchObject({ name: 'AbortError' });
  });
});
