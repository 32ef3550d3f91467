import { describe, expect, it } from 'vitest';
import { authorize } from '../../lib/authorization/authorize.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { newSession } from '../../lib/sessions/session.ts';
import { LogOut } from '../../lib/sessions/session-contracts.ts';
import { sessionKey } from '../../lib/sessions/session-item.ts';
import { endSession, logOut } from '../../lib/sessions/sessions.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { ENDED_SESSIONS_MAX } from '../../lib/users/token-validity.ts';
import { formerUserKey } from '../../lib/users/user-items.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { storedSession } from '../support/doubles/stored-session.ts';
import { storedUser } from '../support/doubles/stored-user.ts';

const NOW = Date.UTC(2030, 0, 1);
const SECONDS = NOW / 1000;
const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };
useFrozenClock(NOW, { AUDIT_DAYS: '400' });

const ada = storedUser(7, 'ada');
const expires = SECONDS + 60;
const by = (table: MemoryTable) =>
  authorize(
    table,
    { ...storedSession(ada, { jti: 'mine', expires }), id: 7, source: SOURCE.address },
    LogOut.access,
  );

it('a session lasts as long as its token, and names no more of the client', () => {
  const traits = { remembered: false, secondFactor: true };
  const userAgent = `<b>é\u0000"curl"</b> (8.5; x_86/64: +a,b) ${'x'.repeat(300)}`;
  const session = newSession(ada, { ...SOURCE, userAgent }, traits, 3600, NOW + 999);

  expect(session).toEqual({
    jti: expect.stringMatching(/^0[a-z\d]{8}[\w-]{12}$/),
    startedAt: '2030-01-01T00:00:00.999Z',
    expires: SECONDS + 3600,
    ipAddress: '203.0.113.7',
    userAgent: `bcurl/b (8.5; x_86/64: +a,b) ${'x'.repeat(226)}`,
    ...traits,
    incarnation: 'adas',
    passwordChanges: 0,
    sessionEndings: 0,
  });
  expect(newSession(ada, SOURCE, traits, 3600, NOW).userAgent).toBe('');
  expect(newSession(ada, SOURCE, traits, 3600, NOW + 999).jti).not.toBe(session.jti);
  expect(newSession(ada, SOURCE, traits, 3600, NOW + 1000).jti > session.jti).toBe(true);
});

it('ending one session too many keeps the current one, unless that one ends', async () => {
  const full = new Set(Array.from({ length: ENDED_SESSIONS_MAX }, (_, n) => `${expires}-${n}`));
  const older = { ...sessionKey(7, 'older'), ...storedSession(ada, { jti: 'older', expires }) };
  const excepted = [];
  for (const end of [
    (table: MemoryTable) => endSession(table, by(table), 'older'),
    (table: MemoryTable) => logOut(table, by(table)),
  ]) {
    const table = memoryTable([
      { ...entityKey('USER', 7), ...ada, sessionsEnded: full },
      older as Item,
    ]);
    await end(table);
    const user = table.find(entityKey('USER', 7));
    excepted.push([user?.sessionEndings, user?.tokenExcepted]);
  }

  expect(excepted).toEqual([
    [1, 'mine'],
    [1, undefined],
  ]);
});

describe('logOut', () => {
  const { activated, incarnation, passwordChanges, authorities } = ada;
  const former = {
    ...formerUserKey(7),
    activated,
    incarnation,
    passwordChanges,
    authorities,
  };

  it.each<[string, object | undefined, number]>([
    ['the user was deleted', former, 1],
    ['another account with the id was deleted', { ...former, incarnation: 'other' }, 0],
    ['the session ended before the deletion', { ...former, sessionEndings: 5 }, 0],
    ['nothing is known of the user', undefined, 0],
  ])('succeeds when %s', async (_, item, transactions) => {
    const table = memoryTable(item ? [item as Item] : []);

    await logOut(table, by(table));

    expect(table.transactions).toHaveLength(transactions);
  });

  it('fails as any change does otherwise', async () => {
    const table = memoryTable();
    const { get } = table;
    table.get = async (key) => {
      if (key.pk === 'USER') throw new Failure('unavailable');
      return get(key);
    };

    await expect(logOut(table, by(table))).rejects.toThrow('unavailable');
  });
});
