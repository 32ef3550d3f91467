import { beforeEach, describe, expect, it } from 'vitest';
import { ChangePassword } from '../../lib/accounts/account-contracts.ts';
import { changePassword } from '../../lib/accounts/change-password.ts';
import { confirmEmail } from '../../lib/accounts/confirm-email.ts';
import { logIn } from '../../lib/accounts/log-in.ts';
import { finishReset, requestReset } from '../../lib/accounts/password-reset.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { loginKeys } from '../../lib/throttle/attempt-items.ts';
import type { LoginThrottle } from '../../lib/throttle/login-throttle.ts';
import { hashOf, mailboxHashOf } from '../../lib/users/reset-key.ts';
import type { User } from '../../lib/users/user.ts';
import { emailGuardKey, loginGuardKey, resetItemKey } from '../../lib/users/user-items.ts';
import { admitted } from '../support/doubles/admitted.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { waitMicrotasks } from '../support/doubles/microtasks.ts';
import { overlapCounter } from '../support/doubles/overlap.ts';
import { storedSession } from '../support/doubles/stored-session.ts';
import { storedUser } from '../support/doubles/stored-user.ts';

/* The order and the amount of work of what is protected by a throttle, which no client sees. */

const NOW = Date.UTC(2030, 0, 1);
const SECONDS = NOW / 1000;
useFrozenClock(NOW, {
  AUDIT_DAYS: '400',
  TOKEN_SECONDS: '3600',
  REMEMBERED_TOKEN_SECONDS: '86400',
});

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

const tooMany = () => Promise.reject(new Failure('too-many-attempts', { retryAfter: 7 }));
/** A throttle that admits or rejects every attempt, and reads the items asked for in this table. */
const throttleOn = (table: MemoryTable, admits = true): LoginThrottle => ({
  async attempt({ login, alsoRead = [] }, check) {
    if (!admits) return tooMany();
    events.push(`count ${login}`);
    const items = await table.getAll(alsoRead);
    return admitted(check, items, () => {
      events.push('clear failures');
      return [];
    });
  },
  async begin(_, source, keys = []) {
    const items = await table.getAll(keys);
    const count = async () => {
      if (!admits) return tooMany();
      // Longer than any other work, so that work before the end of the count is noticed.
      await waitMicrotasks(200);
      events.push(`count ${source.address}`);
    };
    return { count, items };
  },
  keysOf: async (login, source) => loginKeys(login, source.address, String),
});

const adaWith = (fields: Partial<User> = {}) =>
  storedUser(7, 'ada', { passwordHash: 'hash of old', ...fields });
const ada = adaWith();
const USER = entityKey('USER', 7);
const tableOf = (user: User, ...items: Parameters<typeof memoryTable>[0] & {}): MemoryTable =>
  memoryTable([
    { ...entityKey('USER', user.id), ...user },
    { ...loginGuardKey(user.login), id: user.id },
    { ...emailGuardKey(user.email), id: user.id },
    ...items,
  ]);
/** The same user with another version, which makes the next transaction start again. */
const touched = (user = ada) => [put(USER, { ...user, version: '4-x' })];

describe('logIn', () => {
  const logInOn = (
    table: MemoryTable,
    { username = 'ada', password = 'old', admits = true, rememberMe = false } = {},
    issueToken = async () => 'token',
  ) =>
    logIn(
      {
        table,
        passwords,
        factorSecrets: () => Promise.reject(new Error('Nobody here has a second factor')),
        requirement: undefined,
        throttle: throttleOn(table, admits),
        issueToken,
      },
      SOURCE,
      { username, password, code: null, rememberMe },
    );

  it.each<[string, User, string, string, string]>([
    ['a wrong password', ada, 'ada', 'wrong', 'hash of old'],
    ['a deactivated account', adaWith({ activated: false }), 'ada', 'old', 'hash of old'],
    [
      'an account without a password',
      adaWith({ passwordHash: undefined }),
      'ada',
      'undefined',
      'undefined',
    ],
    ['an unknown login', ada, 'eve', 'old', 'undefined'],
    ['a malformed login', ada, 'a b', 'old', 'undefined'],
    ['a login whose user was renamed', adaWith({ login: 'eve' }), 'ada', 'old', 'undefined'],
    ['a login whose user was deleted', storedUser(8, 'eve'), 'ada', 'old', 'undefined'],
  ])('rejects %s after the same work', async (_, user, username, password, hash) => {
    const guard = user.login === 'eve' ? [{ ...loginGuardKey('ada'), id: 7 }] : [];
    const table = tableOf(user, ...guard);

    const login = logInOn(table, { username, password });

    await expect(login).rejects.toMatchObject({ code: 'bad-credentials' });
    expect(events).toEqual([`count ${username}`, `match ${hash}`]);
    expect(table.calls.map((call) => call.split(' ')[0])).toEqual(['getAll', 'get']);
  });

  it('reads and compares nothing while the login is throttled', async () => {
    const table = tableOf(ada);

    const login = logInOn(table, { admits: false });

    await expect(login).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 7 });
    expect([events, table.calls]).toEqual([[], []]);
  });

  it('names the user whose attempts are throttled by the guard of the login', async () => {
    const table = tableOf(ada);
    let named: unknown[] = [];
    const attempt: LoginThrottle['attempt'] = ({ userIdIn }) => {
      named = [userIdIn([{ ...loginGuardKey('ada'), id: 7 }]), userIdIn([undefined])];
      return tooMany();
    };
    const services = { table, passwords, throttle: { ...throttleOn(table), attempt } } as never;
    const credentials = { username: 'ada', password: 'old', code: null, rememberMe: false };

    await expect(logIn(services, SOURCE, credentials)).rejects.toThrow('too-many-attempts');
    expect(named).toEqual([7, undefined]);
  });

  it('stores no session when the token cannot be signed', async () => {
    const table = tableOf(ada);
    const issueToken = () => Promise.reject(new Error('KMS is unavailable'));

    await expect(logInOn(table, {}, issueToken)).rejects.toThrow('KMS is unavailable');
    expect(table.transactions).toEqual([]);
  });
});

describe('requestReset', () => {
  it.each([
    [true, 'ada@example.com', [1]],
    [true, 'unknown@example.com', [1]],
    [false, 'ada@example.com', []],
  ])(
    'makes the same write for every address, if it is admitted: %s, %s',
    async (admits, address, written) => {
      const table = tableOf(ada);

      const requested = requestReset(
        { table, throttle: throttleOn(table, admits) },
        SOURCE,
        address,
      );

      if (admits) await requested;
      else await expect(requested).rejects.toMatchObject({ code: 'too-many-attempts' });
      expect([events, table.calls]).toEqual([admits ? ['count 203.0.113.7'] : [], ['getAll 0']]);
      expect(table.transactions.map((writes) => writes.length)).toEqual(written);
    },
  );
});

describe('finishReset', () => {
  const issued = {
    ...resetItemKey(hashOf('k3y')),
    userId: 7,
    securityStamp: 'reset',
    mailbox: mailboxHashOf(ada),
    issuedAt: NOW,
    expires: SECONDS + 1,
  };
  const finish = (
    table: MemoryTable,
    { key = 'k3y', password = 'new', policy = lenient, admits = true } = {},
  ) => {
    const services = { table, hasher: passwords, policy, throttle: throttleOn(table, admits) };
    return finishReset(services, SOURCE, key, password);
  };

  it('counts the request before it computes one hash, also if it starts again', async () => {
    const table = tableOf(ada, issued);
    table.concurrent.push(touched());

    await finish(table);

    expect(events).toEqual(['count 203.0.113.7', 'hash new']);
    expect(table.find(issued)).toBeUndefined();
  });

  const counted = ['count 203.0.113.7'];
  it.each<[string, string, object, object, string[]]>([
    ['an expired key', 'unknown-key', { expires: SECONDS }, {}, counted],
    ['the key of a deleted user', 'unknown-key', { userId: 8 }, {}, counted],
    ['a key that was never issued', 'unknown-key', {}, { key: 'another' }, counted],
    [
      'a common password without a key',
      'unknown-key',
      {},
      { key: 'another', password: 'dragon', policy: strict },
      counted,
    ],
    [
      'a password like the login',
      'common-password',
      {},
      { password: 'Ada2030', policy: strict },
      counted,
    ],
    ['a short password', 'invalid', {}, { password: 'x9k2v', policy: strict }, []],
    ['a throttled source', 'too-many-attempts', {}, { admits: false }, []],
  ])('computes no hash for %s', async (_, code, reset, request, counts) => {
    const table = tableOf(ada, { ...issued, ...reset });

    await expect(finish(table, request)).rejects.toMatchObject({ code });
    // Until a hash that was begun would have ended.
    await waitMicrotasks();
    expect([events, table.transactions]).toEqual([counts, []]);
    // A password that is too short is rejected before anything is read, an unknown key after it.
    if (code === 'invalid') expect(table.calls).toEqual([]);
    if ('key' in request) expect(table.calls).toHaveLength(1);
  });
});

it.each([
  [true, 'unknown-key', ['count 203.0.113.7']],
  [false, 'too-many-attempts', []],
])('confirmEmail counts a request before it fails: %s', async (admits, code, counts) => {
  const table = tableOf(ada);

  const confirmed = confirmEmail({ table, throttle: throttleOn(table, admits) }, SOURCE, '7-k3y');

  await expect(confirmed).rejects.toMatchObject({ code });
  expect([events, table.transactions]).toEqual([counts, []]);
});

describe('changePassword', () => {
  const change = (
    table: MemoryTable,
    { current = 'old', password = 'new', policy = lenient } = {},
    by = passwords,
  ) =>
    changePassword(
      { passwords: by, policy, throttle: throttleOn(table) },
      authorize(
        table,
        { ...storedSession(ada), id: 7, source: SOURCE.address },
        ChangePassword.access,
      ),
      SOURCE,
      current,
      password,
    );

  it('is one attempt with one hash, also if it starts again', async () => {
    const table = tableOf(ada);
    table.concurrent.push(touched());

    await change(table);

    expect(events.slice(0, 3).toSorted()).toEqual(['count ada', 'hash new', 'match hash of old']);
    expect(events.slice(3)).toEqual(['clear failures', 'clear failures']);
  });

  it('fails when the same token has changed the password since it was verified', async () => {
    const table = tableOf(ada);
    const changed = { passwordHash: 'other', passwordChanges: 1, tokenExcepted: 'series' };
    table.concurrent.push([put(USER, { ...ada, ...changed })]);

    await expect(change(table)).rejects.toMatchObject({ code: 'wrong-password' });
    expect(table.transactions).toEqual([]);
  });

  it('verifies the old password while it hashes the new one', async () => {
    const overlap = overlapCounter();
    const slow: Passwords = {
      ...passwords,
      matches: (...parameters) => overlap.run(() => passwords.matches(...parameters)),
      hash: (password) => overlap.run(() => passwords.hash(password)),
    };

    await change(tableOf(ada), {}, slow);

    expect(overlap.most).toBe(2);
  });

  it.each<[string, string, Partial<User>]>([
    ['abc', 'invalid', {}],
    ['dragon', 'common-password', {}],
    ['4d4@ex4mple.c0m!', 'common-password', {}],
    ['x9k2vw', 'invalid-token', { passwordChanges: 1 }],
  ])('rejects %s with %s, without an attempt or a hash', async (password, code, user) => {
    const table = tableOf(adaWith(user));

    await expect(change(table, { password, policy: strict })).rejects.toMatchObject({ code });
    expect([events, table.transactions]).toEqual([[], []]);
  });
});
