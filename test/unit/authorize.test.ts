import { expect, it, vi } from 'vitest';
import { authorize, openAccessSettings } from '../../lib/authorization/authorize.ts';
import type { Access } from '../../lib/contract/contract.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put, set } from '../../lib/table/write.ts';
import type { CallerFrom } from '../../lib/users/caller.ts';
import { sessionKey } from '../../lib/users/session-item.ts';
import { cancelledBy } from '../support/doubles/aws-calls.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { storedSession, storedUser } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';

/* Every kind of refused caller is in test/api/unauthorized.test.ts. */

const CALLER: CallerFrom = { id: 7, jti: 'token', expires: 1_900_000_000, source: '192.0.2.1' };
const INTEGRATORS: Access = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'] };
const USER = { ...entityKey('USER', 7), ...storedUser(7, 'ada') };
const SESSION = { ...sessionKey(CALLER), ...storedSession(storedUser(7, 'ada'), CALLER) };

const CHANGE = {
  decide: () => ({
    writes: [put({ pk: 'A', sk: 'B' }, {})],
    result: undefined,
    event: {
      action: 'integration.deleted',
      target: 'integration/5',
      targetName: 'Gate',
      changes: [],
    } as const,
  }),
};
/** The start of a window in which changes are counted. */
const NOW = Date.UTC(2030, 0, 1);

it('the session of a deleted user reads nothing where a deletion ends sessions', async () => {
  vi.stubEnv('DELETION_ENDS_SESSIONS', 'true');
  const deletedUser = { authorities: ['ROLE_USER'], secondFactor: false };
  const table = memoryTable([{ ...SESSION, deletedUser }] as never);

  const { requireAuthorized } = authorize(table, CALLER, 'authenticated', openAccessSettings());

  await expect(requireAuthorized()).rejects.toMatchObject({ code: 'invalid-token' });
});

it('a change beyond the budget of its account is rejected until the window ends', async () => {
  freezeClock(NOW + 3000);
  const table = memoryTable([USER, SESSION] as never);
  table.update = async () => undefined;

  const changed = authorize(table, CALLER, INTEGRATORS).change(CHANGE);

  await expect(changed).rejects.toMatchObject({ code: 'change-budget-spent', retryAfter: 7 });
});

it('a change is not committed once its caller has turned off the required factor', async () => {
  freezeClock(NOW);
  const secondFactor = { roles: ['ROLE_USER' as const], from: '2026-01-01' };
  const table = memoryTable([{ ...USER, secondFactor: {}, factorChanges: 1 }, SESSION] as never);
  table.concurrent.push([set(entityKey('USER', 7), { secondFactor: undefined, factorChanges: 2 })]);

  const changed = authorize(table, CALLER, INTEGRATORS, { secondFactor }).change(CHANGE);

  await expect(changed).rejects.toMatchObject({ code: 'second-factor-required' });
});

it('a change that meets a conflict loads again, and prepares and counts once', async () => {
  const table = memoryTable([USER, SESSION] as never);
  const { transact } = table;
  table.transact = async () => {
    table.transact = transact;
    throw cancelledBy('ConditionalCheckFailed');
  };
  const steps: string[] = [];

  const result = await authorize(table, CALLER, INTEGRATORS).change({
    loadEarly: async () => steps.push('load early'),
    load: async (early) => `${early}.${steps.push('load')}`,
    prepare: async (loaded) => `${loaded}.${steps.push('prepare')}`,
    decide: ({ loaded, prepared }) => ({ ...CHANGE.decide(), result: [loaded, prepared] }),
  });

  expect(steps).toEqual(['load early', 'load', 'prepare', 'load early', 'load']);
  expect(table.updates).toHaveLength(1);
  expect(result).toEqual(['4.5', '1.2.3']);
});
