import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createIntegration } from '../../lib/integrations/create-integration.ts';
import { createParameter } from '../../lib/integrations/create-parameter.ts';
import { deleteIntegration } from '../../lib/integrations/delete-integration.ts';
import { deleteParameter } from '../../lib/integrations/delete-parameter.ts';
import {
  type Integration,
  PARAMETER_BYTES_MAX as MAX_BYTES,
} from '../../lib/integrations/integration.ts';
import { updateParameter } from '../../lib/integrations/update-parameter.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import { totalKey } from '../../lib/table/item-kind.ts';
import { entityKey, type Kind } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { put } from '../../lib/table/write.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import {
  asIntegrator,
  callerWith,
  GATE,
  gate,
  KEY,
  parameter,
} from '../support/doubles/stored-items.ts';
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
afterEach(() => vi.restoreAllMocks());

const caller = callerWith('ROLE_USER');
/** Renames the caller, so that the transaction meets a stale condition and is decided again. */
const renamed = [put(entityKey('USER', 1), { ...callerWith('ROLE_USER', 'eve')[0] })];

const integrationName = nameOf(entityKey('INTEGRATION', 5));
const parameterName = nameOf(entityKey('CONF', KEY.id));
const total = (kind: Kind, n: number) => ({
  [nameOf(totalKey(kind))]: { ...totalKey(kind), n, changes: 1 },
});

type Fields = Record<string, unknown>;
const { id, name, shortName, description, integrationType, active } = GATE;
const SAME_GATE: Fields = { id, name, shortName, description, integrationType, active };
const SAME_KEY: Fields = {
  id: KEY.id,
  integration: { id: 5 },
  confName: 'key',
  confValue: 'v',
  confDescription: 'Of the gate',
};
/** The rules by name, as a valid request that is completed by these fields. */
const RULES = {
  createIntegration: (table, fields) =>
    createIntegration(table, asIntegrator(table), { ...SAME_GATE, ...fields } as never),
  deleteIntegration: (table, { id = 5 }) =>
    deleteIntegration(table, asIntegrator(table), id as number, undefined),
  createParameter: (table, fields) =>
    createParameter(table, asIntegrator(table), { ...SAME_KEY, ...fields } as never),
  updateParameter: (table, fields) =>
    updateParameter(table, asIntegrator(table), { ...SAME_KEY, ...fields } as never, undefined),
  deleteParameter: (table) => deleteParameter(table, asIntegrator(table), KEY.id, undefined),
} satisfies Record<string, (table: MemoryTable, fields: Fields) => Promise<unknown>>;
type Rule = keyof typeof RULES;
type Result<R extends Rule> = Awaited<ReturnType<(typeof RULES)[R]>>;

const run = <R extends Rule>(rule: R, table: MemoryTable, fields: Fields = {}) =>
  RULES[rule](table, fields) as Promise<Result<R>>;

/** The result of a rule, the items that it changed by both keys, and its audit entry. */
async function outcomeOf<T>(table: MemoryTable, rule: Promise<T>) {
  const result = await rule;
  const items = Object.entries(table.changed());
  const isAudit = ([name]: (typeof items)[number]) => name.startsWith('AUDIT#');
  return {
    result,
    changed: Object.fromEntries(items.filter((item) => !isAudit(item))),
    audit: items.find(isAudit)?.[1],
  };
}

/** What a rule changes in a table with these items and the caller. */
async function changesOf<R extends Rule>(rule: R, items: Item[], fields: Fields = {}) {
  const table = memoryTable([...caller, ...items]);
  return outcomeOf(table, run(rule, table, fields));
}

it.each<Rule>(['createIntegration', 'createParameter', 'updateParameter'])(
  'takes one id and one data key, also if it starts again: %s',
  async (rule) => {
    const table = memoryTable([...caller, gate(), parameter()]);
    table.concurrent.push(renamed);

    await run(rule, table);

    const isCreated = rule === 'createIntegration';
    expect(table.calls.filter((call) => call.startsWith('nextId'))).toHaveLength(Number(isCreated));
    expect(send).toHaveBeenCalledTimes(isCreated ? 0 : 1);
  },
);

describe('deleteIntegration', () => {
  it('reads no parameters when the id is too large to have any', async () => {
    const key = entityKey('INTEGRATION', 9_007_199_255);
    const table = memoryTable([
      ...caller,
      { ...gate({ id: 9_007_199_255, parameterCount: 0 }), ...key },
    ]);

    await run('deleteIntegration', table, { id: 9_007_199_255 });

    expect([table.find(key), table.queries]).toEqual([undefined, []]);
    expect(table.changed()).not.toHaveProperty(nameOf(totalKey('CONF')));
  });

  /** A table whose first lists of parameters are out of date. */
  function tableWithStaleList(staleList: Item[], parameterCount: number, staleLists: number) {
    const added = parameter({ id: 5_000_003 });
    const items = [parameter(), added].slice(0, parameterCount);
    const table = memoryTable([...caller, gate({ parameterCount }), ...items]);
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

    const { changed } = await outcomeOf(table, run('deleteIntegration', table));

    expect(table.queries).toHaveLength(reads);
    expect(changed).toMatchObject(total('CONF', 0));
    expect(table.calls.filter((call) => call.endsWith('CONF'))).toHaveLength(reads);
  });

  it('deletes the parameters that it finds when the count stays wrong', async () => {
    const timer = vi.spyOn(globalThis, 'setTimeout').mockImplementation((done: () => void) => {
      queueMicrotask(done);
      return undefined as unknown as NodeJS.Timeout;
    });
    const items = [gate({ parameterCount: 2 }), parameter()];
    const { changed } = await changesOf('deleteIntegration', items);

    expect(changed).toMatchObject({ [integrationName]: null, [parameterName]: null });
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
    const created = changesOf('createParameter', [gate(before)]);

    if (code) await expect(created).rejects.toMatchObject({ code });
    else expect((await created).result.id).toBe(5_000_001 + (before.parametersEver ?? 3));
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
    const { result, changed } = await changesOf('updateParameter', [gate({ module }), parameter()]);

    const expected = { module: { needsRestart: true, needsRestartSince, changes } };
    expect(changed[integrationName]).toMatchObject(expected);
    expect(result.integration).toMatchObject(expected);
  });

  it.each([
    ['fill the size limit', MAX_BYTES, 30, MAX_BYTES],
    ['not grow beyond it', MAX_BYTES, 31, undefined],
    ['shrink above it', MAX_BYTES + 50, 29, MAX_BYTES + 49],
    ['stay as large above it', MAX_BYTES + 50, 30, MAX_BYTES + 50],
  ])('may %s', async (_, parameterBytes, bytes, after) => {
    const updated = changesOf('updateParameter', [gate({ parameterBytes }), parameter()], {
      confValue: 'x'.repeat(bytes - 3 - 11),
    });

    if (after)
      expect((await updated).changed[integrationName]).toMatchObject({ parameterBytes: after });
    else await expect(updated).rejects.toMatchObject({ code: 'parameters-too-large' });
  });
});

it.each<[Rule, string, Item[], Fields?]>([
  ['createParameter', 'unknown-id', []],
  ['updateParameter', 'unknown-id', [parameter()]],
  ['updateParameter', 'unknown-id', [gate()]],
  ['updateParameter', 'unknown-id', [gate(), parameter({ id: 6_000_001 })], { id: 6_000_001 }],
  ['deleteParameter', 'not-found', [parameter()]],
  ['deleteParameter', 'not-found', [gate()]],
])('requests no data key for an unknown entity: %s, %s', async (rule, code, items, fields) => {
  await expect(changesOf(rule, items, fields)).rejects.toMatchObject({ code });
  // Of two entities that exist, only the decision knows that they do not belong together.
  expect(send).toHaveBeenCalledTimes(fields ? 1 : 0);
});
