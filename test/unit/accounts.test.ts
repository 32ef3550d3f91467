import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ChangePassword } from '../../lib/accounts/account-contracts.ts';
import { changePassword } from '../../lib/accounts/change-password.ts';
import { confirmEmail } from '../../lib/accounts/confirm-email.ts';
import { logIn } from '../../lib/accounts/log-in.ts';
import { finishReset, requestReset } from '../../lib/accounts/password-reset.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import { Failure } from '../../lib/contract/failure.ts';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import type { Session } from '../../lib/sessions/session.ts';
import { sessionKey } from '../../lib/sessions/session-item.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { loginKeys } from '../../lib/throttle/attempt-items.ts';
import type { LoginThrottle } from '../../lib/throttle/login-throttle.ts';
import { clearFailures } from '../../lib/throttle/login-throttle-rules.ts';
import type { CallerFrom } from '../../lib/users/caller.ts';
import { newConfirmationKey } from '../../lib/users/confirmation-key.ts';
import { mailboxHashOf } from '../../lib/users/reset-key.ts';
import type { User } from '../../lib/users/user.ts';
import { emailGuardKey, loginGuardKey, resetItemKey } from '../../lib/users/user-items.ts';
import { admitted } from '../support/doubles/admitted.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-errors.ts';
import { waitMicrotasks } from '../support/doubles/microtasks.ts';
import { overlapCounter } from '../support/doubles/overlap.ts';
import { type RecordingTable, recordingTable } from '../support/doubles/recording-table.ts';

/* The side effects of logins, password changes and resets, and their order. */

const NOW = Date.UTC(2030, 0, 1) + 700;
const SECONDS = Math.floor(NOW / 1000);
const SOURCE = {
  address: '203.0.113.7',
  arrivedAt: NOW,
  userAgent: 'curl/8 <x>\u001b\u0007"script&',
};
const FAILURE_KEYS = loginKeys('ada', SOURCE.address, String);
/** The key of a count that is read before other items. */
const countOf = (name: string) => loginKeys(name, SOURCE.address, String).elsewhere;

beforeEach(() => {
  events = [];
  outdated = false;
  vi.useFakeTimers({ now: NOW });
  vi.stubEnv('TOKEN_SECONDS', '3600');
  vi.stubEnv('REMEMBERED_TOKEN_SECONDS', '86400');
});

const lenient = openPasswordPolicy({ minimum: 1, rejectCommon: false });
const strict = openPasswordPolicy({ minimum: 6, rejectCommon: true });

/** Calls of the test doubles, in order of completion. */
let events: string[] = [];
let outdated = false;
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
  isOutdated: () => outdated,
};
/**
 * A throttle without waiting periods; an attempt reads a count and the items of its keys from this
 * table.
 */
const throttleOn = (table: RecordingTable): LoginThrottle => ({
  ...throttle,
  async attempt({ login, source, alsoRead = [] }, check) {
    events.push(`begin ${login} ${source.address} ${source.arrivedAt}`);
    const [, ...items] = await table.getAll([countOf(login), ...alsoRead]);
    return admitted(check, items, (now) => {
      events.push(`clear failures of ${login}`);
      return clearFailures(FAILURE_KEYS, now);
    });
  },
  async begin(_, source, keys = []) {
    const [, ...items] = await table.getAll([countOf('source'), ...keys]);
    const count = async () => {
      // Longer than any other work, so that work before the end of the count is noticed.
      await waitMicrotasks(200);
      events.push(`count ${source.address} ${source.arrivedAt}`);
    };
    return { count, items };
  },
});
const throttle: LoginThrottle = {
  attempt: () => Promise.reject(new Error('Use throttleOn')),
  begin: () => Promise.reject(new Error('Use throttleOn')),
  async keysOf(login, source) {
    await waitMicrotasks();
    events.push(`keys of ${login} ${source.address}`);
    return FAILURE_KEYS;
  },
};
const throttled = () => Promise.reject(new Failure('too-many-attempts', { retryAfter: 7 }));
/** A throttle that rejects every request that it counts. */
const throttledRequests = (table: RecordingTable): LoginThrottle => ({
  ...throttle,
  async begin(...parameters) {
    return { ...(await throttleOn(table).begin(...parameters)), count: throttled };
  },
});

const ada: User = {
  id: 7,
  login: 'ada',
  email: 'ada@example.com',
  activated: true,
  langKey: 'en',
  authorities: ['ROLE_USER'],
  createdBy: 'admin',
  createdDate: '2029-01-01T00:00:00.000Z',
  lastModifiedBy: 'admin',
  lastModifiedDate: '2029-01-01T00:00:00.000Z',
  version: '3-abc',
  incarnation: 'account',
  securityStamp: 'reset',
  passwordHash: 'hash of old',
  passwordChanges: 3,
  tokenExcepted: 'a token',
};
/** A table with the user and the uniqueness guards of its login and email address. */
const tableOf = (user: User): RecordingTable =>
  recordingTable(
    { ...entityKey('USER', user.id), ...user },
    { ...loginGuardKey(user.login), id: user.id },
    { ...emailGuardKey(user.email), id: user.id },
  );
/** The notice of a new password that a transaction contains. */
const NOTICE = {
  key: { pk: 'MAIL#0000000000000007', sk: expect.stringMatching(/^2030-01-01T.*#./) },
  attributes: {
    occasion: 'passwordChanged',
    userId: 7,
    login: 'ada',
    email: 'ada@example.com',
    langKey: 'en',
  },
};
const begun = 'begin ada 203.0.113.7 1893456000700';
const counted = 'count 203.0.113.7 1893456000700';

describe('logIn', () => {
  const services = (table: RecordingTable) => ({
    table,
    passwords,
    factorSecrets: () => Promise.reject(new Error('Nobody here has a second factor')),
    requirement: undefined,
    throttle: throttleOn(table),
    async issueToken(user: User, session: Session) {
      await waitMicrotasks();
      events.push(`sign for ${user.login}`);
      return `token ${session.jti} after ${user.sessionEndings} endings`;
    },
  });

  /** Logs in with the right password, unless another one is given, on services that may differ. */
  const logInOn = (
    table: RecordingTable,
    others: Partial<ReturnType<typeof services>> = {},
    login = 'ada',
    password = 'old',
    rememberMe = false,
  ) =>
    logIn({ ...services(table), ...others }, SOURCE, {
      username: login,
      password,
      code: null,
      rememberMe,
    });

  it.each([
    [false, 3600],
    [true, 86_400],
  ])(
    'starts a session in the transaction that clears the failures: remember %s',
    async (remember, lifetime) => {
      const table = tableOf(ada);

      const { token, userId } = await logInOn(table, {}, 'ada', 'old', remember);

      expect(events.slice(0, 2)).toEqual([begun, 'match hash of old']);
      // These run concurrently.
      expect(events.slice(2).toSorted()).toEqual(['clear failures of ada', 'sign for ada']);
      const [[network, elsewhere, user, session, audit] = []] = table.transactions;
      expect(table.transactions).toHaveLength(1);
      expect([network, elsewhere]).toEqual(clearFailures(FAILURE_KEYS, NOW));
      expect(user).toEqual({
        act: 'Update',
        key: entityKey('USER', 7),
        update: 'SET #set0 = :set0',
        condition:
          '#login = :login AND #activated = :activated AND ' +
          '#passwordChanges = :passwordChanges AND attribute_not_exists(#sessionEndings) AND ' +
          'attribute_not_exists(#secondFactor)',
        names: expect.objectContaining({ '#set0': 'lastLogin' }),
        values: {
          ':set0': new Date(NOW).toISOString(),
          ':login': 'ada',
          ':activated': true,
          ':passwordChanges': 3,
        },
        onConditionFailed: 'retry',
      });
      const series = session?.key.sk;
      expect(series).toMatch(/^0[a-z\d]{8}[\w-]{12}$/);
      expect(session).toMatchObject({
        key: sessionKey(7, series as string),
        attributes: {
          jti: series,
          startedAt: new Date(NOW).toISOString(),
          expires: SECONDS + lifetime,
          ipAddress: '203.0.113.7',
          userAgent: 'curl/8 xscript',
          remembered: remember,
          incarnation: 'account',
          passwordChanges: 3,
          sessionEndings: 0,
        },
      });
      expect(audit?.attributes).toMatchObject({
        action: 'session.started',
        target: 'user/7',
        session: series,
        source: '203.0.113.7',
      });
      expect([token, userId]).toEqual([`token ${series} after undefined endings`, 7]);
    },
  );

  it('issues a token as of the commit, when sessions have been ended in between', async () => {
    const table = tableOf(ada);
    table.transactionErrors.push(cancelledBy('None', 'None', 'ConditionalCheckFailed'));
    const { get } = table;
    table.get = async (key) => {
      const item = await get(key);
      return item && table.transactions.length > 0 ? { ...item, sessionEndings: 4 } : item;
    };

    const { token } = await logInOn(table);

    expect(token).toMatch(/ after 4 endings$/);
    expect(table.transactions.at(-1)?.[3]?.attributes).toMatchObject({ sessionEndings: 4 });
  });

  it('names the user whose attempts are throttled by the guard of the login', async () => {
    let seen: unknown[] = [];
    const attempt: LoginThrottle['attempt'] = ({ userIdIn }) => {
      seen = [userIdIn([{ ...loginGuardKey('ada'), id: 7 }]), userIdIn([undefined])];
      return throttled();
    };

    const login = logInOn(tableOf(ada), { throttle: { ...throttle, attempt } });

    await expect(login).rejects.toThrow('too-many-attempts');
    expect(seen).toEqual([7, undefined]);
  });

  it.each<[string, Partial<User> | undefined]>([
    ['the account is deleted', undefined],
    ['the account is deactivated', { activated: false }],
    ['the password changes', { passwordChanges: 4 }],
    ['the account is renamed', { login: 'grace' }],
    ['the account is replaced under the same id', { incarnation: 'other' }],
  ])('starts no session when %s meanwhile', async (_, fields) => {
    const table = tableOf(ada);
    table.transactionErrors.push(cancelledBy('None', 'None', 'ConditionalCheckFailed'));
    const { get } = table;
    table.get = async (key) => {
      const item = await get(key);
      if (table.transactions.length === 0) return item;
      return item && fields && { ...item, ...fields };
    };

    await expect(logInOn(table)).rejects.toMatchObject({ code: 'bad-credentials' });
    expect(table.transactions).toHaveLength(1);
  });

  it('reads the guard with the counts, and then the user', async () => {
    const table = tableOf(ada);

    await logInOn(table);

    expect(table.reads).toEqual([[countOf('ada'), loginGuardKey('ada')], [entityKey('USER', 7)]]);
  });

  it('stores no session when the token cannot be signed', async () => {
    const table = tableOf(ada);
    const issueToken = () => Promise.reject(new Error('KMS is unavailable'));

    await expect(logInOn(table, { issueToken })).rejects.toThrow('KMS is unavailable');
    expect(table.transactions).toEqual([]);
  });

  it.each([
    ['a wrong password', ada, 'ada', 'wrong', 'match hash of old'],
    ['a deactivated account', { ...ada, activated: false }, 'ada', 'old', 'match hash of old'],
    [
      'an account without a password',
      { ...ada, passwordHash: undefined },
      'ada',
      'undefined',
      'match undefined',
    ],
    ['an unknown login', ada, 'eve', 'old', 'match undefined'],
    ['a malformed login', ada, 'a b', 'old', 'match undefined'],
  ])('rejects %s after the same amount of work', async (_, user, login, password, matched) => {
    const table = tableOf(user);

    const result = logInOn(table, {}, login, password);

    await expect(result).rejects.toMatchObject({ code: 'bad-credentials' });
    expect(events).toEqual([`begin ${login} 203.0.113.7 ${NOW}`, matched]);
    const guard = loginGuardKey(login === 'a b' ? '' : login);
    expect(table.reads).toEqual([
      [countOf(login), guard],
      [login === 'ada' ? entityKey('USER', 7) : guard],
    ]);
    expect(table.transactions).toEqual([]);
  });

  it.each([
    ['an account with another login', 7],
    ['a deleted account', 8],
  ])('rejects a login whose uniqueness guard points to %s', async (_, id) => {
    const table = tableOf({ ...ada, login: 'grace' });
    table.items.push({ ...loginGuardKey('ada'), id });

    await expect(logInOn(table)).rejects.toMatchObject({ code: 'bad-credentials' });
    expect(events).toEqual([begun, 'match undefined']);
  });

  it('reads no user and compares nothing while the login is throttled', async () => {
    const table = tableOf(ada);

    const login = logInOn(table, { throttle: { ...throttle, attempt: throttled } });

    await expect(login).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 7 });
    expect([events, table.transactions]).toEqual([[], []]);
  });

  it('replaces an outdated hash without invalidating tokens or reset keys', async () => {
    const table = tableOf(ada);
    outdated = true;

    await logInOn(table);

    expect(events).toContain('hash old');
    expect(table.transactions[0]?.[2]).toMatchObject({
      update: 'SET #set0 = :set0, #set1 = :set1',
      condition: expect.stringContaining('#passwordHash = :passwordHash'),
      names: { '#set0': 'lastLogin', '#set1': 'passwordHash' },
      values: { ':passwordHash': 'hash of old', ':set1': 'hash of old' },
    });
  });

  it('keeps the hash with which a concurrent login has replaced an outdated one', async () => {
    const table = tableOf(ada);
    outdated = true;
    table.transactionErrors.push(cancelledBy('None', 'None', 'ConditionalCheckFailed'));
    const { get } = table;
    table.get = async (key) => {
      const item = await get(key);
      return item && table.transactions.length > 0 ? { ...item, passwordHash: 'newer' } : item;
    };

    await logInOn(table);

    expect(table.transactions.at(-1)?.[2]).toMatchObject({ update: 'SET #set0 = :set0' });
  });

  it('fails with unavailable when the session cannot be stored', async () => {
    const table = tableOf(ada);
    table.transactionErrors.push(awsError('TimeoutError'), awsError('TimeoutError'));

    await expect(logInOn(table)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('requestReset', () => {
  const services = (table: RecordingTable) => ({ table, throttle: throttleOn(table) });

  it('makes one write, and no read that could reveal whether the address is known', async () => {
    const table = tableOf(ada);

    await requestReset(services(table), SOURCE, 'ada@example.com');

    expect(events).toEqual([counted]);
    expect(table.reads).toHaveLength(1);
    expect(table.transactions).toEqual([
      [
        {
          act: 'Put',
          key: {
            pk: expect.stringMatching(/^RESET-MAIL#[0-9a-f-]{36}$/),
            sk: expect.stringMatching(/^2030-01-01T.*#./),
          },
          attributes: {
            occasion: 'reset',
            email: 'ada@example.com',
            source: '203.0.113.7',
            expires: SECONDS + 3600,
          },
          condition: 'attribute_not_exists(pk)',
          onConditionFailed: 'retry',
        },
      ],
    ]);
  });

  it('writes nothing for a throttled source', async () => {
    const table = tableOf(ada);

    const request = requestReset(
      { ...services(table), throttle: throttledRequests(table) },
      SOURCE,
      'x',
    );

    await expect(request).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect([table.reads.length, events, table.transactions]).toEqual([1, [], []]);
  });
});

describe('finishReset', () => {
  const KEY = 'k3y';
  const at = resetItemKey(createHash('sha256').update(KEY).digest('hex'));
  const stored = {
    ...at,
    userId: 7,
    securityStamp: 'reset',
    mailbox: mailboxHashOf(ada),
    issuedAt: NOW,
    expires: SECONDS + 1,
  };
  const finish = (table: RecordingTable, throttle = throttleOn(table)) =>
    finishReset({ table, hasher: passwords, policy: lenient, throttle }, SOURCE, KEY, 'new');
  const finishStrictly = (table: RecordingTable, newPassword: string, key = KEY) => {
    const services = { table, hasher: passwords, policy: strict, throttle: throttleOn(table) };
    return finishReset(services, SOURCE, key, newPassword);
  };
  const tableWithKey = (reset: object = {}, user: User = ada): RecordingTable => {
    const table = tableOf(user);
    table.items.push({ ...stored, ...reset });
    return table;
  };

  it('replaces the hash, voids earlier tokens and keys, and notifies the user', async () => {
    const table = tableWithKey();

    await finish(table);

    expect(events).toEqual([counted, 'hash new', 'keys of ada 203.0.113.7']);
    const [[set, removed, network, elsewhere, mail, audit] = []] = table.transactions;
    expect(set).toEqual({
      act: 'Update',
      key: entityKey('USER', 7),
      update: 'SET #set0 = :set0, #set1 = :set1, #set4 = :set4 REMOVE #set2, #set3',
      condition: '(#passwordHash = :passwordHash) AND (#version = :version)',
      names: {
        '#passwordHash': 'passwordHash',
        '#version': 'version',
        '#set0': 'passwordHash',
        '#set1': 'passwordChanges',
        '#set2': 'tokenExcepted',
        '#set3': 'sessionsEnded',
        '#set4': 'securityStamp',
      },
      values: {
        ':passwordHash': 'hash of old',
        ':version': '3-abc',
        ':set0': 'hash of new',
        ':set1': 4,
        ':set4': expect.stringMatching(/^[\w-]{16}$/),
      },
      onConditionFailed: 'retry',
    });
    expect(set?.values?.[':set4']).not.toBe('reset');
    expect(removed).toEqual({
      act: 'Delete',
      key: at,
      condition: 'attribute_exists(pk)',
      onConditionFailed: 'retry',
    });
    expect([network, elsewhere]).toEqual(clearFailures(FAILURE_KEYS, NOW));
    expect(mail).toMatchObject(NOTICE);
    expect(audit?.attributes).toMatchObject({
      actor: 'ada',
      actorId: 7,
      action: 'password.reset',
      target: 'user/7',
    });
    expect(table.transactions[0]).toHaveLength(6);
  });

  it.each<[string, object, Partial<User>]>([
    ['in its last second of validity', { expires: SECONDS + 1 }, {}],
    ['for an account without a password', {}, { passwordHash: undefined }],
  ])('accepts a key %s', async (_, reset, user) => {
    const table = tableWithKey(reset, { ...ada, ...user });

    await finish(table);

    expect(table.transactions).toHaveLength(1);
  });

  it.each<[string, object, Partial<User>]>([
    ['that has expired', { expires: SECONDS }, {}],
    ['issued before the password or address changed', { securityStamp: 'another' }, {}],
    ['of a deactivated account', {}, { activated: false }],
    // Both addresses have the same uniqueness guard, but their domains are different.
    [
      'mailed an hour ago to a domain that looks alike',
      {
        mailbox: mailboxHashOf({ ...ada, email: 'mail@f\u0131rma.example' }),
        issuedAt: NOW - 3_600_000,
      },
      { email: 'mail@firma.example' },
    ],
    ['of a deleted account', { userId: 8 }, {}],
    ['that was never issued', { pk: 'RESET#x' }, {}],
  ])('rejects a key %s without computing a hash', async (_, reset, user) => {
    const table = tableWithKey(reset, { ...ada, ...user });

    await expect(finish(table)).rejects.toMatchObject({
      code: 'unknown-key',
    });
    expect([events, table.transactions]).toEqual([[counted], []]);
  });

  it.each(['dragon', 'Ada2030', 'ada@example.com'])(
    'rejects %s without computing a hash or using up the key',
    async (newPassword) => {
      const table = tableWithKey();

      const finished = finishStrictly(table, newPassword);

      await expect(finished).rejects.toMatchObject({ code: 'common-password' });
      expect([events, table.transactions]).toEqual([[counted], []]);
    },
  );

  it('does not say whether a password is common without a key', async () => {
    const finished = finishStrictly(tableWithKey(), 'dragon', 'another');

    await expect(finished).rejects.toMatchObject({ code: 'unknown-key' });
  });

  it('rejects a short password before the request is counted', async () => {
    const table = tableWithKey();

    await expect(finishStrictly(table, 'x9k2v')).rejects.toMatchObject({ code: 'invalid' });
    expect([events, table.reads, table.transactions]).toEqual([[], [], []]);
  });

  it('makes one read for a key that was never issued', async () => {
    const table = tableOf(ada);

    await expect(finish(table)).rejects.toMatchObject({
      code: 'unknown-key',
    });
    expect(table.reads).toHaveLength(1);
  });

  it('rejects a key that is used while its request is counted', async () => {
    const table = tableWithKey();
    const { getAll } = table;
    table.getAll = async (keys) => {
      const items = await getAll(keys);
      table.items = table.items.filter(({ pk }) => pk !== at.pk);
      return items;
    };

    await expect(finish(table)).rejects.toMatchObject({
      code: 'unknown-key',
    });
    expect([events, table.transactions]).toEqual([[counted], []]);
  });

  it('hashes the password once when the transaction is retried', async () => {
    const table = tableWithKey();
    table.transactionErrors.push(
      cancelledBy('ConditionalCheckFailed'),
      cancelledBy('TransactionConflict'),
    );

    const finished = finish(table);
    await vi.runAllTimersAsync();
    await finished;

    expect(table.transactions).toHaveLength(3);
    expect(events.filter((event) => event.startsWith('hash'))).toHaveLength(1);
  });

  it('rejects a throttled source without computing a hash', async () => {
    const table = tableWithKey();

    const finished = finish(table, throttledRequests(table));

    await expect(finished).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect([events, table.transactions]).toEqual([[], []]);
  });
});

describe('confirmEmail', () => {
  const { key, write } = newConfirmationKey(ada, 'new@example.com', NOW);
  const pending = { ...write.key, ...write.attributes } as unknown as Item;
  const confirm = (table: RecordingTable, of = key, throttle = throttleOn(table)) =>
    confirmEmail({ table, throttle }, SOURCE, of);
  const tableWithKey = (): RecordingTable => {
    const table = tableOf(ada);
    table.items.push(pending);
    return table;
  };

  it('changes the address once, if the key and the security stamp stay', async () => {
    const table = tableWithKey();

    await confirm(table);

    const writes = table.transactions.flat();
    const of = (pk: string) => writes.find(({ key }) => key.pk.startsWith(pk));
    expect(events).toEqual([counted]);
    expect(of('USER')?.condition).toBe(
      '(#version = :version) AND (#securityStamp = :securityStamp)',
    );
    expect(of('USER')?.values).toMatchObject({ ':version': '3-abc', ':securityStamp': 'reset' });
    expect(of('PENDING-EMAIL#')).toMatchObject({
      act: 'Delete',
      key: write.key,
      condition: '#keyHash = :keyHash',
      values: { ':keyHash': pending.keyHash },
      onConditionFailed: 'retry',
    });
    expect(of('MAIL#')?.attributes).toMatchObject({
      occasion: 'emailChanged',
      email: 'ada@example.com',
    });
    const entry = { actor: 'ada', actorId: 7, action: 'account.updated', fields: ['email'] };
    expect(of('AUDIT#')?.attributes).toMatchObject(entry);
    expect(of('EMAIL#new@example.com')?.onConditionFailed).toBe('email-taken');
  });

  it.each([`8-${key.slice(2)}`, `${key}x`, 'k3y'])('rejects the key %#', async (other) => {
    const table = tableWithKey();

    await expect(confirm(table, other)).rejects.toMatchObject({ code: 'unknown-key' });
    expect([events, table.transactions]).toEqual([[counted], []]);
  });

  it('changes nothing for a throttled source', async () => {
    const table = tableWithKey();

    const confirmed = confirm(table, key, throttledRequests(table));

    await expect(confirmed).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect(table.transactions).toEqual([]);
  });
});

describe('changePassword', () => {
  const services = (table: RecordingTable) => ({
    passwords,
    policy: lenient,
    throttle: throttleOn(table),
  });
  const caller: CallerFrom = {
    id: 7,
    incarnation: 'account',
    jti: 'this token',
    expires: 0,
    passwordChanges: 3,
    sessionEndings: 0,
    source: SOURCE.address,
  };
  const change = (
    table: RecordingTable,
    current = 'old',
    from = caller,
    more: Partial<ReturnType<typeof services>> = {},
  ) =>
    changePassword(
      { ...services(table), ...more },
      authorize(table, from, ChangePassword.access),
      SOURCE,
      current,
      'new',
    );

  it('changes the password as one attempt, keeps the token and notifies the user', async () => {
    const table = tableOf(ada);

    await change(table);

    expect(events[0]).toBe(begun);
    // These run concurrently.
    expect(events.slice(1, 3).toSorted()).toEqual(['hash new', 'match hash of old']);
    expect(events.slice(3)).toEqual(['clear failures of ada']);
    const [[set, mail, network, elsewhere, audit, ...others] = []] = table.transactions;
    expect([network, elsewhere]).toEqual(clearFailures(FAILURE_KEYS, NOW));
    expect(set).toMatchObject({
      key: entityKey('USER', 7),
      values: {
        ':passwordHash': 'hash of old',
        ':set0': 'hash of new',
        ':set1': 4,
        ':set2': 'this token',
      },
    });
    expect(set?.names).toMatchObject({
      '#set0': 'passwordHash',
      '#set1': 'passwordChanges',
      '#set2': 'tokenExcepted',
      '#set3': 'sessionsEnded',
      '#set4': 'securityStamp',
    });
    expect(mail).toMatchObject(NOTICE);
    expect(audit?.attributes).toMatchObject({
      actorId: 7,
      action: 'password.changed',
      target: 'user/7',
    });
    expect(others).toEqual([]);
    expect(table.transactions).toHaveLength(1);
  });

  it('verifies the old password while it hashes the new one', async () => {
    const overlap = overlapCounter();
    const slow: Passwords = {
      ...passwords,
      matches: (...parameters) => overlap.run(() => passwords.matches(...parameters)),
      hash: (password) => overlap.run(() => passwords.hash(password)),
    };

    await change(tableOf(ada), 'old', caller, { passwords: slow });

    expect(overlap.most).toBe(2);
  });

  it.each([
    ['abc', 'invalid'],
    ['dragon', 'common-password'],
    ['4d4@ex4mple.c0m!', 'common-password'],
  ])('rejects %s without an attempt or a hash', async (newPassword, code) => {
    const table = tableOf(ada);

    const changed = changePassword(
      { ...services(table), policy: strict },
      authorize(table, caller, ChangePassword.access),
      SOURCE,
      'old',
      newPassword,
    );

    await expect(changed).rejects.toMatchObject({ code });
    expect([events, table.transactions]).toEqual([[], []]);
  });

  it('rejects a wrong password and changes nothing', async () => {
    const table = tableOf(ada);

    await expect(change(table, 'wrong')).rejects.toMatchObject({ code: 'wrong-password' });
    expect(events).toEqual([begun, 'match hash of old', 'hash new']);
    expect(table.transactions).toEqual([]);
  });

  it.each<[string, Partial<User>, Partial<CallerFrom>]>([
    ['has been deleted', { id: 8 }, {}],
    ['has a token of a former account with the same id', {}, { incarnation: 'former' }],
    ['is deactivated', { activated: false }, {}],
    ['has a token issued before a password change', {}, { passwordChanges: 2 }],
  ])(
    'rejects a caller who %s without recording an attempt or computing a hash',
    async (_, user, claims) => {
      const table = tableOf({ ...ada, ...user });

      const attempt = change(table, 'old', { ...caller, ...claims });

      await expect(attempt).rejects.toMatchObject({ code: 'invalid-token' });
      expect([events, table.transactions]).toEqual([[], []]);
    },
  );

  it('records one attempt and computes each hash once, also after a retry', async () => {
    const table = tableOf(ada);
    table.transactionErrors.push(cancelledBy('ConditionalCheckFailed', 'None', 'None'));

    await change(table);

    expect(table.transactions).toHaveLength(2);
    expect(events.slice(0, 3).toSorted()).toEqual([begun, 'hash new', 'match hash of old']);
    expect(events.slice(3)).toEqual(['clear failures of ada', 'clear failures of ada']);
  });

  it('fails when the same token has changed the password since it was verified', async () => {
    const table = tableOf(ada);
    const [item] = table.items;
    const { transact } = table;
    table.transact = async () => {
      table.transact = transact;
      const changed = {
        passwordHash: 'hash of another',
        passwordChanges: 4,
        tokenExcepted: 'this token',
      };
      table.items.splice(0, 1, { ...(item as (typeof table.items)[number]), ...changed });
      throw cancelledBy('ConditionalCheckFailed', 'None', 'None');
    };

    await expect(change(table)).rejects.toMatchObject({ code: 'wrong-password' });
    expect(table.transactions).toEqual([]);
  });
});
