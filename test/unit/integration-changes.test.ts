import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createParameter } from '../../lib/integrations/create-parameter.ts';
import { deleteIntegration } from '../../lib/integrations/delete-integration.ts';
import {
  type Integration,
  PARAMETER_BYTES_MAX as MAX_BYTES,
} from '../../lib/integrations/integration.ts';
import { updateParameter } from '../../lib/integrations/update-parameter.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { asIntegrator, callerWith, gate, KEY, parameter } from '../support/doubles/stored-items.ts';
import { useFrozenClock } from '../support/doubles/time.ts';
import { useNoDataKeys } from '../support/doubles/worker-state.ts';

/* What of the changes of integrations no client sees: limits, costs and the work before a refusal. */

const NOW = Date.UTC(2026, 10, 22);
useFrozenClock(NOW, { AUDIT_DAYS: '400', VALUES_KEY: 'the-key' });
useNoDataKeys();
const send = vi.fn();
beforeEach(() => {
  send.mockReset().mockResolvedValue({
    Plaintext: Buffer.alloc(32, 7),
    CiphertextBlob: Buffer.from('wrapped'),
  });
  vi.spyOn(sharedKms(), 'send').mockImplementation(send);
});
const caller = callerWith('ROLE_USER');
const integrationName = nameOf(entityKey('INTEGRATION', 5));
const parameterName = nameOf(entityKey('CONF', KEY.id));

const SAME_KEY = {
  id: KEY.id,
  integration: { id: 5 },
  confName: 'key',
  confValue: 'v',
  confDescription: 'Of the gate',
};
const remove = (table: MemoryTable, id = 5) =>
  deleteIntegration(table, asIntegrator(table), id, undefined);
const create = (table: MemoryTable) =>
  createParameter(table, asIntegrator(table), SAME_KEY as never);
const update = (table: MemoryTable, confValue = 'v') =>
  updateParameter(table, asIntegrator(table), { ...SAME_KEY, confValue } as never, undefined);

const tableWith = (...items: Item[]) => memoryTable([...caller, ...items]);

describe('deleteIntegration', () => {
  it('reads no parameters when the id is too large to have any', async () => {
    const key = entityKey('INTEGRATION', 9_007_199_255);
    const table = tableWith({ ...gate({ id: 9_007_199_255, parameterCount: 0 }), ...key });

    await remove(table, 9_007_199_255);

    expect([table.find(key), table.queries]).toEqual([undefined, []]);
    expect(table.changed()).not.toHaveProperty(nameOf(totalKey('CONF')));
  });

  /** A table whose first lists of parameters are out of date. */
  function tableWithStaleList(staleList: Item[], parameterCount: number, staleLists: number) {
    const added = parameter({ id: 5_000_003 });
    const items = [parameter(), added].slice(0, parameterCount);
    const table = tableWith(gate({ parameterCount }), ...items);
    const { query } = table;
    table.query = async (...range) => {
      const list = await query(...range);
      return table.queries.length <= staleLists ? staleList : list;
    };
    return table;
  }

  it.each([
    ['reads a complete list once', [parameter()], 1, 0, 1],
    ['reads a list again that lacks a parameter', [parameter()], 2, 1, 2],
    ['reads it at most six times', [parameter()], 2, 5, 6],
    ['reads a list again with one too many', [parameter(), parameter({ id: 5_000_003 })], 1, 1, 2],
  ])('%s', async (_, list, parameterCount, staleLists, reads) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const table = tableWithStaleList(list, parameterCount, staleLists);

    await remove(table);

    expect(table.queries).toHaveLength(reads);
    expect(table.changed()).toMatchObject({ [nameOf(totalKey('CONF'))]: { n: 0 } });
    expect(table.calls.filter((call) => call.endsWith('CONF'))).toHaveLength(reads);
  });

  it('deletes the parameters that it finds when the count stays wrong', async () => {
    const timer = vi.spyOn(globalThis, 'setTimeout').mockImplementation((done: () => void) => {
      queueMicrotask(done);
      return undefined as unknown as NodeJS.Timeout;
    });
    const table = tableWith(gate({ parameterCount: 2 }), parameter());

    await remove(table);

    expect(table.changed()).toMatchObject({ [integrationName]: null, [parameterName]: null });
    const waits = timer.mock.calls.map(([, milliseconds = 0]) => milliseconds);
    expect(waits).toHaveLength(5);
    // They are random.
    expect(Math.max(...waits)).toBeLessThan(100);
    expect(Math.max(...waits)).toBeGreaterThan(1);
  });
});

describe('createParameter', () => {
  it.each<[string, Partial<Integration>, string | undefined]>([
    ['the last id', { parametersEver: 999_998 }, undefined],
    ['an id beyond the last', { parametersEver: 999_999 }, 'parameter-ids-used-up'],
    [
      'an id beyond the last, whatever the count',
      { parametersEver: 999_999, parameterCount: 90 },
      'parameter-ids-used-up',
    ],
    ['the last byte', { parameterBytes: MAX_BYTES - 15 }, undefined],
    ['one byte too many', { parameterBytes: MAX_BYTES - 14 }, 'parameters-too-large'],
    ['the first bytes', { parameterBytes: undefined }, undefined],
  ])('accepts or rejects %s: %j', async (_, before, code) => {
    const created = create(tableWith(gate(before)));

    if (code) await expect(created).rejects.toMatchObject({ code });
    else expect((await created).id).toBe(5_000_001 + (before.parametersEver ?? 3));
  });
});

describe('updateParameter', () => {
  it.each([
    ['for the first time', undefined, NOW, 1],
    ['again after a restart', { needsRestart: false, changes: 4 }, NOW, 5],
    [
      'again after a restart whose report left the time',
      { needsRestart: false, needsRestartSince: 7, changes: 4 },
      NOW,
      5,
    ],
    ['once more before a restart', { needsRestart: true, needsRestartSince: 7, changes: 4 }, 7, 5],
    ['once more after a change without a time', { needsRestart: true, changes: 4 }, NOW, 5],
  ])('flags the module %s', async (_, module, needsRestartSince, changes) => {
    const table = tableWith(gate({ module }), parameter());

    const { integration } = await update(table);

    const expected = { module: { needsRestart: true, needsRestartSince, changes } };
    expect(table.changed()[integrationName]).toMatchObject(expected);
    expect(integration).toMatchObject(expected);
  });

  it.each([
    ['fill the size limit', MAX_BYTES, 30, MAX_BYTES],
    ['not grow beyond it', MAX_BYTES, 31, undefined],
    ['shrink above it', MAX_BYTES + 50, 29, MAX_BYTES + 49],
    ['stay as large above it', MAX_BYTES + 50, 30, MAX_BYTES + 50],
  ])('may %s', async (_, parameterBytes, bytes, after) => {
    const table = tableWith(gate({ parameterBytes }), parameter());

    const updated = update(table, 'x'.repeat(bytes - 3 - 11));

    if (after) await expect(updated).resolves.toBeDefined();
    else await expect(updated).rejects.toMatchObject({ code: 'parameters-too-large' });
    expect(table.find(entityKey('INTEGRATION', 5))?.parameterBytes).toBe(after ?? parameterBytes);
  });
});

it.each<[string, (table: MemoryTable) => Promise<unknown>, Item[]]>([
  ['creation of a parameter in an unknown integration', create, []],
  ['update of a parameter in an unknown integration', update, [parameter()]],
  ['update of an unknown parameter', update, [gate()]],
])('requests no data key for the %s', async (_, change, items) => {
  await expect(change(tableWith(...items))).rejects.toMatchObject({ code: 'unknown-id' });
  expect(send).not.toHaveBeenCalled();
});
