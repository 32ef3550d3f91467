import { describe, expect, it, vi } from 'vitest';
import { authorize } from '../../lib/authorization/authorize.ts';
import type { Access } from '../../lib/contract/contract.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import { put, type Write } from '../../lib/table/write.ts';
import type { CallerFrom } from '../../lib/users/caller.ts';
import { formerUserKey } from '../../lib/users/user-items.ts';
import { cancelledBy } from '../support/doubles/aws-errors.ts';
import { freezeClock } from '../support/doubles/frozen-clock.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';

const CALLER: CallerFrom = {
  id: 7,
  incarnation: 'first',
  jti: 'token',
  expires: 1_900_000_000,
  passwordChanges: 2,
  sessionEndings: 0,
  source: '192.0.2.1',
};
const STORED = {
  ...entityKey('USER', 7),
  id: 7,
  login: 'ada',
  activated: true,
  incarnation: 'first',
  passwordChanges: 2,
  sessionEndings: undefined as number | undefined,
  authorities: ['ROLE_USER'],
};
const INTEGRATORS: Access = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'] };

type Stored = Partial<typeof STORED> | undefined;

const tableWith = (fields: Partial<typeof STORED> | undefined, more: Item[] = []) =>
  memoryTable([...(fields ? [{ ...STORED, ...fields }] : []), ...more]);

const OTHER: Write = { act: 'Put', key: { pk: 'A', sk: 'B' }, attributes: {} };
const EVENT = {
  action: 'integration.updated',
  target: 'integration/5',
  targetName: 'Gate',
  changes: [{ field: 'name', from: 'Gate', to: 'Door' }],
} as const;

/** A change by the caller that makes these writes. */
function changeOf(table: Table, access: Access, writes: readonly Write[], caller = CALLER) {
  return authorize(table, caller, access).change({
    decide: ({ callerUser: { login, id } }) => ({ writes, result: `${login} ${id}`, event: EVENT }),
  });
}

const REQUIRED = 'second-factor-required';

const neverDecided = () => {
  throw new Error('never decided');
};

/** A table whose first transaction fails because of a concurrent change. */
function contended() {
  const table = tableWith({ authorities: ['ROLE_ADMIN'] });
  const { transact } = table;
  let tries = 0;
  table.transact = async (writes, token) => {
    if (++tries > 1) return transact(writes, token);
    throw cancelledBy('ConditionalCheckFailed');
  };
  return table;
}

describe('a caller', () => {
  const another = { incarnation: 'other' };

  it.each<[string, Stored, Access]>([
    ['without a role, where authentication suffices,', { authorities: [] }, 'authenticated'],
    ['with the first of two accepted roles', { authorities: ['ROLE_ADMIN'] }, INTEGRATORS],
    ['with the second of two', { authorities: ['ROLE_ANALYST', 'ROLE_USER'] }, INTEGRATORS],
    ['of an ended session, where that suffices,', { authorities: [] }, 'issued-token'],
  ])('%s may read and change', async (_, fields, access) => {
    const table = tableWith(fields);

    await expect(authorize(table, CALLER, access).requireAuthorized()).resolves.toBeUndefined();
    await expect(changeOf(table, access, [OTHER])).resolves.toBe('ada 7');
    expect(table.transactions).toHaveLength(1);
  });

  it.each<[string, Stored, Access, string?]>([
    ['whose user is deleted', undefined, INTEGRATORS],
    ['whose id belongs to another account', another, INTEGRATORS],
    ['who is deactivated, where no role is required,', { activated: false }, 'authenticated'],
    ['who has only another role', { authorities: ['ROLE_ANALYST'] }, INTEGRATORS, 'forbidden'],
    ['whose session has ended', { sessionEndings: 1 }, 'authenticated'],
  ])('%s may neither read nor change', async (_, fields, access, code = 'invalid-token') => {
    const table = tableWith(fields);

    await expect(authorize(table, CALLER, access).requireAuthorized()).rejects.toMatchObject({
      code,
    });
    await expect(changeOf(table, access, [OTHER])).rejects.toMatchObject({ code });
    expect(table.transactions).toEqual([]);
  });

  describe('whose user was deleted', () => {
    const FORMER = {
      ...formerUserKey(7),
      activated: true,
      incarnation: 'first',
      passwordChanges: 2,
      authorities: [],
    };
    const outcome = (table: Table, access: Access, options?: { deletionEndsSessions: boolean }) =>
      authorize(table, CALLER, access, options)
        .requireAuthorized()
        .catch(({ code }) => code);

    it('may read what requires no role, unless deletion ends sessions', async () => {
      const table = memoryTable([FORMER]);

      expect([
        await outcome(table, 'authenticated'),
        await outcome(table, 'authenticated', { deletionEndsSessions: true }),
        await outcome(table, INTEGRATORS),
      ]).toEqual([undefined, 'invalid-token', 'invalid-token']);
      const caller = authorize(table, CALLER, 'authenticated');
      const code = 'invalid-token';
      await expect(caller.findUser()).rejects.toMatchObject({ code });
      await expect(changeOf(table, 'authenticated', [OTHER])).rejects.toMatchObject({ code });
      expect(await caller.isAdministrator()).toBe(false);
    });

    it.each<[string, object]>([
      ['of an ended session', { sessionEndings: 1 }],
      ['of a deactivated user', { activated: false }],
      ['of another account', { incarnation: 'other' }],
    ])('may not with a token %s', async (_, fields) => {
      expect(await outcome(memoryTable([{ ...FORMER, ...fields }]), 'authenticated')).toBe(
        'invalid-token',
      );
    });

    it('may not once another account has the id', async () => {
      expect(await outcome(tableWith(another, [FORMER]), 'authenticated')).toBe('invalid-token');
    });
  });

  it.each([
    [['ROLE_USER', 'ROLE_ADMIN'], true],
    [['ROLE_USER'], false],
  ])('with the roles %j is an administrator: %s', async (authorities, expected) => {
    const caller = authorize(tableWith({ authorities }), CALLER, 'authenticated');

    expect(await caller.isAdministrator()).toBe(expected);
  });

  it('is read once for the access and the first load', async () => {
    const table = tableWith({});
    const caller = authorize(table, CALLER, INTEGRATORS);

    await Promise.all([caller.requireAuthorized(), caller.findUser()]);
    await caller.change({ decide: () => ({ writes: [OTHER], result: undefined, event: EVENT }) });

    expect(table.calls.filter((call) => call === 'get USER')).toHaveLength(1);
  });
});

describe('a change by a caller', () => {
  it.each<[string, object, string]>([
    ['lost the role', { version: '2-b', authorities: [] }, 'forbidden'],
    ['turned off the second factor', { factorChanges: 2, secondFactor: undefined }, REQUIRED],
    ['logged out', { sessionsEnded: new Set(['1900000000-token']) }, 'invalid-token'],
  ])('is refused if its caller has %s before it is committed', async (_, fields, code) => {
    const user = { ...STORED, version: '1-a', factorChanges: 1, secondFactor: {} };
    const table = memoryTable([user]);
    table.concurrent.push([put(entityKey('USER', 7), { ...user, ...fields })]);
    const secondFactor = { roles: ['ROLE_USER'], from: '2020-01-01' } as const;

    const caller = authorize(table, CALLER, INTEGRATORS, { secondFactor });
    const change = caller.change({
      decide: () => ({ writes: [OTHER], result: undefined, event: EVENT }),
    });

    await expect(change).rejects.toMatchObject({ code });
  });

  it('needs no valid session where an issued token suffices', async () => {
    const table = tableWith({ sessionEndings: 1 });
    const caller = authorize(table, CALLER, 'issued-token');

    await expect(caller.requireAuthorized()).resolves.toBeUndefined();
    await expect(caller.findUser()).rejects.toMatchObject({ code: 'invalid-token' });
    expect(table.calls).toEqual(['get USER']);
  });

  it('commits nothing, not even an audit entry, when it writes nothing', async () => {
    const table = tableWith({});

    expect(await changeOf(table, INTEGRATORS, [])).toBe('ada 7');
    expect(table.transactions).toEqual([]);
  });

  it.each(['succeeds', 'fails'])(
    'loads and prepares nothing for an unauthorized caller but the early load, which %s',
    async (outcome) => {
      const steps: string[] = [];

      const change = authorize(tableWith({ authorities: [] }), CALLER, INTEGRATORS).change({
        async loadEarly() {
          steps.push('load early');
          if (outcome === 'fails') throw new Error('not found');
        },
        load: async () => steps.push('load'),
        prepare: async () => steps.push('prepare'),
        decide: neverDecided,
      });

      await expect(change).rejects.toMatchObject({ code: 'forbidden' });
      expect(steps).toEqual(['load early']);
    },
  );

  it('decides nothing once the account has made 50 changes in 10 seconds', async () => {
    freezeClock(1_000_000_007_000);
    const table = tableWith({});
    table.update = async (write) => {
      table.updates.push(write);
      return undefined;
    };
    const prepare = vi.fn(async () => undefined);

    const change = authorize(table, CALLER, INTEGRATORS).change({ prepare, decide: neverDecided });

    await expect(change).rejects.toMatchObject({ code: 'change-budget-spent', retryAfter: 3 });
    expect(prepare).not.toHaveBeenCalled();
    const values = { ':amount': 1, ':rest': 49, ':expires': 1_000_000_070 };
    const key = { pk: 'CHANGES#0000000000000007', sk: '100000000' };
    expect(table.updates).toMatchObject([{ key, values }]);
  });

  it.each([
    ['a log-out', {}, 'issued-token', 'ada 7'],
    ['a change with an ended token', { passwordChanges: 3 }, INTEGRATORS, undefined],
  ] as const)('does not count %s', async (_, fields, access, result) => {
    const table = tableWith(fields);

    const change = changeOf(table, access, [OTHER]);

    if (result) await expect(change).resolves.toBe(result);
    else await expect(change).rejects.toMatchObject({ code: 'invalid-token' });
    expect(table.updates).toEqual([]);
  });

  it('loads for each attempt, and prepares and counts once', async () => {
    const table = contended();
    const steps: string[] = [];

    const result = await authorize(table, CALLER, INTEGRATORS).change({
      loadEarly: async () => steps.push('load early'),
      load: async (early) => `${early}.${steps.push('load')}`,
      prepare: async (loaded) => `${loaded}.${steps.push('prepare')}`,
      decide: ({ loaded, prepared }) => ({
        writes: [OTHER],
        result: [loaded, prepared],
        event: EVENT,
      }),
    });

    expect(steps).toEqual(['load early', 'load', 'prepare', 'load early', 'load']);
    expect(table.updates).toHaveLength(1);
    expect(result).toEqual(['4.5', '1.2.3']);
  });
});
