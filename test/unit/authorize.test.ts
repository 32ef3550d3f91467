import { afterEach, describe, expect, it, vi } from 'vitest';
import { authorize, openAccessSettings } from '../../lib/authorization/authorize.ts';
import type { Access } from '../../lib/contract/contract.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import type { CallerFrom } from '../../lib/users/caller.ts';
import { sessionKey } from '../../lib/users/session-item.ts';
import { cancelledBy } from '../support/doubles/aws-calls.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { storedSession, storedUser } from '../support/doubles/stored-items.ts';

/* Every kind of refused caller is in test/api/unauthorized.test.ts. */

const CALLER: CallerFrom = { id: 7, jti: 'token', expires: 1_900_000_000, source: '192.0.2.1' };
const INTEGRATORS: Access = { anyRole: ['ROLE_ADMIN', 'ROLE_USER'] };
const USER = { ...entityKey('USER', 7), ...storedUser(7, 'ada') };
const SESSION = { ...sessionKey(CALLER), ...storedSession(storedUser(7, 'ada'), CALLER) };
const OUTLIVING = { ...SESSION, deletedUser: { authorities: ['ROLE_USER'], secondFactor: false } };

afterEach(() => vi.unstubAllEnvs());

describe('the session of a deleted user', () => {
  it.each<[string, object[], boolean, Access?, string?]>([
    ['what requires no role', [OUTLIVING], true],
    ['nothing where a deletion ends sessions', [OUTLIVING], false, 'authenticated', 'true'],
    ['nothing that requires a role', [OUTLIVING], false, INTEGRATORS],
    ['nothing if the deletion has ended it', [SESSION], false],
    ['nothing without its item', [], false],
  ])('reads %s', async (_, items, reads, access = 'authenticated', endsSessions = 'false') => {
    vi.stubEnv('DELETION_ENDS_SESSIONS', endsSessions);
    const table = memoryTable(items as Item[]);

    const authorized = authorize(table, CALLER, access, openAccessSettings()).requireAuthorized();

    if (reads) await expect(authorized).resolves.toBeUndefined();
    else await expect(authorized).rejects.toMatchObject({ code: 'invalid-token' });
  });
});

it('a change that meets a conflict loads again, and prepares and counts once', async () => {
  const table = memoryTable([USER, SESSION] as never);
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
