import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ListQuery } from '../../lib/contract/list-query.ts';
import { readParameter, readParameters } from '../../lib/integrations/read-parameters.ts';
import { openSeal, UnreadableValue } from '../../lib/integrations/sealed-value.ts';
import { readModule } from '../../lib/modules/read-module.ts';
import { sharedKms } from '../../lib/runtime/kms.ts';
import type { Item } from '../../lib/table/table.ts';
import { overlapCounter } from '../support/doubles/aws-calls.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { queryOf } from '../support/doubles/rule-arguments.ts';
import { asIntegrator, callerWith, gate, parameter } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';
import { useNoDataKeys } from '../support/doubles/worker-state.ts';

const caller = callerWith('ROLE_USER');

const DATA_KEY = Buffer.alloc(32, 7);
useNoDataKeys();
beforeEach(() => {
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AUDIT_DAYS', '400');
  vi.spyOn(sharedKms(), 'send').mockImplementation(async () => ({
    Plaintext: DATA_KEY,
    CiphertextBlob: Buffer.from('wrapped'),
  }));
});
describe('reading parameters', () => {
  const sealed = async (id: number) =>
    parameter({ id, confValue: (await openSeal(Math.floor(id / 1e6)))(`v${id}`, id) });

  const ofIntegration = (id: number): ListQuery['filters'] => [
    { field: 'integrationId', operator: 'equals', operands: [id] },
  ];

  it.each<[string, ListQuery['filters'], number[]]>([
    ['of all', [], [5_000_001]],
    ['of its own', ofIntegration(6), []],
  ])('a list %s omits parameters of a deleted integration', async (_, filters, ids) => {
    const stored = [await sealed(5_000_001), await sealed(6_000_001)];
    const table = memoryTable([...caller, gate(), ...stored]);

    const page = await readParameters(table, asIntegrator(table), queryOf({ filters }));

    expect(page.entities.map(({ id }) => id)).toEqual(ids);
  });

  it('reads the list of an integration again until it is as of one moment', async () => {
    const items = [await sealed(5_000_001), await sealed(5_000_002)] as const;
    const [first, second] = items;
    const table = memoryTable([...caller, gate(), ...items]);
    const hasChanged = [first, { ...second, confName: 'old', version: '1-abc' }];
    const wasDeleted = [...items, await sealed(5_000_003)];
    const lists = [hasChanged, wasDeleted];
    table.query = async () => lists.shift() ?? [...items];
    const query = queryOf({ filters: ofIntegration(5) });

    const { entities } = await readParameters(table, asIntegrator(table), query);

    expect(lists).toEqual([]);
    expect(entities.map(({ id, confName }) => [id, confName])).toEqual([
      [5_000_001, 'key'],
      [5_000_002, 'key'],
    ]);
  });

  it('reads nothing else for an empty list of an integration', async () => {
    const table = memoryTable([...caller, gate()]);

    await readParameters(table, asIntegrator(table), queryOf({ filters: ofIntegration(5) }));

    expect(table.calls.filter((call) => call.startsWith('snapshot'))).toEqual([]);
  });

  it('waits before it reads again what a module is wanted to run', async () => {
    const wait = vi.spyOn(globalThis, 'setTimeout');
    const table = memoryTable([...caller, gate(), await sealed(5_000_001)]);
    const lists = [[parameter({ id: 5_000_007 })], [], [await sealed(5_000_001)]];
    const waits: number[] = [];
    table.query = async () => {
      waits.push(wait.mock.calls.length);
      return lists.shift() ?? [];
    };

    const { body } = await readModule(table, asIntegrator(table), 5, undefined);

    expect(body).toMatchObject({ parameters: [{ id: 5_000_001, confValue: 'v5000001' }] });
    expect(waits).toEqual([0, 1, 2]);
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
    // 73 items at 1.5 units and 10 decryptions; then what each query has used; then back what the
    // third has not used, which has 56 items.
    const later = [8.03, 8.03, -103.34].map((units) => expect.closeTo(units));
    expect(charges).toEqual([119.5, ...later]);
  });

  it('charges what reads and decryptions have cost beyond that', async () => {
    freezeClock(1_000_000_000_000);
    const charge = async (
      items: Item[],
      read: (table: MemoryTable) => Promise<unknown>,
      parameterCount = 2,
    ) => {
      const table = memoryTable([...caller, gate({ parameterCount }), ...items]);
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
    const ofOne = page(2, ofIntegration(5));
    expect(await charge(items, ofOne)).toEqual([7]);
    // Read again, if it records another number of parameters: one could have come meanwhile.
    expect(await charge(items, ofOne, 3)).toEqual([7, 7]);
    // Once after a cursor, beside what the list is charged before and gets back.
    const after = 5_000_000;
    const following = (table: MemoryTable) =>
      readParameters(
        table,
        asIntegrator(table),
        queryOf({ size: 2, filters: ofIntegration(5), after }),
      );
    expect((await charge(items, following)).slice(2)).toEqual([7]);
    // Also if a value cannot be read.
    const [readable] = items as [Item, Item];
    const damaged = [readable, parameter({ id: 5_000_002, confValue: Buffer.of(9) })];
    const fails = (table: MemoryTable) => expect(ofOne(table)).rejects.toThrow(UnreadableValue);
    expect(await charge(damaged, fails)).toEqual([7]);
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
