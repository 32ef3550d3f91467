import { afterEach, describe, expect, it, vi } from 'vitest';
import { authorize, openAccessSettings } from '../../lib/authorization/authorize.ts';
import type { Access } from '../../lib/contract/contract.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import type { CallerFrom } from '../../lib/users/caller.ts';
import { formerUserKey } from '../../lib/users/user-items.ts';
import { cancelledBy } from '../support/doubles/aws-calls.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';

/* Everybody who is refused is in test/api/unauthorized.test.ts and stale-tokens.test.ts. */

const CALLER: CallerFrom = {
  id: 7,
  incarnation: 'first',
  jti: 'token',
  expires: 1_900_000_000,
  passwordChanges: 2,
  sessionEndings: 0,
  source: '192.0.2.1',
};
const INTEGRATORS: Access = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'] };
const STATE = {
  activated: true,
  incarnation: 'first',
  passwordChanges: 2,
  authorities: ['ROLE_USER'],
};
const USER = { ...entityKey('USER', 7), ...STATE, id: 7, login: 'ada' };
const FORMER = { ...formerUserKey(7), ...STATE };

afterEach(() => vi.unstubAllEnvs());

describe('the token of a deleted user', () => {
  const another = { ...USER, incarnation: 'other' };

  it.each<[string, object[], boolean, Access?, string?]>([
    ['what requires no role', [FORMER], true],
    ['nothing where a deletion ends sessions', [FORMER], false, 'authenticated', 'true'],
    ['nothing that requires a role', [FORMER], false, INTEGRATORS],
    ['nothing after its session has ended', [{ ...FORMER, sessionEndings: 1 }], false],
    ['nothing after a deactivation', [{ ...FORMER, activated: false }], false],
    ['nothing once another account has the id', [another, FORMER], false],
  ])('reads %s', async (_, items, reads, access = 'authenticated', endsSessions = 'false') => {
    vi.stubEnv('DELETION_ENDS_SESSIONS', endsSessions);
    const table = memoryTable(items as Item[]);

    const authorized = authorize(table, CALLER, access, openAccessSettings()).requireAuthorized();

    if (reads) await expect(authorized).resolves.toBeUndefined();
    else await expect(authorized).rejects.toMatchObject({ code: 'invalid-token' });
  });
});

it('a change that meets a conflict loads again, and prepares and counts once', async () => {
  const table = memoryTable([USER]);
  const { transact } = table;
  table.transact = async () => {
    table.transact = transact;
    throw cancelledBy('ConditionalCheckFailed');
  };
  const write: Write = { act: 'Put', key: { pk: 'A', sk: 'B' }, attributes: {} };
  const event = {
    action: 'integration.deleted',
    target: 'integration/5',
    targetName: 'Gate',
    changes: [],
  } as const;
  const steps: string[] = [];

  const result = await authorize(table, CALLER, INTEGRATORS).change({
    loadEarly: async () => steps.push('load early'),
    load: async (early) => `${early}.${steps.push('load')}`,
    prepare: async (loaded) => `${loaded}.${steps.push('prepare')}`,
    decide: ({ loaded, prepared }) => ({ writes: [write], result: [loaded, prepared], event }),
  });

  expect(steps).toEqual(['load early', 'load', 'prepare', 'load early', 'load']);
  expect(table.updates).toHaveLength(1);
  expect(result).toEqual(['4.5', '1.2.3']);
});
