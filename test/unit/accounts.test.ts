import { beforeEach, describe, expect, it } from 'vitest';
import { ChangePassword } from '../../lib/accounts/account-contracts.ts';
import { changePassword } from '../../lib/accounts/change-password.ts';
import { finishReset } from '../../lib/accounts/password-reset.ts';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import { authorize } from '../../lib/sessions/authorize.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { loginKeys } from '../../lib/throttle/attempt-items.ts';
import type { LoginThrottle } from '../../lib/throttle/login-throttle.ts';
import { hashOf, mailboxHashOf } from '../../lib/users/mailed-keys.ts';
import { emailGuardKey, loginGuardKey, resetItemKey } from '../../lib/users/user-items.ts';
import { waitMicrotasks } from '../support/doubles/aws-calls.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { admitted } from '../support/doubles/rule-arguments.ts';
import { itemsOfCaller, storedSession, storedUser } from '../support/doubles/stored-items.ts';
import { useFrozenClock } from '../support/doubles/time.ts';

/* The order and the amount of work of what is protected by a throttle, which no client sees. */

const NOW = Date.UTC(2030, 0, 1);
const SECONDS = NOW / 1000;
useFrozenClock(NOW, { AUDIT_DAYS: '400' });

const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };
const lenient = openPasswordPolicy({ minimum: 1, rejectCommon: false });
const strict = openPasswordPolicy({ minimum: 6, rejectCommon: true });

/** Calls of the test doubles, in order of completion. */
let events: string[] = [];
beforeEach(() => {
  events = [];
});

const passwords: Passwords = {
  async hash(password) {
    await waitMicrotasks();
    events.push(`hash ${password}`);
    return `hash of ${password}`;
  },
  async matches(password, phc) {
    events.push(`match ${phc}`);
    return phc === `hash of ${password}`;
  },
  isOutdated: () => false,
};

/** A throttle that admits every attempt, and reads the items asked for in this table. */
const throttleOn = (table: MemoryTable): LoginThrottle => ({
  async attempt({ login }, check) {
    events.push(`count ${login}`);
    return admitted(check, [], () => {
      events.push('clear failures');
      return [];
    });
  },
  async begin(_, source, keys = []) {
    const items = await table.getAll(keys);
    const count = async () => {
      // Longer than any other work, so that work before the end of the count is noticed.
      await waitMicrotasks(200);
      events.push(`count ${source.address}`);
    };
    return { count, items };
  },
  keysOf: async (login, source) => loginKeys(login, source.address, String),
});

const ada = storedUser(7, 'ada', { passwordHash: 'hash of old' });
const USER = entityKey('USER', 7);
const tableOf = (user: typeof ada, ...items: Parameters<typeof memoryTable>[0] & {}): MemoryTable =>
  memoryTable([
    ...itemsOfCaller(user),
    { ...loginGuardKey(user.login), id: user.id },
    { ...emailGuardKey(user.email), id: user.id },
    ...items,
  ]);
/** The same user with another version, which makes the next transaction start again. */
const touched = () => [put(USER, { ...ada, version: '4-x' })];

describe('finishReset', () => {
  const issued = {
    ...resetItemKey(hashOf('k3y')),
    userId: 7,
    securityStamp: 'reset',
    mailbox: mailboxHashOf(ada),
    issuedAt: NOW,
    expires: SECONDS + 1,
  };
  const finish = (table: MemoryTable, { key = 'k3y', password = 'new', policy = lenient } = {}) => {
    const services = { table, hasher: passwords, policy, throttle: throttleOn(table) };
    return finishReset(services, SOURCE, key, password);
  };

  it('counts the request before it computes one hash, also if it starts again', async () => {
    const table = tableOf(ada, issued);
    table.concurrent.push(touched());

    await finish(table);

    expect(events).toEqual(['count 203.0.113.7', 'hash new']);
    expect(table.find(issued)).toBeUndefined();
  });

  it('forgives the failures from the network of a user with a second factor', async () => {
    const { network } = loginKeys('ada', SOURCE.address, String);
    const failures = { ...network, n: 9, last: NOW, expires: SECONDS + 9 };
    const table = tableOf({ ...ada, secondFactor: {} as never }, issued, failures);

    await finish(table);

    expect(table.find(network)?.n).toBe(0);
  });

  const acceptable = { policy: strict, password: 'x9k2vw' };
  it.each<[string, string, object, Parameters<typeof finish>[1]]>([
    ['an expired key', 'unknown-key', { expires: SECONDS }, {}],
    ['a key of a deleted user', 'unknown-key', { userId: 8 }, {}],
    ['a common password without a key', 'unknown-key', {}, { key: 'other', password: 'dragon' }],
    ['a password like the login', 'common-password', {}, { password: 'Ada2030' }],
  ])('counts the request and computes no hash for %s', async (_, code, reset, request) => {
    const table = tableOf(ada, { ...issued, ...reset });

    await expect(finish(table, { ...acceptable, ...request })).rejects.toMatchObject({ code });
    // Until a hash that was begun would have ended.
    await waitMicrotasks();
    expect([events, table.transactions]).toEqual([['count 203.0.113.7'], []]);
  });
});

describe('changePassword', () => {
  const change = (table: MemoryTable) =>
    changePassword(
      { passwords, policy: lenient, throttle: throttleOn(table) },
      authorize(
        table,
        { ...storedSession(ada), id: 7, source: SOURCE.address },
        ChangePassword.access,
      ),
      SOURCE,
      'old',
      'new',
    );

  it('is one attempt with one hash, also if it starts again', async () => {
    const table = tableOf(ada);
    table.concurrent.push(touched());

    await change(table);

    expect(events.slice(0, 3).toSorted()).toEqual(['count ada', 'hash new', 'match hash of old']);
    expect(events.slice(3)).toEqual(['clear failures', 'clear failures']);
  });
});
