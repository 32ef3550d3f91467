import { beforeEach, describe, expect, it, vi } from 'vitest';
import { credentialKey } from '../../lib/integrations/integration-items.ts';
import { createFirstAdministrator } from '../../lib/operations/administrators/first-administrator.ts';
import { adoptTable } from '../../lib/operations/restore/adopt-table.ts';
import { sequenceKey } from '../../lib/table/item-kind.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { TableScanner } from '../../lib/table/table-scanner.ts';
import { put } from '../../lib/table/write.ts';
import { NotGatehouseTable } from '../../lib/table/wrong-table.ts';
import { notBeforeKey, publicKeyItemKey } from '../../lib/tokens/token.ts';
import { rosterKey } from '../../lib/users/user-items.ts';
import { cancelledBy } from '../support/doubles/aws-calls.ts';
import { memoryTable, recordingTable, recordsIn } from '../support/doubles/memory-table.ts';
import { INTACT_ITEMS } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';

const NOW = Date.UTC(2030, 0, 1) + 700;
const SECOND = Math.floor(NOW / 1000);
beforeEach(() => vi.useFakeTimers({ now: NOW }));

describe('adoptTable', () => {
  /** Just before the end of a second, to keep the wait short. */
  const ALMOST = SECOND * 1000 + 940;
  // adoptTable must really wait, so only Date is faked.
  beforeEach(() => freezeClock(ALMOST));

  const roster = { ...rosterKey, ids: new Set([1]) };
  const gate = {
    ...(INTACT_ITEMS.find(({ pk }) => pk === 'INTEGRATION') as Item),
    version: '6-abc',
  };
  const reset = (hash: string): Item => ({ pk: `RESET#${hash}`, sk: 'RESET' });
  const pending = { pk: 'PENDING-EMAIL#0000000000000007', sk: 'EMAIL' };
  const scannerOf = (...pages: Item[][]) =>
    ({
      async *scan() {
        yield* pages;
      },
    }) as Partial<TableScanner> as TableScanner;

  it.each<[string, number[], number[] | undefined, number[]]>([
    ['a million ids', [12, 0], undefined, [1_000_012, 1_000_000]],
    ['at least the ids of the original', [0, 0], [1_000_099, 7], [1_000_099, 1_000_000]],
  ])('skips %s in both sequences', async (_, stored, originals, expected) => {
    const sequences = (counts: number[]) =>
      counts.map((n, index) => ({ ...sequenceKey(index === 0 ? 'USER' : 'INTEGRATION'), n }));
    const [table, original] = [
      memoryTable([roster, ...sequences(stored)]),
      originals && memoryTable(sequences(originals)),
    ];

    const adoption = await adoptTable(table, scannerOf(), { original });

    expect(adoption.sequences).toMatchObject(
      expected.map((after, index) => ({ before: stored[index], after })),
    );
    expect(sequences([0, 0]).map((key) => table.find(key)?.n)).toEqual(expected);
  });

  it('invalidates tokens issued before the next second and waits for that second', async () => {
    const table = memoryTable([roster]);

    const started = performance.now();
    const adoption = await adoptTable(table, scannerOf());

    expect(performance.now() - started).toBeGreaterThan(58);
    expect(adoption.notBefore).toEqual(new Date((SECOND + 1) * 1000));
    expect(table.find(notBeforeKey)?.seconds).toBe(SECOND + 1);
  });

  it.each([
    ['raises an earlier time', SECOND - 5, SECOND + 1],
    ['keeps a later time of a clock that is fast', SECOND + 61, SECOND + 61],
    ['lowers a time that only a wrong clock can have stored', SECOND + 62, SECOND + 1],
  ])('%s from which tokens are accepted', async (_, stored, expected) => {
    const table = memoryTable([roster, { ...notBeforeKey, seconds: stored }]);
    // Otherwise the adoption would wait until the expected time.
    const passTime = () => void vi.setSystemTime((SECOND + 100) * 1000);

    const adoption = await adoptTable(table, scannerOf([roster]), { onProgress: passTime });

    expect(table.find(notBeforeKey)?.seconds).toBe(expected);
    expect(adoption.notBefore).toEqual(new Date(expected * 1000));
  });

  it('deletes only the mailed keys, on every page, also after a conflict', async () => {
    const others = [
      { pk: 'USER', sk: 'RESET#' },
      { pk: 'RESETS', sk: 'RESET' },
    ];
    const keys = [reset('a'), reset('b'), reset('c'), pending];
    const table = memoryTable([roster, ...keys, ...others]);
    table.concurrent.push([], [], [], [{ act: 'Delete', key: reset('a') as never }]);
    const { transact } = table;
    const busyOnce = vi.fn(transact);
    table.transact = busyOnce;
    for (let calls = 0; calls < 4; calls++) busyOnce.mockImplementationOnce(transact);
    busyOnce.mockRejectedValueOnce(cancelledBy('TransactionConflict'));

    const adoption = await adoptTable(table, scannerOf([reset('a'), ...others], keys.slice(1)));

    expect(adoption.mailedKeys).toBe(4);
    expect([keys, others].map((items) => items.filter((item) => table.find(item)).length)).toEqual([
      0, 2,
    ]);
  });

  /** Adopts a table with this integration. Returns the adoption, and the integration afterwards. */
  async function adoptIntegration(integration: Item, original?: Item) {
    const { pk, sk } = integration;
    const credentials = ['kept', 'deleted'].map((id) => ({ ...credentialKey(id), hash: 'h' }));
    const table = memoryTable([roster, integration, ...credentials]);
    const adoption = await adoptTable(table, scannerOf([{ pk, sk }]), {
      original: original && memoryTable([roster, original]),
    });
    const items = credentials.filter((key) => table.find(key)).map(({ pk }) => pk);
    return { adoption, after: table.find(integration), items };
  }

  it('skips 10,000 ids of parameters of each integration, and flags its module', async () => {
    const { adoption, after } = await adoptIntegration(gate);

    expect(after).toEqual({
      ...gate,
      parametersEver: 10_009,
      module: { needsRestart: true, needsRestartSince: ALMOST, changes: 1_000_000 },
      version: expect.stringMatching(/^7-[\da-f-]{36}$/),
      // No module takes what was restored for a configuration that it has already.
      moduleRevision: Math.floor(ALMOST / 1000),
      revision: 7,
    });
    expect(adoption.restarts).toBe(1);
  });

  it('makes the number of a configuration higher than after any earlier adoption', async () => {
    const { after: once } = await adoptIntegration(gate);
    const { after: twice } = await adoptIntegration(once as Item);

    expect(twice?.moduleRevision).toBe(Math.floor(ALMOST / 1000) + 1_000_000);
  });

  it('deletes the credentials of modules that the original no longer has', async () => {
    const credential = (clientId: string) => ({ clientId, expires: '2100-01-01' });
    const [kept, deleted] = [credential('kept'), credential('deleted')];
    const restored = { ...gate, credentials: [kept, deleted] };
    const [alone, beside, besideDamaged] = [
      await adoptIntegration(restored),
      await adoptIntegration(restored, { ...gate, credentials: [kept, credential('later')] }),
      await adoptIntegration(restored, { ...gate, credentials: 'damaged' }),
    ];

    expect([alone.after?.credentials, alone.adoption.credentials]).toEqual([[], 2]);
    expect([beside.after?.credentials, beside.adoption.credentials]).toEqual([[kept], 1]);
    expect(besideDamaged.after?.credentials).toEqual([]);
    expect([alone.items, beside.items]).toEqual([[], ['CREDENTIAL#kept']]);
  });

  it.each([
    [{ needsRestart: true, needsRestartSince: 5, changes: 3 }, 5],
    [{ needsRestart: false, changes: 3 }, ALMOST],
  ])('flags the module %j since %i', async (module, needsRestartSince) => {
    const { after } = await adoptIntegration({ ...gate, module });

    expect(after?.module).toEqual({ needsRestart: true, needsRestartSince, changes: 1_000_003 });
  });

  it('advances ids of parameters to 999,999 at most, which is the last one', async () => {
    const { after } = await adoptIntegration({ ...gate, parametersEver: 990_000 });

    expect(after?.parametersEver).toBe(999_999);
  });

  it('changes an integration under its revision, and retries after a conflict', async () => {
    const table = recordingTable(roster, gate);
    table.transactionErrors.push(
      undefined,
      undefined,
      undefined,
      cancelledBy('ConditionalCheckFailed'),
    );

    const adoption = await adoptTable(table, scannerOf([{ ...entityKey('INTEGRATION', 4) }]));

    const write = expect.objectContaining({
      condition: '#revision = :revision',
      onConditionFailed: 'retry',
    });
    expect(table.transactions.slice(3)).toEqual([[write], [write]]);
    expect(adoption.restarts).toBe(1);
  });

  it('leaves damaged and deleted integrations to the verification', async () => {
    const damaged = { ...gate, parametersEver: 'many' };
    const table = recordingTable(roster, damaged);

    const adoption = await adoptTable(
      table,
      scannerOf([damaged, { ...entityKey('INTEGRATION', 5) }]),
    );

    expect([adoption.restarts, table.transactions.length]).toEqual([0, 3]);
  });

  describe('of a user with a second factor', () => {
    const user = INTACT_ITEMS.find(({ pk }) => pk === 'USER') as Item;
    const FACTOR = { nonce: 'n', key: 'k', lastStep: 5, recoveryNonce: 'r', recoveryCodes: 0b111 };
    const withFactor = (fields: object = {}): Item => ({
      ...user,
      secondFactor: { ...FACTOR, ...fields },
    });
    const codesAfter = async (restored: Item, original?: Item, times = 1) => {
      const table = memoryTable([roster, restored]);
      const options = { original: original && memoryTable([original]) };
      const counts: number[] = [];
      for (let n = 0; n < times; n++)
        counts.push((await adoptTable(table, scannerOf([restored]), options)).recoveryCodes);
      const { secondFactor, ...rest } = table.find(user) as Item;
      expect({ ...rest, secondFactor: { ...FACTOR, recoveryCodes: 0 } }).toEqual({
        ...user,
        secondFactor: { ...FACTOR, recoveryCodes: 0 },
      });
      return [secondFactor, ...counts];
    };

    it('voids the recovery codes once, and nothing else', async () => {
      expect(await codesAfter(withFactor(), undefined, 2)).toEqual([
        { ...FACTOR, recoveryCodes: 0 },
        1,
        0,
      ]);
    });

    it.each<[string, Item | undefined, number]>([
      ['unused in the original', withFactor({ recoveryCodes: 0b1101, lastStep: 9 }), 0b101],
      ['of other recovery codes there', withFactor({ recoveryNonce: 's' }), 0],
      ['of another factor there', withFactor({ nonce: 'm' }), 0],
      ['of a factor that is off there', user, 0],
      ['of a user who is damaged there', { ...withFactor(), langKey: 1 }, 0],
    ])('keeps only recovery codes that are unused in the original: %s', async (_, other, codes) => {
      expect(await codesAfter(withFactor(), other, 2)).toEqual([
        { ...FACTOR, recoveryCodes: codes },
        1,
        0,
      ]);
      expect((await codesAfter(withFactor({ recoveryCodes: 0 }), other))[1]).toBe(0);
    });

    it('decides again after a concurrent change, and leaves a damaged user', async () => {
      const table = memoryTable([roster, withFactor()]);
      table.concurrent.push([], [], [], [put(user, withFactor({ lastStep: 6 }))]);

      await adoptTable(table, scannerOf([withFactor()]));
      const damaged = memoryTable([roster, withFactor({ recoveryCodes: -1 })]);
      await adoptTable(damaged, scannerOf([withFactor()]));

      expect(table.find(user)?.secondFactor).toEqual({ ...FACTOR, lastStep: 6, recoveryCodes: 0 });
      expect(damaged.transactions).toHaveLength(3);
    });
  });

  it('deletes all public keys, but not the time beside them', async () => {
    const [one, other] = [publicKeyItemKey('one'), publicKeyItemKey('other')];
    const table = memoryTable([roster, ...[one, other].map((key) => ({ ...key, jwk: {} }))]);

    const adoption = await adoptTable(
      table,
      scannerOf([{ ...one }, { ...notBeforeKey }, { ...other }]),
    );

    expect(adoption.publicKeys).toBe(2);
    expect([table.find(one), table.find(other)]).toEqual([undefined, undefined]);
    expect(table.find(notBeforeKey)).toEqual({ ...notBeforeKey, seconds: SECOND + 1 });
  });

  it('throws NotGatehouseTable without an administrator, before it changes anything', async () => {
    const table = memoryTable();

    await expect(adoptTable(table, scannerOf())).rejects.toBeInstanceOf(NotGatehouseTable);
    expect(table.transactions).toEqual([]);
  });
});

describe('createFirstAdministrator', () => {
  const person = { login: 'root', email: 'root@example.com', password: 'secret' };

  it('takes one id and computes one hash, also if it starts again', async () => {
    const table = memoryTable();
    const hash = vi.fn(async () => 'hash');
    table.concurrent.push([put(rosterKey, { n: 1 })]);

    const user = await createFirstAdministrator(table, { hash }, person);

    const ids = table.calls.filter((call) => call === 'nextId USER');
    expect([ids.length, hash.mock.calls.length]).toEqual([1, 1]);
    expect(user).toMatchObject({ activated: true, langKey: 'en' });
    expect(recordsIn(table)).toEqual(['system first-admin user.created user/1001 root']);
  });

  it('takes neither an id nor a hash when there is an administrator', async () => {
    const table = memoryTable([{ ...rosterKey, ids: new Set([5]) }]);
    const hash = vi.fn(async () => 'hash');

    expect(await createFirstAdministrator(table, { hash }, person)).toBeUndefined();
    expect(table.calls).not.toContain('nextId USER');
    expect(hash).not.toHaveBeenCalled();
  });
});
