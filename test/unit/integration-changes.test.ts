import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createIntegration } from '../../lib/integrations/create-integration.ts';
import { createParameter } from '../../lib/integrations/create-parameter.ts';
import { deleteIntegration } from '../../lib/integrations/delete-integration.ts';
import { deleteParameter } from '../../lib/integrations/delete-parameter.ts';
import {
  type Integration,
  PARAMETER_BYTES_MAX as MAX_BYTES,
} from '../../lib/integrations/integration.ts';
import { parameterBytesAfter } from '../../lib/integrations/parameter-table.ts';
import { reportRestart } from '../../lib/integrations/report-restart.ts';
import { openUnseal } from '../../lib/integrations/sealed-value.ts';
import { updateIntegration } from '../../lib/integrations/update-integration.ts';
import { updateParameter } from '../../lib/integrations/update-parameter.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import { entityKey, type Kind } from '../../lib/table/keys.ts';
import { readsPartition } from '../../lib/table/read-budget.ts';
import type { Item } from '../../lib/table/table.ts';
import { put, totalKey } from '../../lib/table/write.ts';
import { useNoDataKeys } from '../support/doubles/data-keys.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { outcomeOf } from '../support/doubles/rule-outcome.ts';
import {
  asIntegrator,
  callerWith,
  GATE,
  gate,
  KEY,
  parameter,
} from '../support/doubles/stored-integration.ts';

/* The decisions on integrations and parameters, by what they change in a table. */

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
const renamed = [put(entityKey('USER', 1), callerWith('ROLE_USER', 'eve'))];

const integrationName = nameOf(entityKey('INTEGRATION', 5));
const parameterName = nameOf(entityKey('CONF', KEY.id));
/** GATE after a change that its module reads. */
const CHANGED = { revision: 9, moduleRevision: 8 };
const total = (kind: Kind, n: number) => ({
  [nameOf(totalKey(kind))]: { ...totalKey(kind), n, changes: 1 },
});
const version = (number: number) => expect.stringMatching(new RegExp(`^${number}-[\\da-f-]{36}$`));
const entry = (action: string, target: string, targetName: string, fields: string[] = []) =>
  expect.objectContaining({ actor: 'ada', actorId: 1, action, target, targetName, fields });

const INTEGRATION_FIELDS = ['name', 'shortName', 'description', 'integrationType', 'active'];
const NAMES = ['confName', 'confDescription'];

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
  updateIntegration: (table, fields, precondition) =>
    updateIntegration(
      table,
      asIntegrator(table),
      { ...SAME_GATE, ...fields } as never,
      precondition,
    ),
  reportRestart: (table, { changes = 0 }) =>
    reportRestart(table, asIntegrator(table), 5, changes as number),
  deleteIntegration: (table, { id = 5 }, precondition) =>
    deleteIntegration(table, asIntegrator(table), id as number, precondition),
  createParameter: (table, fields) =>
    createParameter(table, asIntegrator(table), { ...SAME_KEY, ...fields } as never),
  updateParameter: (table, fields, precondition) =>
    updateParameter(table, asIntegrator(table), { ...SAME_KEY, ...fields } as never, precondition),
  deleteParameter: (table, _, precondition) =>
    deleteParameter(table, asIntegrator(table), KEY.id, precondition),
} satisfies Record<
  string,
  (table: MemoryTable, fields: Fields, precondition?: string[]) => Promise<unknown>
>;
type Rule = keyof typeof RULES;
type Result<R extends Rule> = Awaited<ReturnType<(typeof RULES)[R]>>;

const run = <R extends Rule>(
  rule: R,
  table: MemoryTable,
  fields: Fields = {},
  precondition?: string[],
) => (RULES[rule] as (...request: unknown[]) => Promise<Result<R>>)(table, fields, precondition);

/** What a rule changes in a table with these items and the caller. */
async function changesOf<R extends Rule>(rule: R, items: Item[], fields: Fields = {}) {
  const table = memoryTable([caller, ...items]);
  return outcomeOf(table, run(rule, table, fields));
}

describe('createIntegration', () => {
  it('stores it without parameters and counts it', async () => {
    const { result, changed, audit } = await changesOf('createIntegration', []);

    expect(result).toEqual({
      ...GATE,
      id: 1001,
      version: version(1),
      revision: 1,
      moduleRevision: 1,
      parameterCount: 0,
      parametersEver: 0,
      parameterBytes: 0,
    });
    expect(changed).toStrictEqual({
      [nameOf(entityKey('INTEGRATION', 1001))]: { ...entityKey('INTEGRATION', 1001), ...result },
      ...total('INTEGRATION', 1),
    });
    expect(audit).toEqual(
      entry('integration.created', 'integration/1001', 'Gate', INTEGRATION_FIELDS),
    );
  });

  it('takes no id for an unauthorized caller, and only one despite retries', async () => {
    const [rejected, twice] = [memoryTable([callerWith('ROLE_ANALYST')]), memoryTable([caller])];
    twice.concurrent.push(renamed);

    await expect(run('createIntegration', rejected)).rejects.toMatchObject({ code: 'forbidden' });
    await run('createIntegration', twice);

    expect(rejected.calls).not.toContain('nextId INTEGRATION');
    expect(twice.calls.filter((call) => call === 'nextId INTEGRATION')).toHaveLength(1);
  });
});

describe('updateIntegration', () => {
  it.each([
    ['name', 'Door'],
    ['shortName', 'door'],
    ['description', 'Gates'],
    ['integrationType', 'WEBHOOK'],
    ['active', false],
  ])('stores, returns and audits a change of %s under a new version', async (field, value) => {
    const { result, changed, audit } = await changesOf('updateIntegration', [gate()], {
      [field]: value,
    });

    const expected = { ...GATE, [field]: value, version: version(4) };
    expect(result).toEqual(expected);
    expect(changed).toStrictEqual({ [integrationName]: { ...gate(), ...expected, ...CHANGED } });
    expect(audit).toEqual(entry('integration.updated', 'integration/5', 'Gate', [field]));
  });

  it('keeps an omitted description and the module; no value clears a description', async () => {
    const before = gate({ module: { needsRestart: true, changes: 3 } });
    const { description: _, ...omitted } = SAME_GATE;
    const table = memoryTable([caller, before]);

    const kept = await updateIntegration(table, asIntegrator(table), omitted as never, undefined);
    const cleared = await run('updateIntegration', table, { description: undefined });

    expect([kept.description, cleared.description]).toEqual(['Doors', undefined]);
    const stored = table.find(entityKey('INTEGRATION', 5));
    expect(stored).not.toHaveProperty('description');
    expect(stored?.module).toEqual(before.module);
  });
});

describe('reportRestart', () => {
  it('clears the flag and changes the version for the latest change', async () => {
    const module = { needsRestart: true, needsRestartSince: 1, changes: 4 };
    const { result, changed, audit } = await changesOf('reportRestart', [gate({ module })], {
      changes: 4,
    });

    const expected = { module: { needsRestart: false, changes: 4 }, version: version(4) };
    expect(result).toEqual({ ...GATE, ...expected });
    // The number of the configuration stays: the module would restart again.
    expect(changed).toStrictEqual({ [integrationName]: { ...gate(), ...expected, revision: 9 } });
    expect(audit).toEqual(entry('integration.restarted', 'integration/5', 'Gate'));
  });

  it.each([
    ['an earlier change', 3, { needsRestart: true, needsRestartSince: 1, changes: 4 }],
    ['a change that has already been reported', 4, { needsRestart: false, changes: 4 }],
    ['zero changes when there have been none', 0, undefined],
  ])('changes nothing, not even the version, for %s', async (_, changes, module) => {
    const { result, changed } = await changesOf('reportRestart', [gate({ module })], { changes });

    expect([result, changed]).toEqual([{ ...GATE, module }, {}]);
  });

  it.each([
    [5, 4, { needsRestart: true, changes: 4 }],
    [5, 4, { needsRestart: false, changes: 4 }],
    [1, 0, undefined],
  ])('rejects the report of change %i after %i changes', async (changes, max, module) => {
    const fieldErrors = [{ field: 'changes', message: 'Size', max }];

    await expect(changesOf('reportRestart', [gate({ module })], { changes })).rejects.toMatchObject(
      { code: 'invalid', fieldErrors },
    );
  });
});

describe('deleteIntegration', () => {
  it('deletes all its parameters, and none of another integration', async () => {
    const own = [5_000_000, 5_000_002, 5_999_999].map((id) => parameter({ id }));
    const others = [4_999_999, 6_000_000].map((id) => parameter({ id }));
    const items = [gate({ parameterCount: 3 }), ...own, ...others];

    const { changed, audit } = await changesOf('deleteIntegration', items);

    expect(changed).toStrictEqual({
      [integrationName]: null,
      ...Object.fromEntries(own.map((item) => [nameOf(item as never), null])),
      ...total('INTEGRATION', 0),
      ...total('CONF', 2),
    });
    expect(audit).toEqual(
      entry('integration.deleted', 'integration/5', 'Gate', INTEGRATION_FIELDS),
    );
  });

  it('does not touch the total of parameters when there are none', async () => {
    const { changed } = await changesOf('deleteIntegration', [gate({ parameterCount: 0 })]);

    expect(changed).toStrictEqual({ [integrationName]: null, ...total('INTEGRATION', 0) });
  });

  it('reads no parameters when the id is too large to have any', async () => {
    const key = entityKey('INTEGRATION', 9_007_199_255);
    const table = memoryTable([
      caller,
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
    const table = memoryTable([caller, gate({ parameterCount }), ...items]);
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
    ['starts again with a list of the right length', [parameter({ id: 5_000_003 })], 1, 1, 2],
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
    const { changed } = await changesOf('deleteIntegration', [
      gate({ parameterCount: 2 }),
      parameter(),
    ]);

    expect(changed).toMatchObject({ [integrationName]: null, [parameterName]: null });
    const waits = timer.mock.calls.map(([, milliseconds]) => milliseconds ?? 0);
    expect(waits).toHaveLength(5);
    expect(Math.max(...waits)).toBeLessThan(100);
    // The waits are random.
    expect(Math.max(...waits)).toBeGreaterThan(1);
  });

  it.each([
    ['not-found', { id: 6 }],
    ['version-changed', {}],
  ])('reads no parameters before it fails with %s', async (code, fields) => {
    const table = memoryTable([caller, gate(), parameter()]);

    await expect(run('deleteIntegration', table, fields, ['x'])).rejects.toMatchObject({ code });
    expect(table.queries).toEqual([]);
  });
});

describe('createParameter', () => {
  it('stores it sealed under the next id and updates the counters of its integration', async () => {
    const { result, changed, audit } = await changesOf('createParameter', [gate(), parameter()], {
      confName: 'né',
      confValue: 'sécret',
      confDescription: 'dé',
    });

    const id = 5_000_004;
    const name = nameOf(entityKey('CONF', id));
    const visible = { id, confName: 'né', confDescription: 'dé', version: version(1) };
    expect(result).toEqual({ ...visible, integration: GATE, confValue: 'sécret' });
    const confValue = changed[name]?.confValue as Uint8Array;
    expect(changed).toStrictEqual({
      [name]: { ...entityKey('CONF', id), ...visible, confValue, bytes: 3 + 7 + 3 },
      [integrationName]: gate({
        parameterCount: 2,
        parametersEver: 4,
        parameterBytes: 113,
        ...CHANGED,
      }),
      ...total('CONF', 2),
    });
    expect(await openUnseal()(confValue, id)).toBe('sécret');
    expect(audit).toEqual(entry('parameter.created', `parameter/${id}`, 'né', NAMES));
    expect(JSON.stringify(audit)).not.toContain('sécret');
    expect(audit?.integrationName).toBe('Gate');
  });

  it.each<[string, Partial<Integration>, string | undefined]>([
    ['the 90th parameter', { parameterCount: 89 }, undefined],
    ['the 91st parameter', { parameterCount: 90 }, 'too-many-parameters'],
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
    ['confName', 'name', ['confName', 'confValue']],
    ['confDescription', 'Of a door', ['confDescription', 'confValue']],
    ['confDescription', undefined, ['confDescription', 'confValue']],
    ['confValue', 'another', ['confValue']],
  ])(
    'stores %s as %s under a new version and audits it together with the value',
    async (field, value, fields) => {
      const { result, changed, audit } = await changesOf('updateParameter', [gate(), parameter()], {
        [field]: value,
      });

      const visible: Fields = { ...SAME_KEY, [field]: value };
      const { confName, confValue, confDescription = '' } = visible as Record<string, string>;
      const bytes = Buffer.byteLength(`${confName}${confValue}${confDescription}`);
      const stored = changed[parameterName];
      expect(result).toEqual({
        ...visible,
        version: version(3),
        integration: expect.objectContaining({ id: 5, version: version(4) }),
      });
      expect(stored).toEqual({
        ...parameter(),
        ...(field !== 'confValue' && { [field]: value }),
        confValue: expect.any(Uint8Array),
        bytes,
        version: result.version,
      });
      expect(await openUnseal()(stored?.confValue as Uint8Array, KEY.id)).toBe(confValue);
      expect(changed[integrationName]).toMatchObject({ parameterBytes: 100 - 30 + bytes });
      expect(audit).toEqual(entry('parameter.updated', `parameter/${KEY.id}`, 'key', fields));
    },
  );

  it('keeps an omitted description', async () => {
    const table = memoryTable([caller, gate(), parameter()]);
    const { confDescription: _, ...omitted } = SAME_KEY;

    const { result, changed, audit } = await outcomeOf(
      table,
      updateParameter(table, asIntegrator(table), omitted as never, undefined),
    );

    expect([result.confDescription, changed[parameterName]?.bytes]).toEqual(['Of the gate', 15]);
    expect(audit?.fields).toEqual(['confValue']);
  });

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
    expect(changed[integrationName]).toEqual(
      expect.objectContaining({ ...expected, ...CHANGED, version: version(4) }),
    );
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

describe('deleteParameter', () => {
  it('updates the counters of its integration, but neither version nor module', async () => {
    const module = { needsRestart: true, changes: 2 };
    const items = [gate({ module }), parameter()];

    const { changed, audit } = await changesOf('deleteParameter', items);

    expect(changed).toStrictEqual({
      [integrationName]: gate({ module, parameterCount: 0, parameterBytes: 70, ...CHANGED }),
      [parameterName]: null,
      ...total('CONF', 0),
    });
    expect(audit).toEqual(entry('parameter.deleted', `parameter/${KEY.id}`, 'key', NAMES));
  });
});

it('the size of parameters counts as zero where none was recorded', () => {
  expect(parameterBytesAfter({ ...GATE, parameterBytes: undefined }, {}, { bytes: 5 })).toBe(5);
  expect(parameterBytesAfter(GATE, {}, undefined)).toBe(100);
});

describe('every change', () => {
  it.each<[Rule]>([['deleteIntegration'], ['updateParameter'], ['deleteParameter']])(
    'that reads parameters is rejected while the read budget is spent: %s',
    async (rule) => {
      const window = String(Math.floor(NOW / 8000));
      const spent = { pk: readsPartition(caller.id as number), sk: window, n: 4096 };

      await expect(changesOf(rule, [gate(), parameter(), spent])).rejects.toMatchObject({
        code: 'read-budget-spent',
      });
    },
  );

  it.each<[Rule]>([['deleteIntegration'], ['updateParameter'], ['deleteParameter']])(
    'that reads large parameters charges the caller for them: %s',
    async (rule) => {
      const table = memoryTable([caller, gate(), parameter()]);
      const { getAll, query } = table;
      table.getAll = (keys, onConsumed) => {
        onConsumed?.(20);
        return getAll(keys);
      };
      table.query = (pk, range, onConsumed) => {
        onConsumed?.(20);
        return query(pk, range);
      };

      await run(rule, table);

      const charges = table.updates.filter(({ key }) => key.pk.startsWith('READS#'));
      expect(charges.map(({ values }) => values?.[':amount'])).toEqual([20]);
    },
  );

  it.each<[Rule, string, Item[], Fields?]>([
    ['updateIntegration', 'unknown-id', []],
    ['reportRestart', 'not-found', []],
    ['deleteIntegration', 'not-found', []],
    ['createParameter', 'unknown-id', []],
    ['updateParameter', 'unknown-id', [parameter()]],
    ['updateParameter', 'unknown-id', [gate()]],
    ['updateParameter', 'unknown-id', [gate(), parameter({ id: 6_000_001 })], { id: 6_000_001 }],
    ['deleteParameter', 'not-found', [parameter()]],
    ['deleteParameter', 'not-found', [gate()]],
  ])('of an unknown entity is rejected: %s with %s', async (rule, code, items, fields) => {
    await expect(changesOf(rule, items, fields)).rejects.toMatchObject({ code });
    // No data key is requested unless the integration and the parameter exist.
    expect(send).toHaveBeenCalledTimes(fields ? 1 : 0);
  });

  it.each<[Rule, Item, string]>([
    ['createParameter', gate(), 'unknown-id'],
    ['updateParameter', gate(), 'unknown-id'],
    ['updateParameter', parameter(), 'unknown-id'],
    ['deleteParameter', gate(), 'not-found'],
  ])('that races the deletion of what it needs is rejected: %s', async (rule, { pk, sk }, code) => {
    const table = memoryTable([caller, gate(), parameter()]);
    table.concurrent.push([{ act: 'Delete', key: { pk, sk } }]);

    await expect(run(rule, table)).rejects.toMatchObject({ code });
    expect(table.transactions).toEqual([]);
  });

  it.each(Object.keys(RULES) as Rule[])('is refused to another role: %s', async (rule) => {
    // Whether or not the entity exists, which a caller without the role must not learn.
    for (const items of [[gate(), parameter()], []]) {
      const table = memoryTable([callerWith('ROLE_ANALYST'), ...items]);

      await expect(run(rule, table)).rejects.toMatchObject({ code: 'forbidden' });
      expect([table.changed(), send.mock.calls]).toEqual([{}, []]);
    }
  });

  it.each<[Rule, string]>([
    ['updateIntegration', '3-abc'],
    ['deleteIntegration', '3-abc'],
    ['updateParameter', '2-xyz'],
    ['deleteParameter', '2-xyz'],
  ])('requires the precondition: %s', async (rule, current) => {
    const table = memoryTable([caller, gate(), parameter()]);

    for (const stale of ['9-abc', current === '3-abc' ? '2-xyz' : '3-abc'])
      await expect(run(rule, table, {}, [stale])).rejects.toMatchObject({
        code: 'version-changed',
      });
    expect(table.changed()).toEqual({});
    await run(rule, table, {}, [current]);
    expect(table.transactions).toHaveLength(1);
  });

  it.each<Rule>(['createParameter', 'updateParameter'])(
    'requests one data key despite retries: %s',
    async (rule) => {
      const table = memoryTable([caller, gate(), parameter()]);
      table.concurrent.push(renamed);

      await run(rule, table);

      expect(send).toHaveBeenCalledTimes(1);
    },
  );

  it.each<Rule>([
    'updateIntegration',
    'reportRestart',
    'createParameter',
    'updateParameter',
    'deleteParameter',
  ])('that races a change of the integration is decided again: %s', async (rule) => {
    const module = { needsRestart: true, changes: 0 };
    const table = memoryTable([caller, gate({ module }), parameter()]);
    table.concurrent.push([put(entityKey('INTEGRATION', 5), gate({ module, revision: 20 }))]);

    await run(rule, table);

    expect(table.find(entityKey('INTEGRATION', 5))).toMatchObject({ revision: 21 });
  });

  it.each<[Rule, Item]>([
    ['deleteIntegration', gate({ revision: 9, version: '4-abc' })],
    ['updateParameter', parameter({ version: '3-xyz' })],
    ['deleteParameter', parameter({ version: '3-xyz' })],
  ])(
    'that races a change of its entity is rejected with its precondition: %s',
    async (rule, item) => {
      const table = memoryTable([caller, gate(), parameter()]);
      table.concurrent.push([put(item as never, item)]);

      await expect(run(rule, table, {}, ['3-abc', '2-xyz'])).rejects.toMatchObject({
        code: 'version-changed',
      });
    },
  );

  it.each<[Rule, Item]>([
    ['createIntegration', { ...gate(), ...entityKey('INTEGRATION', 1001) }],
    ['createParameter', parameter({ id: 5_000_004 })],
  ])('never replaces an entity: %s', async (rule, item) => {
    const table = memoryTable([caller, gate(), parameter()]);
    table.concurrent.push([put(item as never, item)]);

    await expect(run(rule, table)).rejects.toThrow('never holds');
    expect(table.find(item as never)).toEqual(item);
  });
});
