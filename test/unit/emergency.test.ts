import { expect, it } from 'vitest';
import {
  armEmergencyAccount,
  disarmEmergencyAccount,
} from '../../lib/operations/administrators/emergency.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { armingKey } from '../../lib/users/emergency-account.ts';
import { loginGuardKey, rosterKey } from '../../lib/users/user-items.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { storedUser } from '../support/doubles/stored-items.ts';

it('tells as many administrators as one transaction holds, by the lowest ids', async () => {
  const secondFactor = { nonce: 'n', key: 'k', lastStep: 5, recoveryNonce: 'r', recoveryCodes: 7 };
  const ids = Array.from({ length: 120 }, (_, n) => 120 - n);
  // As when the administrator is deleted between the reads of the roster and of the users.
  const deletedId = 7;
  const table = memoryTable([
    { ...rosterKey, ids: new Set(ids) },
    { ...loginGuardKey('user-1'), id: 1 },
    ...ids
      .filter((id) => id !== deletedId)
      .map((id) => ({
        ...entityKey('USER', id),
        ...storedUser(id, `user-${id}`, { authorities: ['ROLE_ADMIN'], secondFactor }),
      })),
  ]);

  const emergency = { minutes: 5, reason: 'outage', by: 'operator' };
  const armed = await armEmergencyAccount(table, 'user-1', emergency);

  expect(armed).toMatchObject({ outcome: 'armed', notified: 79 });
  const [writes = []] = table.transactions;
  const mailed = writes.flatMap(({ key }) => (key.pk.startsWith('MAIL#') ? [key.pk] : []));
  expect(mailed.sort()[78]).toBe('MAIL#0000000000000080');
  // A log-in needs some of the 100 actions itself.
  expect(writes.length).toBeLessThan(90);
});

it('disarms whoever is armed again meanwhile', async () => {
  const armed = { userId: 1, login: 'user-1', expires: 300, reason: 'outage', by: 'operator' };
  const table = memoryTable([{ ...armingKey, ...armed }]);
  table.concurrent.push([put(armingKey, { ...armed, userId: 2, login: 'user-2' })]);

  expect(await disarmEmergencyAccount(table, 'operator')).toBe('user-2');
  expect(table.find(armingKey)).toBeUndefined();
});
