import { createCipheriv, createDecipheriv } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { authorize } from '../../lib/authorization/authorize.ts';
import type { Caller } from '../../lib/contract/caller.ts';
import type { Role } from '../../lib/contract/contract.ts';
import type { ListQuery } from '../../lib/contract/list-query.ts';
import { createIntegration } from '../../lib/integrations/create-integration.ts';
import { createParameter } from '../../lib/integrations/create-parameter.ts';
import { deleteIntegration } from '../../lib/integrations/delete-integration.ts';
import { deleteParameter } from '../../lib/integrations/delete-parameter.ts';
import {
  type Integration,
  MAX_PARAMETER_BYTES,
  MAX_PARAMETERS,
} from '../../lib/integrations/integration.ts';
import type {
  IntegrationChange,
  NewIntegration,
} from '../../lib/integrations/integration-contracts.ts';
import { UpdateIntegration } from '../../lib/integrations/integration-contracts.ts';
import type { NewParameter, ParameterChange } from '../../lib/integrations/parameter-contracts.ts';
import {
  bytesOf,
  parameterBytesAfter,
  type StoredParameter,
} from '../../lib/integrations/parameter-table.ts';
import {
  countParameters,
  readParameter,
  readParameters,
} from '../../lib/integrations/read-parameters.ts';
import { reportRestart } from '../../lib/integrations/report-restart.ts';
import { openSeal, unseal } from '../../lib/integrations/sealed-value.ts';
import { updateIntegration } from '../../lib/integrations/update-integration.ts';
import { updateParameter } from '../../lib/integrations/update-parameter.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import { entityKey, totalKey } from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import { put, type Write } from '../../lib/table/write.ts';
import { useNoDataKeys } from '../support/doubles/data-keys.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { overlapCounter } from '../support/doubles/overlap.ts';

const CALLER: Caller = { id: 1, roles: [], accountStamp: undefined, jti: 'j', passwordChanges: 0 };
const integrator = (table: Table) => authorize(table, CALLER, UpdateIntegration.access);
const callerWith = (...authorities: Role[]): Item => ({
  ...entityKey('USER', 1),
  id: 1,
  login: 'ada',
  activated: true,
  passwordChanges: 0,
  authorities,
});
const caller = callerWith('ROLE_USER');
const analyst = callerWith('ROLE_ANALYST');

const GATE: Integration = {
  id: 5,
  name: 'Gate',
  shortName: 'gate',
  description: 'Doors',
  integrationType: 'API',
  active: true,
  parameterCount: 2,
  parametersEver: 3,
  parameterBytes: 100,
  version: '3-abc',
  revision: 8,
};
const KEY: StoredParameter = {
  id: 5_000_002,
  confName: 'key',
  confValue: Buffer.from([1]),
  confDescription: 'Of the gate',
  bytes: 30,
  version: '2-xyz',
};
const integrationItem = (fields: Partial<Integration> = {}): Item => ({
  ...entityKey('INTEGRATION', 5),
  ...GATE,
  ...fields,
});
const parameterItem = (fields: Partial<StoredParameter> = {}): Item => {
  const parameter = { ...KEY, ...fields };
  return { ...entityKey('CONF', parameter.id), ...parameter };
};

/** The calls to KMS, whose double returns the same data key each time. */
const keyCalls: { name: string; input: Record<string, unknown> }[] = [];
const DATA_KEY = Buffer.alloc(32, 7);
useNoDataKeys();
beforeEach(() => {
  keyCalls.length = 0;
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('VALUES_KEY', 'the-key');
  vi.stubEnv('AUDIT_DAYS', '400');
  vi.spyOn(sharedKms(), 'send').mockImplementation(async (command: { input: unknown }) => {
    keyCalls.push({
      name: command.constructor.name,
      input: command.input as Record<string, unknown>,
    });
    return { Plaintext: DATA_KEY, CiphertextBlob: Buffer.from('wrapped') };
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/**
 * The writes of the one transaction between the caller's condition and the audit entry, and that
 * entry.
 */
function changesOf({ transactions }: MemoryTable): {
  writes: readonly Write[];
  audit: Write['attributes'];
} {
  expect(transactions).toHaveLength(1);
  const [check, ...writes] = transactions[0] ?? [];
  expect(check).toMatchObject({ act: 'ConditionCheck', key: entityKey('USER', 1) });
  return { writes: writes.slice(0, -1), audit: writes.at(-1)?.attributes };
}
const outline = (writes: readonly Write[]) =>
  writes.map(({ act, key, onConditionFailed }) =>
    [act, key.pk, ...(onConditionFailed ? [onConditionFailed] : [])].join(' '),
  );
const integrationIn = (table: MemoryTable) => table.find(entityKey('INTEGRATION', 5));
const totalOf = (kind: 'INTEGRATION' | 'CONF', amount: number) =>
  expect.objectContaining({
    act: 'Update',
    key: totalKey(kind),
    values: { ':amount': amount, ':one': 1 },
  });
const byAda = (action: string, target: string, targetName: string, fields: string[] = []) => ({
  actor: 'ada',
  actorId: 1,
  action,
  target,
  targetName,
  fields,
});
const revisionIs = { condition: '#revision = :revision', onConditionFailed: 'retry' };

/** A table whose first transaction fails because of a concurrent change. */
function contended(...items: Item[]): MemoryTable {
  const table = memoryTable(items);
  const { transact } = table;
  let tries = 0;
  table.transact = async (writes, token) => {
    if (++tries > 1) return transact(writes, token);
    const CancellationReasons = [{ Code: 'ConditionalCheckFailed' }];
    throw Object.assign(new Error(), { name: 'TransactionCanceledException', CancellationReasons });
  };
  return table;
}

describe('createIntegration', () => {
  const requested: NewIntegration = {
    id: undefined,
    name: 'Tap',
    shortName: 'tap',
    description: 'Wires',
    integrationType: 'CLOUD',
    active: false,
  };

  it('stores it without parameters and increments the total', async () => {
    const table = memoryTable([caller]);

    const integration = await createIntegration(table, integrator(table), requested);

    const { writes, audit } = changesOf(table);
    expect(integration).toEqual({
      id: 1001,
      name: 'Tap',
      shortName: 'tap',
      description: 'Wires',
      integrationType: 'CLOUD',
      active: false,
      parameterCount: 0,
      parametersEver: 0,
      parameterBytes: 0,
      version: expect.stringMatching(/^1-/),
      revision: 1,
    });
    expect(writes).toEqual([
      {
        act: 'Put',
        key: entityKey('INTEGRATION', 1001),
        attributes: integration,
        condition: 'attribute_not_exists(pk)',
        onConditionFailed: 'retry',
      },
      totalOf('INTEGRATION', 1),
    ]);
    expect(audit).toMatchObject(byAda('integration.created', 'integration/1001', 'Tap'));
  });

  it('stores no description when it is cleared', async () => {
    const table = memoryTable([caller]);
    const integration = await createIntegration(table, integrator(table), {
      ...requested,
      description: undefined,
    });

    expect(integration.description).toBeUndefined();
  });

  it('takes no id for an unauthorized caller, and only one despite retries', async () => {
    const rejected = memoryTable([analyst]);
    const twice = contended(caller);

    await expect(
      createIntegration(rejected, integrator(rejected), requested),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });
    await createIntegration(twice, integrator(twice), requested);

    expect(rejected.calls).not.toContain('nextId INTEGRATION');
    expect(twice.calls.filter((call) => call === 'nextId INTEGRATION')).toHaveLength(1);
  });
});

describe('updateIntegration', () => {
  const SAME: IntegrationChange = {
    id: 5,
    name: 'Gate',
    shortName: 'gate',
    description: 'Doors',
    integrationType: 'API',
    active: true,
  };
  const update = async (
    fields: Partial<IntegrationChange>,
    precondition?: string[],
    before: Partial<Integration> = {},
    others: Partial<IntegrationChange> = SAME,
  ) => {
    const table = memoryTable([caller, integrationItem(before)]);
    const changes = { ...others, ...fields } as IntegrationChange;
    const after = await updateIntegration(table, integrator(table), changes, precondition);
    return { after, stored: integrationIn(table), ...changesOf(table) };
  };

  it.each([
    ['name', 'Door'],
    ['shortName', 'door'],
    ['description', 'Gates'],
    ['integrationType', 'WEBHOOK'],
    ['active', false],
  ])('stores, returns and audits a change of %s under a new version', async (field, value) => {
    const { after, stored, writes, audit } = await update({ [field]: value });

    const expected = {
      ...GATE,
      [field]: value,
      version: expect.stringMatching(/^4-[\da-f-]{36}$/),
    };
    expect(after).toEqual(expected);
    expect(stored).toEqual({ ...entityKey('INTEGRATION', 5), ...expected, revision: 9 });
    expect(writes).toHaveLength(1);
    expect(writes[0]).toMatchObject({
      ...revisionIs,
      act: 'Update',
      key: entityKey('INTEGRATION', 5),
    });
    expect(writes[0]?.values).toMatchObject({ ':revision': 8 });
    expect(audit).toMatchObject(byAda('integration.updated', 'integration/5', 'Gate', [field]));
  });

  it('audits every changed field', async () => {
    const { audit } = await update({
      name: 'n',
      shortName: 's',
      description: 'd',
      integrationType: 'CLOUD',
      active: false,
    });

    expect(audit?.fields).toEqual([
      'name',
      'shortName',
      'description',
      'integrationType',
      'active',
    ]);
  });

  it('assigns a new version even when nothing changes', async () => {
    const { after, audit } = await update({});

    expect([after.version, audit?.fields]).toEqual([expect.stringMatching(/^4-/), []]);
  });

  it('keeps an omitted description, clears one that is present but undefined, and keeps the module', async () => {
    const module = { needsRestart: true, changes: 3 };
    const { description: _, ...withoutDescription } = SAME;

    const kept = await update(withoutDescription, undefined, { module }, {});
    const cleared = await update({ description: undefined }, undefined, { module });

    expect([kept.after.description, kept.stored?.description]).toEqual(['Doors', 'Doors']);
    expect(cleared.after.description).toBeUndefined();
    expect(cleared.stored).not.toHaveProperty('description');
    expect(cleared.audit?.fields).toEqual(['description']);
    expect([kept.stored?.module, cleared.after.module]).toEqual([module, module]);
  });

  it('rejects an unknown integration and an unmet precondition', async () => {
    const table = memoryTable([caller, integrationItem()]);
    const change = (fields: object, precondition: string[]) =>
      updateIntegration(table, integrator(table), { ...SAME, ...fields }, precondition);

    await expect(change({ id: 6 }, ['x'])).rejects.toMatchObject({ code: 'unknown-id' });
    await expect(change({}, ['2-abc'])).rejects.toMatchObject({ code: 'version-changed' });
    expect(table.transactions).toEqual([]);
    expect((await update({}, ['3-abc'])).after.version).toMatch(/^4-/);
  });
});

describe('reportRestart', () => {
  const report = async (changes: number, module: Integration['module']) => {
    const table = memoryTable([caller, integrationItem({ module })]);
    const after = await reportRestart(table, integrator(table), 5, changes);
    return { table, after, stored: integrationIn(table) };
  };

  it('clears the flag and changes the version for the latest change', async () => {
    const { table, after, stored } = await report(4, {
      needsRestart: true,
      needsRestartSince: 1,
      changes: 4,
    });

    const expected = {
      module: { needsRestart: false, changes: 4 },
      version: expect.stringMatching(/^4-/),
    };
    expect([after, stored]).toEqual([
      { ...GATE, ...expected },
      { ...entityKey('INTEGRATION', 5), ...GATE, ...expected, revision: 9 },
    ]);
    const { writes, audit } = changesOf(table);
    expect(outline(writes)).toEqual(['Update INTEGRATION retry']);
    expect(audit).toMatchObject(byAda('integration.restarted', 'integration/5', 'Gate'));
  });

  it.each([
    ['an earlier change', 3, { needsRestart: true, needsRestartSince: 1, changes: 4 }],
    ['a change that has already been reported', 4, { needsRestart: false, changes: 4 }],
    ['zero changes when there have been none', 0, undefined],
  ])('changes nothing, not even the version, for %s', async (_, changes, module) => {
    const { table, after, stored } = await report(changes, module);

    expect(table.transactions).toEqual([]);
    expect([after.version, stored]).toEqual(['3-abc', integrationItem({ module })]);
  });

  it.each([
    ['one change more than there have been', 5, { needsRestart: true, changes: 4 }],
    ['one change more than there have been, none pending', 5, { needsRestart: false, changes: 4 }],
    ['a change when there have been none', 1, undefined],
  ])('rejects %s with a field error', async (_, changes, module) => {
    await expect(report(changes, module)).rejects.toMatchObject({
      code: 'invalid',
      fieldErrors: [{ field: 'changes', message: 'Size' }],
    });
  });

  it('rejects an unknown integration', async () => {
    const table = memoryTable([caller]);
    await expect(reportRestart(table, integrator(table), 5, 0)).rejects.toMatchObject({
      code: 'not-found',
    });
  });
});

describe('deleteIntegration', () => {
  it('deletes all its parameters and adjusts both totals', async () => {
    const parameters = [5_000_000, 5_000_002, 5_999_999].map((id) =>
      parameterItem({ id, version: `1-${id}` }),
    );
    const others = [4_999_999, 6_000_000].map((id) => parameterItem({ id }));
    const table = memoryTable([
      caller,
      integrationItem({ parameterCount: 3 }),
      ...parameters,
      ...others,
    ]);

    await deleteIntegration(table, integrator(table), 5, ['3-abc']);

    const { writes, audit } = changesOf(table);
    expect(writes).toEqual([
      {
        ...revisionIs,
        act: 'Delete',
        key: entityKey('INTEGRATION', 5),
        names: { '#revision': 'revision' },
        values: { ':revision': 8 },
      },
      totalOf('INTEGRATION', -1),
      ...parameters.map(({ pk, sk, version }) => ({
        act: 'Delete',
        key: { pk, sk },
        condition: '#version = :version',
        onConditionFailed: 'retry',
        names: { '#version': 'version' },
        values: { ':version': version },
      })),
      totalOf('CONF', -3),
    ]);
    expect(audit).toMatchObject(byAda('integration.deleted', 'integration/5', 'Gate'));
    expect(others.map((item) => table.find(item as never))).toEqual(others);
  });

  it('leaves the total of parameters unchanged when there are none', async () => {
    const table = memoryTable([caller, integrationItem({ parameterCount: 0 })]);

    await deleteIntegration(table, integrator(table), 5, undefined);

    expect(outline(changesOf(table).writes)).toEqual(['Delete INTEGRATION retry', 'Update TOTAL']);
  });

  it('reads a complete list only once', async () => {
    const table = memoryTable([caller, integrationItem({ parameterCount: 1 }), parameterItem()]);

    await deleteIntegration(table, integrator(table), 5, undefined);

    expect(table.queries).toHaveLength(1);
  });

  /** A table where the first lists of parameters were read before this change of the parameters. */
  function tableWithStaleList(staleList: Item[], ...items: Item[]) {
    const table = Object.assign(memoryTable(items), { staleLists: 1 });
    const { query } = table;
    table.query = async (...range) => {
      const list = await query(...range);
      return table.queries.length <= table.staleLists ? staleList : list;
    };
    return table;
  }

  it('reads the parameters again, after the integration, if the list lacks one', async () => {
    const added = parameterItem({ id: 5_000_003 });
    const table = tableWithStaleList(
      [parameterItem()],
      caller,
      integrationItem(),
      parameterItem(),
      added,
    );

    await deleteIntegration(table, integrator(table), 5, undefined);

    const read = table.calls.filter(
      (call) => call.endsWith('INTEGRATION') || call.endsWith('CONF'),
    );
    expect(read).toEqual(['get INTEGRATION', 'query CONF', 'query CONF']);
    expect(table.queries[1]).toEqual(table.queries[0]);
    const { writes } = changesOf(table);
    expect(writes.filter(({ key: { pk } }) => pk === 'CONF').map(({ key }) => key)).toEqual([
      entityKey('CONF', 5_000_002),
      entityKey('CONF', 5_000_003),
    ]);
    expect(writes.at(-1)).toEqual(totalOf('CONF', -2));
  });

  it('reads the parameters five more times while the list lacks one, less than 100 ms apart', async () => {
    const added = parameterItem({ id: 5_000_003 });
    const tables = [5, 6].map((staleLists) =>
      Object.assign(
        tableWithStaleList([parameterItem()], caller, integrationItem(), parameterItem(), added),
        {
          staleLists,
        },
      ),
    );
    const timer = vi.spyOn(globalThis, 'setTimeout').mockImplementation((done: () => void) => {
      queueMicrotask(done);
      return undefined as unknown as NodeJS.Timeout;
    });

    for (const table of tables) await deleteIntegration(table, integrator(table), 5, undefined);

    expect(tables.map(({ queries }) => queries.length)).toEqual([6, 6]);
    expect(tables.map((table) => changesOf(table).writes.at(-1))).toEqual([
      totalOf('CONF', -2),
      totalOf('CONF', -1),
    ]);
    const waits = timer.mock.calls.map(([, milliseconds]) => milliseconds ?? 0);
    expect(waits).toHaveLength(10);
    expect(Math.max(...waits)).toBeLessThan(100);
    expect(Math.max(...waits)).toBeGreaterThan(20);
  });

  it('reads the parameters again if the list contains one too many', async () => {
    const removed = parameterItem({ id: 5_000_003 });
    const table = tableWithStaleList(
      [parameterItem(), removed],
      caller,
      integrationItem({ parameterCount: 1 }),
      parameterItem(),
    );

    await deleteIntegration(table, integrator(table), 5, undefined);

    expect(outline(changesOf(table).writes)).toEqual([
      ...['Delete INTEGRATION retry', 'Update TOTAL', 'Delete CONF retry', 'Update TOTAL'],
    ]);
  });

  it('requires the versions of the listed parameters even if the list is as long as the count', async () => {
    const removed = parameterItem({ id: 5_000_003, version: '1-old' });
    const table = tableWithStaleList(
      [removed],
      caller,
      integrationItem({ parameterCount: 1 }),
      parameterItem(),
    );

    await deleteIntegration(table, integrator(table), 5, undefined);

    // The memory table evaluates no condition: DynamoDB rejects this transaction, and the change
    // starts again.
    expect(changesOf(table).writes[2]).toMatchObject({
      act: 'Delete',
      key: entityKey('CONF', 5_000_003),
      condition: '#version = :version',
      values: { ':version': '1-old' },
      onConditionFailed: 'retry',
    });
  });

  it('rejects an unknown integration and an unmet precondition before it reads parameters', async () => {
    const table = memoryTable([caller, integrationItem(), parameterItem()]);

    await expect(deleteIntegration(table, integrator(table), 6, ['x'])).rejects.toMatchObject({
      code: 'not-found',
    });
    await expect(deleteIntegration(table, integrator(table), 5, ['x'])).rejects.toMatchObject({
      code: 'version-changed',
    });
    expect([table.transactions, table.queries]).toEqual([[], []]);
  });
});

describe('createParameter', () => {
  const requested: NewParameter = {
    id: undefined,
    integration: { id: 5 },
    confName: 'né',
    confValue: 'sécret',
    confDescription: 'dé',
  };
  const create = async (before: Partial<Integration>, fields: Partial<NewParameter> = {}) => {
    const table = memoryTable([caller, integrationItem(before)]);
    const created = await createParameter(table, integrator(table), { ...requested, ...fields });
    return {
      table,
      created,
      stored: table.find(entityKey('CONF', created.id)),
      owner: integrationIn(table),
      ...changesOf(table),
    };
  };

  it('stores it sealed under the next id and updates the integration’s counters, but not its version', async () => {
    const { created, stored, owner, writes, audit } = await create({});

    expect(created).toEqual({
      id: 5_000_004,
      integration: { ...entityless(integrationItem()) },
      confName: 'né',
      confValue: 'sécret',
      confDescription: 'dé',
      version: expect.stringMatching(/^1-[\da-f-]{36}$/),
    });
    expect(stored).toEqual({
      ...entityKey('CONF', 5_000_004),
      id: 5_000_004,
      confName: 'né',
      confValue: expect.any(Uint8Array),
      confDescription: 'dé',
      bytes: 3 + 7 + 3,
      version: created.version,
    });
    expect(await unseal(stored?.confValue as Uint8Array, 5_000_004)).toBe('sécret');
    expect(owner).toEqual(
      integrationItem({ parameterCount: 3, parametersEver: 4, parameterBytes: 113, revision: 9 }),
    );
    expect(outline(writes)).toEqual(['Update INTEGRATION retry', 'Put CONF retry', 'Update TOTAL']);
    expect(writes[0]).toMatchObject(revisionIs);
    expect(writes[1]).toMatchObject({ condition: 'attribute_not_exists(pk)' });
    expect(writes[2]).toEqual(totalOf('CONF', 1));
    expect(audit).toMatchObject(byAda('parameter.created', 'parameter/5000004', 'né'));
  });
  const entityless = ({ pk: _pk, sk: _sk, ...entity }: Item) => entity;

  it('stores no description when it is cleared', async () => {
    const { created, stored } = await create({}, { confDescription: undefined });

    expect(created.confDescription).toBeUndefined();
    expect(stored?.bytes).toBe(10);
  });

  it('neither sets nor clears the restart flag', async () => {
    const module = { needsRestart: false, changes: 2 };

    expect((await create({})).owner).not.toHaveProperty('module');
    expect((await create({ module })).owner?.module).toEqual(module);
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
    ['the last byte', { parameterBytes: MAX_PARAMETER_BYTES - 13 }, undefined],
    ['one byte too many', { parameterBytes: MAX_PARAMETER_BYTES - 12 }, 'parameters-too-large'],
    ['the first bytes', { parameterBytes: undefined }, undefined],
  ])('accepts or rejects %s: %j', async (_, before, code) => {
    if (code) await expect(create(before)).rejects.toMatchObject({ code });
    else expect((await create(before)).created.id).toBe(5_000_001 + (before.parametersEver ?? 3));
  });

  it('requests one data key from KMS, bound to the integration, despite retries', async () => {
    const table = contended(caller, integrationItem());
    await createParameter(table, integrator(table), requested);

    const EncryptionContext = { service: 'gatehouse', integration: '5' };
    expect(keyCalls).toEqual([
      {
        name: 'GenerateDataKeyCommand',
        input: { KeyId: 'the-key', KeySpec: 'AES_256', EncryptionContext },
      },
    ]);
  });

  it.each([
    ['an unauthorized caller', [analyst, integrationItem()], 'forbidden'],
    ['an unknown integration', [caller], 'unknown-id'],
  ])('does not call KMS for %s', async (_, items, code) => {
    const table = memoryTable(items);

    await expect(createParameter(table, integrator(table), requested)).rejects.toMatchObject({
      code,
    });
    expect([keyCalls, table.transactions]).toEqual([[], []]);
  });
});

describe('updateParameter', () => {
  const NOW = Date.UTC(2026, 10, 22);
  useFrozenClock(NOW);
  const SAME: ParameterChange = {
    id: 5_000_002,
    integration: { id: 5 },
    confName: 'key',
    confValue: 'v',
    confDescription: 'Of the gate',
  };
  const update = async (
    fields: Partial<ParameterChange>,
    owner: Partial<Integration> = {},
    precondition?: string[],
    others: Partial<ParameterChange> = SAME,
  ) => {
    const table = memoryTable([caller, integrationItem(owner), parameterItem()]);
    const changes = { ...others, ...fields } as ParameterChange;
    const after = await updateParameter(table, integrator(table), changes, precondition);
    return {
      table,
      after,
      stored: table.find(entityKey('CONF', 5_000_002)),
      owner: integrationIn(table),
      ...changesOf(table),
    };
  };

  it.each([
    ['confName', 'name', ['confName', 'confValue']],
    ['confDescription', 'Of a door', ['confDescription', 'confValue']],
    ['confValue', 'another', ['confValue']],
  ])(
    'stores a change of %s under a new version and audits it together with the value',
    async (field, value, named) => {
      const { after, stored, writes, audit } = await update({ [field]: value });

      const expected = { ...SAME, [field]: value };
      expect(after).toMatchObject({
        ...expected,
        integration: { id: 5 },
        version: expect.stringMatching(/^3-[\da-f-]{36}$/),
      });
      expect(stored).toEqual({
        ...entityKey('CONF', 5_000_002),
        id: 5_000_002,
        confName: expected.confName,
        version: after.version,
        confDescription: expected.confDescription,
        confValue: expect.any(Uint8Array),
        bytes: bytesOf(expected.confName, expected.confValue, expected.confDescription ?? ''),
      });
      expect(await unseal(stored?.confValue as Uint8Array, 5_000_002)).toBe(expected.confValue);
      expect(outline(writes)).toEqual(['Update INTEGRATION retry', 'Update CONF retry']);
      expect(writes[0]).toMatchObject(revisionIs);
      expect(writes[1]).toMatchObject({ condition: '#version = :version' });
      expect(writes[1]?.values).toMatchObject({ ':version': '2-xyz' });
      expect(audit).toMatchObject(byAda('parameter.updated', 'parameter/5000002', 'key', named));
    },
  );

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
  ])(
    'flags the module %s and changes the version of the integration',
    async (_, module, needsRestartSince, changes) => {
      const { after, owner } = await update({ confValue: 'longer' }, { module });

      // The name, the new value of 6 bytes and the description replace the 30 bytes counted before.
      const parameterBytes = 100 - 30 + 3 + 6 + 11;
      expect(owner).toEqual(
        integrationItem({
          module: { needsRestart: true, needsRestartSince, changes },
          parameterBytes,
          revision: 9,
          version: expect.stringMatching(/^4-[\da-f-]{36}$/) as never,
        }),
      );
      expect(after.integration).toMatchObject({
        module: { needsRestart: true, changes },
        version: owner?.version,
      });
    },
  );

  it('keeps an omitted description and clears one that is present but undefined', async () => {
    const { confDescription: _, ...withoutDescription } = SAME;

    const kept = await update(withoutDescription, {}, undefined, {});
    const cleared = await update({ confDescription: undefined });

    expect([kept.after.confDescription, kept.stored?.confDescription]).toEqual([
      'Of the gate',
      'Of the gate',
    ]);
    expect(cleared.after.confDescription).toBeUndefined();
    expect(cleared.stored).not.toHaveProperty('confDescription');
    expect([kept.stored?.bytes, cleared.stored?.bytes]).toEqual([15, 4]);
    expect([kept.audit?.fields, cleared.audit?.fields]).toEqual([
      ['confValue'],
      ['confDescription', 'confValue'],
    ]);
  });

  it('may fill the size limit and shrink above it, but not grow beyond it', async () => {
    const full = { parameterBytes: MAX_PARAMETER_BYTES };
    const value = (bytes: number) => ({ confValue: 'x'.repeat(bytes - 3 - 11) });

    expect((await update(value(30), full)).owner?.parameterBytes).toBe(MAX_PARAMETER_BYTES);
    await expect(update(value(31), full)).rejects.toMatchObject({ code: 'parameters-too-large' });
    const over = { parameterBytes: MAX_PARAMETER_BYTES + 50 };
    expect((await update(value(29), over)).owner?.parameterBytes).toBe(MAX_PARAMETER_BYTES + 49);
    expect((await update(value(30), over)).owner?.parameterBytes).toBe(MAX_PARAMETER_BYTES + 50);
  });

  it.each<[string, Item[], Partial<ParameterChange>]>([
    ['an unknown integration', [caller, parameterItem()], {}],
    ['an unknown parameter', [caller, integrationItem()], {}],
    [
      'a parameter of another integration',
      [caller, integrationItem(), parameterItem({ id: 6_000_001 })],
      { id: 6_000_001 },
    ],
  ])('rejects %s with unknown-id', async (_, items, fields) => {
    const table = memoryTable(items);

    await expect(
      updateParameter(table, integrator(table), { ...SAME, ...fields }, ['x']),
    ).rejects.toMatchObject({
      code: 'unknown-id',
    });
    expect(table.transactions).toEqual([]);
  });

  it('rejects an unmet precondition', async () => {
    await expect(update({}, {}, ['1-xyz'])).rejects.toMatchObject({ code: 'version-changed' });
    // This is the version of the integration, not of the parameter.
    await expect(update({}, {}, ['3-abc'])).rejects.toMatchObject({ code: 'version-changed' });
    expect((await update({}, {}, ['2-xyz'])).after.version).toMatch(/^3-/);
  });

  it.each([
    ['an unauthorized caller', [analyst, integrationItem(), parameterItem()]],
    ['an unknown parameter', [caller, integrationItem()]],
    ['an unknown integration', [caller, parameterItem()]],
  ])('does not call KMS for %s', async (_, items) => {
    const table = memoryTable(items);
    await expect(updateParameter(table, integrator(table), SAME, undefined)).rejects.toThrow();
    expect(keyCalls).toEqual([]);
  });

  it('requests one data key from KMS, bound to the integration, despite retries', async () => {
    const table = contended(caller, integrationItem(), parameterItem());
    await updateParameter(table, integrator(table), SAME, undefined);

    expect(keyCalls.map(({ name, input }) => [name, input.EncryptionContext])).toEqual([
      ['GenerateDataKeyCommand', { service: 'gatehouse', integration: '5' }],
    ]);
  });
});

describe('deleteParameter', () => {
  it('updates the counters of its integration, but neither version nor module', async () => {
    const module = { needsRestart: true, changes: 2 };
    const table = memoryTable([caller, integrationItem({ module }), parameterItem()]);

    await deleteParameter(table, integrator(table), 5_000_002, ['2-xyz']);

    const { writes, audit } = changesOf(table);
    expect(integrationIn(table)).toEqual(
      integrationItem({
        module,
        parameterCount: 1,
        parametersEver: 3,
        parameterBytes: 70,
        revision: 9,
      }),
    );
    expect(outline(writes)).toEqual([
      'Update INTEGRATION retry',
      'Delete CONF retry',
      'Update TOTAL',
    ]);
    expect(writes[0]).toMatchObject(revisionIs);
    expect(writes[1]).toMatchObject({
      key: entityKey('CONF', 5_000_002),
      values: { ':version': '2-xyz' },
    });
    expect(writes[2]).toEqual(totalOf('CONF', -1));
    expect(audit).toMatchObject(byAda('parameter.deleted', 'parameter/5000002', 'key'));
  });

  it.each<[string, Item[], string]>([
    ['an unknown parameter', [caller, integrationItem()], 'not-found'],
    ['an unknown integration', [caller, parameterItem()], 'not-found'],
    [
      'an unmet precondition',
      [caller, integrationItem(), parameterItem({ version: '3-xyz' })],
      'version-changed',
    ],
  ])('rejects %s', async (_, items, code) => {
    const table = memoryTable(items);

    await expect(
      deleteParameter(table, integrator(table), 5_000_002, ['2-xyz']),
    ).rejects.toMatchObject({ code });
    expect(table.transactions).toEqual([]);
  });
});

describe('the size of parameters', () => {
  it('is that of name, value and description in UTF-8 bytes', () => {
    expect([bytesOf('é', 'ab', '😀'), bytesOf('a', 'b')]).toEqual([8, 2]);
  });

  it('counts as zero where none was recorded', () => {
    const integration = { ...GATE, parameterBytes: undefined };

    expect(parameterBytesAfter(integration, {}, { bytes: 5 })).toBe(5);
    expect(parameterBytesAfter(GATE, {}, undefined)).toBe(100);
  });

  it('is limited to 192 KiB in 90 parameters', () => {
    expect([MAX_PARAMETER_BYTES, MAX_PARAMETERS]).toEqual([196_608, 90]);
  });
});

describe('a sealed value', () => {
  it('has the documented layout and a unique nonce', async () => {
    const seal = await openSeal(5);
    const [one, other] = [
      Buffer.from(seal('sécret', 5_000_002)),
      Buffer.from(seal('sécret', 5_000_002)),
    ];

    const wrapped = Buffer.from('wrapped');
    expect(one.subarray(0, 3)).toEqual(Buffer.from([1, 0, wrapped.length]));
    expect(one.subarray(3, 10)).toEqual(wrapped);
    const [nonce, tag, encrypted] = [one.subarray(10, 22), one.subarray(22, 38), one.subarray(38)];
    expect(encrypted).toHaveLength(7);
    expect(nonce).not.toEqual(other.subarray(10, 22));
    const decipher = createDecipheriv('aes-256-gcm', DATA_KEY, nonce).setAAD(
      Buffer.from('CONF/5000002/confValue'),
    );
    decipher.setAuthTag(tag);
    expect(Buffer.concat([decipher.update(encrypted), decipher.final()]).toString()).toBe('sécret');
  });

  it('is unsealed only for its own parameter, with the encryption context of its integration', async () => {
    const sealed = (await openSeal(5))('sécret', 5_000_002);
    keyCalls.length = 0;

    expect(await unseal(sealed, 5_000_002)).toBe('sécret');
    expect(keyCalls).toEqual([
      {
        name: 'DecryptCommand',
        input: {
          KeyId: 'the-key',
          CiphertextBlob: Buffer.from('wrapped'),
          EncryptionContext: { service: 'gatehouse', integration: '5' },
        },
      },
    ]);
    await expect(unseal(sealed, 5_000_003)).rejects.toThrow();
  });

  it.each([
    ['format', 0],
    ['nonce', 10],
    ['tag', 22],
    ['text', 38],
  ])('is rejected when one bit of its %s has changed', async (_, at) => {
    const sealed = Buffer.from((await openSeal(5))('secret', 5_000_002));
    sealed[at] = (sealed[at] ?? 0) ^ 1;

    await expect(unseal(sealed, 5_000_002)).rejects.toThrow(
      'A stored parameter value is not readable',
    );
  });

  it('is rejected with a truncated tag', async () => {
    const cipher = createCipheriv('aes-256-gcm', DATA_KEY, Buffer.alloc(12));
    const text = Buffer.concat([cipher.update('x'), cipher.final()]);
    const short = Buffer.concat([
      Buffer.from([1, 0, 0]),
      Buffer.alloc(12),
      cipher.getAuthTag().subarray(0, 4),
      text,
    ]);

    await expect(unseal(short, 5_000_002)).rejects.toThrow();
  });

  it('supports a wrapped key of more than 255 bytes', async () => {
    vi.mocked(sharedKms().send).mockImplementation(async () => ({
      Plaintext: DATA_KEY,
      CiphertextBlob: Buffer.alloc(700, 9),
    }));

    const sealed = (await openSeal(5))('secret', 5_000_002);

    expect(Buffer.from(sealed).readUInt16BE(1)).toBe(700);
    expect(await unseal(sealed, 5_000_002)).toBe('secret');
  });
});

describe('reading parameters', () => {
  const sealed = async (id: number) =>
    parameterItem({ id, confValue: (await openSeal(Math.floor(id / 1e6)))(`v${id}`, id) });
  const queryOf = (query: Partial<ListQuery>): ListQuery => ({
    page: 0,
    size: 2,
    sort: [],
    filters: [],
    parameters: [],
    after: undefined,
    ...query,
  });

  it('returns the unsealed parameter with its integration', async () => {
    const table = memoryTable([caller, integrationItem(), await sealed(5_000_002)]);

    expect(await readParameter(table, integrator(table), 5_000_002)).toEqual({
      id: 5_000_002,
      integration: GATE,
      confName: 'key',
      confValue: 'v5000002',
      confDescription: 'Of the gate',
      version: '2-xyz',
    });
  });

  it.each<[string, Item[], string]>([
    ['an unknown parameter', [caller, integrationItem()], 'not-found'],
    ['an unknown integration', [caller, parameterItem()], 'not-found'],
    [
      'a caller who is not an integrator',
      [analyst, integrationItem(), parameterItem()],
      'forbidden',
    ],
  ])('rejects %s without unsealing a value', async (_, items, code) => {
    const table = memoryTable(items);
    await expect(readParameter(table, integrator(table), 5_000_002)).rejects.toMatchObject({
      code,
    });
    expect(keyCalls).toEqual([]);
  });

  it('reads a parameter and its integration as of one moment', async () => {
    const table = memoryTable([caller, integrationItem(), await sealed(5_000_002)]);

    await readParameter(table, integrator(table), 5_000_002);

    expect(table.calls.toSorted()).toEqual(['get USER', 'getAll 1', 'snapshot 2']);
  });

  const ofGate = {
    filters: [{ field: 'integrationId', operator: 'equals', operands: [5] }],
  } as const;

  /** A table in which these writes are made after the first list of parameters. */
  function tableChangedAfterList(writes: readonly Write[], ...items: Item[]) {
    const table = memoryTable(items);
    const { query } = table;
    table.query = async (...range) => {
      const list = await query(...range);
      if (table.queries.length === 1) await table.transact(writes, 'token');
      return list;
    };
    return table;
  }

  it('reads the integration of a filter as of one moment with the values, while it unseals them', async () => {
    const table = memoryTable([caller, integrationItem(), await sealed(5_000_001)]);
    const overlap = overlapCounter();
    const { snapshot } = table;
    table.snapshot = (...args) => overlap.run(() => snapshot(...args));
    vi.mocked(sharedKms().send).mockImplementation(() =>
      overlap.run(async () => ({ Plaintext: DATA_KEY })),
    );

    const { entities } = await readParameters(table, integrator(table), queryOf(ofGate));

    expect(entities.map(({ integration, confValue }) => [integration.name, confValue])).toEqual([
      ['Gate', 'v5000001'],
    ]);
    expect(table.calls.filter((call) => /^(get \w+|getAll|query|snapshot)/.test(call))).toEqual([
      ...['get USER', 'getAll 2', 'query CONF', 'snapshot 2'],
    ]);
    expect(overlap.most).toBe(2);
  });

  it('reads the parameters of a filter again if one has changed since the list', async () => {
    const key = entityKey('CONF', 5_000_001);
    const changed: Item = { ...(await sealed(5_000_001)), version: '3-new' };
    const deletion: Write[] = [{ act: 'Delete', key }];
    for (const [writes, versions] of [
      [[put(key, changed)], ['3-new', '2-xyz']],
      [deletion, ['2-xyz']],
    ] as const) {
      const items = [await sealed(5_000_001), await sealed(5_000_002)];
      const table = tableChangedAfterList(writes, caller, integrationItem(), ...items);

      const { entities } = await readParameters(table, integrator(table), queryOf(ofGate));

      expect(entities.map(({ version }) => version)).toEqual(versions);
      expect(table.queries).toHaveLength(2);
    }
  });

  it('reads the integration of a filter only beside a parameter, and returns none of a deleted integration', async () => {
    const empty = memoryTable([caller, integrationItem()]);
    const [parameter, key] = [await sealed(5_000_001), entityKey('CONF', 5_000_001)];
    const deleted: Write[] = [
      { act: 'Delete', key: entityKey('INTEGRATION', 5) },
      { act: 'Delete', key },
    ];
    const table = tableChangedAfterList(deleted, caller, integrationItem(), parameter);

    const pages = [
      await readParameters(empty, integrator(empty), queryOf(ofGate)),
      await readParameters(table, integrator(table), queryOf(ofGate)),
    ];

    expect(pages.map(({ entities }) => entities)).toEqual([[], []]);
    expect(empty.calls.filter((call) => call.startsWith('snapshot'))).toEqual([]);
    expect(table.queries).toHaveLength(1);
  });

  it('unseals only the page, reads each integration once and omits orphaned parameters', async () => {
    const parameters = await Promise.all([5_000_001, 5_000_002, 6_000_001, 7_000_001].map(sealed));
    const table = memoryTable([caller, integrationItem(), ...parameters]);
    keyCalls.length = 0;

    const page = await readParameters(table, integrator(table), queryOf({ size: 3 }));

    expect(page).toMatchObject({ total: 4, more: true, cursor: expect.any(String) });
    expect(
      page.entities.map(({ confValue, integration }) => [confValue, integration.name]),
    ).toEqual([
      ['v5000001', 'Gate'],
      ['v5000002', 'Gate'],
    ]);
    expect(table.calls.filter((call) => call.startsWith('getAll'))).toEqual([
      'getAll 2',
      'getAll 2',
    ]);
    expect(keyCalls.map(({ name }) => name)).toEqual(Array(3).fill('DecryptCommand'));
  });

  it('unseals at most 32 values at the same time', async () => {
    const parameters = await Promise.all(
      Array.from({ length: 40 }, (_, index) => sealed(5_000_001 + index)),
    );
    const table = memoryTable([caller, integrationItem(), ...parameters]);
    const overlap = overlapCounter();
    vi.mocked(sharedKms().send).mockImplementation(() =>
      overlap.run(async () => ({ Plaintext: DATA_KEY })),
    );

    const { entities } = await readParameters(table, integrator(table), queryOf({ size: 40 }));

    expect(entities.map(({ confValue }) => confValue)).toEqual(
      parameters.map(({ id }) => `v${id}`),
    );
    expect(overlap.most).toBe(32);
  });

  it('charges one additional unit for each decryption on the page', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000_000_000 });
    const table = memoryTable([caller], { CONF: 1000 });

    await readParameters(table, integrator(table), queryOf({ size: 10 }));

    const [payment] = table.updates;
    // 11 items at 1.5 units and 10 decryptions at 1 unit, at 500 units per second.
    expect(payment?.values).toMatchObject({
      ':paidBackAt': 1_000_000_000_000 + (11 * 1.5 + 10) * 2,
    });
  });

  it.each([
    ['a page', readParameters],
    ['a count', countParameters],
  ])(
    'rejects a caller who is not an integrator, without charging read units: %s',
    async (_, read) => {
      const table = memoryTable([analyst], { CONF: 1000 });
      const filters = [{ field: 'confName', operator: 'equals', operands: ['x'] } as const];

      await expect(read(table, integrator(table), queryOf({ filters }))).rejects.toMatchObject({
        code: 'forbidden',
      });
      expect(table.updates).toEqual([]);
    },
  );

  it('counts the parameters that match the filters and charges for reading them', async () => {
    const items = [5_000_001, 5_000_002, 6_000_001].map((id) =>
      parameterItem({ id, confName: `name ${id}` }),
    );
    const table = memoryTable([caller, ...items]);
    const filters = [{ field: 'confName', operator: 'contains', operands: ['5'] } as const];

    expect(await countParameters(table, integrator(table), queryOf({ filters }))).toBe(2);
    expect(await countParameters(table, integrator(table), queryOf({}))).toBe(3);
    expect(table.updates).toHaveLength(1);
  });
});
