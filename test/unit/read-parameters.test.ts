import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ListQuery } from '../../lib/contract/list-query.ts';
import { readParameter, readParameters } from '../../lib/integrations/read-parameters.ts';
import { openSeal } from '../../lib/integrations/sealed-value.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { put, type Write } from '../../lib/table/write.ts';
import { overlapCounter } from '../support/doubles/aws-calls.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { queryOf } from '../support/doubles/rule-arguments.ts';
import {
  asIntegrator,
  callerWith,
  GATE,
  gate,
  parameter,
} from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';
import { useNoDataKeys } from '../support/doubles/worker-state.ts';

const caller = callerWith('ROLE_USER');

/** The calls to KMS, whose double returns the same data key each time. */
const keyCalls: { name: string; input: Record<string, unknown> }[] = [];
const DATA_KEY = Buffer.alloc(32, 7);
useNoDataKeys();
beforeEach(() => {
  keyCalls.length = 0;
  vi.stubEnv('AWS_REGION', 'eu-central-1');
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
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('reading parameters', () => {
  const sealed = async (id: number) =>
    parameter({ id, confValue: (await openSeal(Math.floor(id / 1e6)))(`v${id}`, id) });

  it('returns the unsealed parameter with its integration as of the same moment', async () => {
    const table = memoryTable([...caller, gate(), await sealed(5_000_002)]);

    expect(await readParameter(table, asIntegrator(table), 5_000_002)).toEqual({
      id: 5_000_002,
      integration: GATE,
      confName: 'key',
      confValue: 'v5000002',
      confDescription: 'Of the gate',
      version: '2-xyz',
    });
    expect(table.calls.toSorted()).toEqual(['getAll 1', 'getAll 2', 'snapshot 2']);
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

  it('reads the integration of a filter as of one moment with the values', async () => {
    const table = memoryTable([...caller, gate(), await sealed(5_000_001)]);
    const overlap = overlapCounter();
    const { snapshot } = table;
    table.snapshot = (...args) => overlap.run(() => snapshot(...args));
    vi.mocked(sharedKms().send).mockImplementation(() =>
      overlap.run(async () => ({ Plaintext: DATA_KEY })),
    );

    const { entities } = await readParameters(table, asIntegrator(table), queryOf(ofGate));

    expect(entities.map(({ integration, confValue }) => [integration.name, confValue])).toEqual([
      ['Gate', 'v5000001'],
    ]);
    expect(table.calls.filter((call) => /^(get \w+|getAll|query|snapshot)/.test(call))).toEqual([
      ...['getAll 2', 'getAll 2', 'query CONF', 'snapshot 2'],
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
      const table = tableChangedAfterList(writes, ...caller, gate(), ...items);

      const { entities } = await readParameters(table, asIntegrator(table), queryOf(ofGate));

      expect(entities.map(({ version }) => version)).toEqual(versions);
      expect(table.queries).toHaveLength(2);
    }
  });

  it('reads the integration of a filter only beside a parameter', async () => {
    const empty = memoryTable([...caller, gate()]);
    const [parameter, key] = [await sealed(5_000_001), entityKey('CONF', 5_000_001)];
    const deleted: Write[] = [
      { act: 'Delete', key: entityKey('INTEGRATION', 5) },
      { act: 'Delete', key },
    ];
    const table = tableChangedAfterList(deleted, ...caller, gate(), parameter);

    const pages = [
      await readParameters(empty, asIntegrator(empty), queryOf(ofGate)),
      await readParameters(table, asIntegrator(table), queryOf(ofGate)),
    ];

    expect(pages.map(({ entities }) => entities)).toEqual([[], []]);
    expect(empty.calls.filter((call) => call.startsWith('snapshot'))).toEqual([]);
    expect(table.queries).toHaveLength(1);
  });

  it('unseals only the page, reads each integration once and omits orphans', async () => {
    const parameters = await Promise.all([5_000_001, 5_000_002, 6_000_001, 7_000_001].map(sealed));
    const table = memoryTable([...caller, gate(), ...parameters]);
    keyCalls.length = 0;

    const page = await readParameters(table, asIntegrator(table), queryOf({ size: 3 }));

    expect(page).toMatchObject({ total: 4, more: true, cursor: expect.any(String) });
    expect(
      page.entities.map(({ confValue, integration }) => [confValue, integration.name]),
    ).toEqual([
      ['v5000001', 'Gate'],
      ['v5000002', 'Gate'],
    ]);
    // Of the caller, the parameters and their integrations.
    expect(table.calls.filter((call) => call.startsWith('getAll'))).toEqual([
      ...['getAll 2', 'getAll 2', 'getAll 2'],
    ]);
    expect(keyCalls.map(({ name }) => name)).toEqual(['DecryptCommand', 'DecryptCommand']);
  });

  it('unseals at most 32 values at the same time', async () => {
    const sealUnderOwnKey = async (id: number) => {
      const item = await sealed(id);
      const confValue = Buffer.from(item.confValue as Uint8Array);
      // The first byte of the wrapped data key.
      confValue[3] = id % 100;
      return Object.assign(item, { confValue });
    };
    const parameters = await Promise.all(
      Array.from({ length: 40 }, (_, index) => sealUnderOwnKey(5_000_001 + index)),
    );
    const table = memoryTable([...caller, gate(), ...parameters]);
    const overlap = overlapCounter();
    vi.mocked(sharedKms().send).mockImplementation(() =>
      overlap.run(async () => ({ Plaintext: DATA_KEY })),
    );

    const { entities } = await readParameters(table, asIntegrator(table), queryOf({ size: 40 }));

    expect(entities.map(({ confValue }) => confValue)).toEqual(
      parameters.map(({ id }) => `v${id}`),
    );
    expect(overlap.most).toBe(32);
  });

  it('charges the decryptions of a page once when the list is read in steps', async () => {
    freezeClock(1_000_000_000_000);
    const items = Array.from({ length: 200 }, (_, n) => parameter({ id: 5_000_001 + n }));
    const table = memoryTable([...caller, ...items], { CONF: 10_001 });
    const filters = [{ field: 'confName', operator: 'equals', operands: ['x'] } as const];

    await readParameters(table, asIntegrator(table), queryOf({ size: 10, filters }));

    const charges = table.updates.map(({ values = {} }) => values[':amount']);
    // 73 items at 1.5 units and 10 decryptions; then what each query has used.
    expect(charges).toEqual([119.5, expect.closeTo(8.03), expect.closeTo(8.03)]);
  });

  it('charges what reads and decryptions have cost beyond that', async () => {
    freezeClock(1_000_000_000_000);
    const filters = [{ field: 'integrationId', operator: 'equals', operands: [5] } as const];
    const charge = async (items: Item[], read: (table: MemoryTable) => Promise<unknown>) => {
      const table = memoryTable([...caller, gate(), ...items]);
      await read(table);
      return table.updates.map(({ values = {} }) => values[':amount']);
    };
    const items = [await sealed(5_000_001), await sealed(5_000_002)];

    const one = (table: MemoryTable) => readParameter(table, asIntegrator(table), 5_000_002);
    const page = (size: number, filters: ListQuery['filters']) => (table: MemoryTable) =>
      readParameters(table, asIntegrator(table), queryOf({ size, filters }));
    // A transaction that reads two items costs 4 units, a decryption 1.
    expect(await charge(items, one)).toEqual([5]);
    // The parameters of one integration are charged afterwards: a snapshot of 3 items, and the
    // decryption of their data key.
    expect(await charge(items, page(2, filters))).toEqual([7]);
    // Before: 2 items and 90 decryptions, which are not given back.
    expect(await charge(items, page(90, []))).toEqual([93]);
    // Before: 5 ids at 1.5 units and as many decryptions.
    const ids = { field: 'id', operator: 'in', operands: [1, 2, 3, 4, 5] } as const;
    expect(await charge(items, page(90, [ids]))).toEqual([12.5]);
    // Before: 2 items and 2 decryptions. Afterwards: the 17 units by which the items cost more.
    const ofLargeItems = (table: MemoryTable) => {
      const { query } = table;
      table.query = (pk, range, onConsumed) => {
        onConsumed?.(20);
        return query(pk, range);
      };
      return page(2, [])(table);
    };
    expect(await charge(items, ofLargeItems)).toEqual([5, 17]);
  });
});
