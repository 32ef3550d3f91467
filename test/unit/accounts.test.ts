import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ChangePassword } from '../../lib/accounts/account-contracts.ts';
import { changePassword } from '../../lib/accounts/change-password.ts';
import { logIn } from '../../lib/accounts/log-in.ts';
import type { LoginThrottle } from '../../lib/accounts/login-throttle.ts';
import { mailboxProven } from '../../lib/accounts/login-throttle-rules.ts';
import { finishReset, requestReset } from '../../lib/accounts/password-reset.ts';
import { type AttemptSteps, runAttempt } from '../../lib/accounts/run-attempt.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import { Failure } from '../../lib/contract/failure.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import {
  elsewhereAttemptsKey,
  emailGuardKey,
  entityKey,
  loginGuardKey,
  networkAttemptsKey,
  precedenceKey,
  resetItemKey,
  sourceAttemptsKey,
} from '../../lib/table/keys.ts';
import type { Caller } from '../../lib/users/caller.ts';
import { mailboxHashOf } from '../../lib/users/reset-key.ts';
import type { User } from '../../lib/users/user.ts';
import { awsError, cancelledBy } from '../support/doubles/aws-errors.ts';
import { waitMicrotasks } from '../support/doubles/microtasks.ts';
import { overlapCounter } from '../support/doubles/overlap.ts';
import { type RecordingTable, recordingTable } from '../support/doubles/recording-table.ts';

/* The side effects of logins, password changes and resets, and their order. */

const NOW = Date.UTC(2030, 0, 1) + 700;
const SECONDS = Math.floor(NOW / 1000);
const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };
const FAILURE_KEYS = {
  network: networkAttemptsKey('ada', 'near'),
  elsewhere: elsewhereAttemptsKey('ada'),
  source: sourceAttemptsKey('here'),
};

beforeEach(() => {
  events = [];
  outdated = false;
  vi.useFakeTimers({ now: NOW });
});

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
 * table. Its steps can be replaced.
 */
const throttleOn = (
  table: RecordingTable,
  replacements: (steps: AttemptSteps) => Partial<AttemptSteps> = () => ({}),
): LoginThrottle => ({
  ...throttle,
  async attempt({ login, password, source, alsoRead = [] }, check) {
    events.push(`begin ${login} ${password} ${source.address} ${source.arrivedAt}`);
    const [, ...items] = await table.getAll([elsewhereAttemptsKey(login), ...alsoRead]);
    let isRecorded = false;
    const requireRecorded = () => {
      if (!isRecorded) throw new Error('The attempt has not been recorded');
    };
    const steps: AttemptSteps = {
      async record() {
        await waitMicrotasks();
        events.push(`record ${login}`);
        isRecorded = true;
      },
      async clearFailures() {
        requireRecorded();
        await waitMicrotasks();
        events.push(`clear failures of ${login}`);
      },
      async confirmFailure() {
        requireRecorded();
        await waitMicrotasks();
        events.push(`confirm failure of ${login}`);
      },
      async takeBack() {
        await waitMicrotasks();
        if (isRecorded) events.push('take back attempt');
      },
    };
    return runAttempt({ ...steps, ...replacements(steps) }, items, check);
  },
  async beginReset(source, keys = []) {
    const [, ...items] = await table.getAll([elsewhereAttemptsKey('source'), ...keys]);
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
  beginReset: () => Promise.reject(new Error('Use throttleOn')),
  async keysOf(login, source) {
    await waitMicrotasks();
    events.push(`keys of ${login} ${source.address}`);
    return FAILURE_KEYS;
  },
};
/** The same work, ended long after all other work of a request would have ended. */
const slowly =
  <A extends unknown[], R>(work: (...parameters: A) => Promise<R>) =>
  async (...parameters: A): Promise<R> => {
    await waitMicrotasks(1000);
    return work(...parameters);
  };
const throttled = () => Promise.reject(new Failure('too-many-attempts', { retryAfter: 7 }));
/** A throttle that rejects every request that it counts. */
const throttledRequests = (table: RecordingTable): LoginThrottle => ({
  ...throttle,
  async beginReset(...parameters) {
    return { ...(await throttleOn(table).beginReset(...parameters)), count: throttled };
  },
});

const ada: User = {
  id: 7,
  login: 'ada',
  email: 'ada@example.com',
  emailKeyRule: 'UTS46',
  activated: true,
  langKey: 'en',
  authorities: ['ROLE_USER'],
  createdBy: 'admin',
  createdDate: '2029-01-01T00:00:00.000Z',
  lastModifiedBy: 'admin',
  lastModifiedDate: '2029-01-01T00:00:00.000Z',
  version: '3-abc',
  accountStamp: 'account',
  resetStamp: 'reset',
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
const begun = 'begin ada old 203.0.113.7 1893456000700';
const counted = 'count 203.0.113.7 1893456000700';

describe('logIn', () => {
  const services = (table: RecordingTable) => ({
    table,
    passwords,
    throttle: throttleOn(table),
    async issueToken(user: User) {
      await waitMicrotasks();
      events.push(`sign for ${user.login}`);
      return `token of ${user.login}`;
    },
  });

  /** Logs in with the right password, unless another one is given, on services that may differ. */
  const logInOn = (
    table: RecordingTable,
    others: Partial<ReturnType<typeof services>> = {},
    login = 'ada',
    password = 'old',
  ) => logIn({ ...services(table), ...others }, SOURCE, login, password);

  it('records the attempt, compares the password, then signs and clears the failures', async () => {
    const table = tableOf(ada);

    const token = await logInOn(table);

    expect(token).toBe('token of ada');
    expect(events.slice(0, 3)).toEqual([begun, 'record ada', 'match hash of old']);
    // These run concurrently.
    expect(events.slice(3).toSorted()).toEqual(['clear failures of ada', 'sign for ada']);
    expect(table.transactions).toEqual([]);
  });

  it('passes the stored user to the issuer of the token', async () => {
    const issueToken = vi.fn(async (_: User) => 'token');

    await logInOn(tableOf(ada), { issueToken });

    expect(issueToken.mock.calls).toEqual([[ada]]);
  });

  it('reads the guard with the counts, and the user while the attempt is recorded', async () => {
    const table = tableOf(ada);
    const overlap = overlapCounter();
    const { get } = table;
    table.get = (key) => overlap.run(() => get(key));
    const counting = throttleOn(table, (attempt) => ({
      record: () => overlap.run(attempt.record),
    }));

    await logInOn(table, { throttle: counting });

    expect(table.reads).toEqual([
      [elsewhereAttemptsKey('ada'), loginGuardKey('ada')],
      [entityKey('USER', 7)],
    ]);
    expect(overlap.most).toBe(2);
  });

  it('signs the token while it clears the failures and renews an outdated hash', async () => {
    const table = tableOf(ada);
    const overlap = overlapCounter();
    outdated = true;
    const { issueToken } = services(table);

    await logInOn(table, {
      throttle: throttleOn(table, (attempt) => ({
        clearFailures: () => overlap.run(attempt.clearFailures),
      })),
      passwords: { ...passwords, hash: (text: string) => overlap.run(() => passwords.hash(text)) },
      issueToken: (user: User) => overlap.run(() => issueToken(user)),
    });

    expect(overlap.most).toBe(3);
  });

  it.each(['cleared the failures', 'renewed an outdated hash'])(
    'ends only after it has %s, however long that takes',
    async (slowest) => {
      const table = tableOf(ada);
      outdated = true;
      const renewing = {
        ...passwords,
        ...(slowest === 'renewed an outdated hash' && { hash: slowly(passwords.hash) }),
      };
      const counting = throttleOn(table, ({ clearFailures }) => ({
        clearFailures: slowest === 'cleared the failures' ? slowly(clearFailures) : clearFailures,
      }));

      await logInOn(table, { passwords: renewing, throttle: counting });

      expect(events.slice(3).toSorted()).toEqual([
        'clear failures of ada',
        'hash old',
        'sign for ada',
      ]);
      expect(table.transactions).toHaveLength(1);
    },
  );

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
  ])(
    'rejects %s after the same amount of work and confirms the failure',
    async (_, user, login, password, matched) => {
      const table = tableOf(user);

      const result = logInOn(table, {}, login, password);

      await expect(result).rejects.toMatchObject({ code: 'bad-credentials' });
      expect(events).toEqual([
        `begin ${login} ${password} 203.0.113.7 ${NOW}`,
        ...[`record ${login}`, matched, `confirm failure of ${login}`],
      ]);
      const guard = loginGuardKey(login === 'a b' ? '' : login);
      expect(table.reads).toEqual([
        [elsewhereAttemptsKey(login), guard],
        [login === 'ada' ? entityKey('USER', 7) : guard],
      ]);
      expect(table.transactions).toEqual([]);
    },
  );

  it.each([
    ['an account with another login', 7],
    ['a deleted account', 8],
  ])('rejects a login whose uniqueness guard points to %s', async (_, id) => {
    const table = tableOf({ ...ada, login: 'grace' });
    table.items.push({ ...loginGuardKey('ada'), id });

    await expect(logInOn(table)).rejects.toMatchObject({ code: 'bad-credentials' });
    expect(events).toEqual([begun, 'record ada', 'match undefined', 'confirm failure of ada']);
  });

  it('reads no user and compares nothing while the login is throttled', async () => {
    const table = tableOf(ada);

    const login = logInOn(table, { throttle: { ...throttle, attempt: throttled } });

    await expect(login).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 7 });
    expect([events, table.transactions]).toEqual([[], []]);
  });

  it('compares nothing when the attempt cannot be recorded', async () => {
    const table = tableOf(ada);
    const unrecordable = throttleOn(table, () => ({
      record: () => Promise.reject(new Failure('unavailable')),
    }));

    const login = logInOn(table, { throttle: unrecordable });

    await expect(login).rejects.toMatchObject({ code: 'unavailable' });
    expect([events, table.transactions]).toEqual([[begun], []]);
  });

  const fail = () => Promise.reject(new Error('an outage'));
  it.each<[string, (table: RecordingTable) => Partial<ReturnType<typeof services>>]>([
    ['KMS fails', () => ({ passwords: { ...passwords, matches: fail } })],
    [
      'the user cannot be read',
      (table) => {
        table.get = fail;
        return {};
      },
    ],
    [
      'it could be counted only in part',
      (table) => ({
        throttle: throttleOn(table, ({ record }) => ({ record: () => record().then(fail) })),
      }),
    ],
  ])('takes back the attempt when %s', async (_, othersOn) => {
    const table = tableOf(ada);

    await expect(logInOn(table, othersOn(table))).rejects.toThrow('an outage');
    expect(events.at(-1)).toBe('take back attempt');
  });

  it('replaces an outdated hash without invalidating tokens or reset keys', async () => {
    const table = tableOf(ada);
    outdated = true;

    await logInOn(table);

    expect(events.slice(2)).toContain('hash old');
    expect(table.transactions).toEqual([
      [
        {
          act: 'Update',
          key: entityKey('USER', 7),
          update: 'SET #set0 = :set0',
          condition: '#passwordHash = :passwordHash',
          names: { '#passwordHash': 'passwordHash', '#set0': 'passwordHash' },
          values: { ':passwordHash': 'hash of old', ':set0': 'hash of old' },
          onConditionFailed: 'retry',
        },
      ],
    ]);
  });

  const lost = () => awsError('TimeoutError');
  it.each([
    ['the password changes concurrently', [cancelledBy('ConditionalCheckFailed')]],
    ['the table is unavailable', [lost(), lost()]],
  ])('succeeds and keeps the outdated hash when %s', async (_, errors) => {
    const table = tableOf(ada);
    table.transactionErrors.push(...errors);
    outdated = true;

    expect(await logInOn(table)).toBe('token of ada');
    expect(table.transactions).toHaveLength(errors.length);
  });

  it('clears the failures even when the token cannot be signed', async () => {
    const table = tableOf(ada);
    const issueToken = () => Promise.reject(new Error('KMS is unavailable'));

    const login = logInOn(table, { issueToken });

    await expect(login).rejects.toThrow('KMS is unavailable');
    expect(events.at(-1)).toBe('clear failures of ada');
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
          attributes: { occasion: 'reset', email: 'ada@example.com', expires: SECONDS + 3600 },
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
  const stored = { ...at, userId: 7, resetStamp: 'reset', expires: SECONDS + 1 };
  const finish = (table: RecordingTable, throttle = throttleOn(table)) =>
    finishReset({ table, hasher: passwords, throttle }, SOURCE, KEY, 'new');
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
      update: 'SET #set0 = :set0, #set1 = :set1, #set3 = :set3 REMOVE #set2',
      condition: '(#passwordHash = :passwordHash) AND (#version = :version)',
      names: {
        '#passwordHash': 'passwordHash',
        '#version': 'version',
        '#set0': 'passwordHash',
        '#set1': 'passwordChanges',
        '#set2': 'tokenExcepted',
        '#set3': 'resetStamp',
      },
      values: {
        ':passwordHash': 'hash of old',
        ':version': '3-abc',
        ':set0': 'hash of new',
        ':set1': 4,
        ':set3': expect.stringMatching(/^[\w-]{16}$/),
      },
      onConditionFailed: 'retry',
    });
    expect(set?.values?.[':set3']).not.toBe('reset');
    expect(removed).toEqual({
      act: 'Delete',
      key: at,
      condition: 'attribute_exists(pk)',
      onConditionFailed: 'retry',
    });
    expect([network, elsewhere]).toEqual(mailboxProven(FAILURE_KEYS, NOW));
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
    [
      'without a stamp for an account without one',
      { resetStamp: undefined },
      { resetStamp: undefined },
    ],
    ['for an account without a password', {}, { passwordHash: undefined }],
  ])('accepts a key %s', async (_, reset, user) => {
    const table = tableWithKey(reset, { ...ada, ...user });

    await finish(table);

    expect(table.transactions).toHaveLength(1);
  });

  it.each<[string, object, Partial<User>]>([
    ['that has expired', { expires: SECONDS }, {}],
    ['issued before the password or address changed', { resetStamp: 'another' }, {}],
    ['without a stamp for an account that has one', { resetStamp: undefined }, {}],
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

  it('hashes the password once and takes precedence when the transaction is retried', async () => {
    const table = tableWithKey();
    table.transactionErrors.push(
      cancelledBy('ConditionalCheckFailed'),
      undefined,
      cancelledBy('TransactionConflict'),
    );

    const finished = finish(table);
    await vi.runAllTimersAsync();
    await finished;

    const isPrecedence = table.transactions.map(([write]) => write?.key.pk === precedenceKey(7).pk);
    expect(isPrecedence).toEqual([false, true, false, true, false]);
    expect(events.filter((event) => event.startsWith('hash'))).toHaveLength(1);
  });

  it('rejects a throttled source without computing a hash', async () => {
    const table = tableWithKey();

    const finished = finish(table, throttledRequests(table));

    await expect(finished).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect([events, table.transactions]).toEqual([[], []]);
  });
});

describe('changePassword', () => {
  const services = (table: RecordingTable) => ({ passwords, throttle: throttleOn(table) });
  const caller: Caller = {
    id: 7,
    accountStamp: 'account',
    jti: 'this token',
    passwordChanges: 3,
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

    expect(events.slice(0, 2)).toEqual([begun, 'record ada']);
    // These run concurrently.
    expect(events.slice(2, 5).toSorted()).toEqual([
      'clear failures of ada',
      'hash new',
      'match hash of old',
    ]);
    expect(events.slice(5)).toEqual([]);
    const [[set, mail, audit, ...others] = []] = table.transactions;
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
      '#set3': 'resetStamp',
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

  it('rejects a wrong password and confirms the failure', async () => {
    const table = tableOf(ada);

    await expect(change(table, 'wrong')).rejects.toMatchObject({ code: 'wrong-password' });
    const wrong = 'begin ada wrong 203.0.113.7 1893456000700';
    expect(events).toEqual([
      wrong,
      'record ada',
      'match hash of old',
      'hash new',
      'confirm failure of ada',
    ]);
    expect(table.transactions).toEqual([]);
  });

  it.each<[string, Partial<User>, Partial<Caller>]>([
    ['has been deleted', { id: 8 }, {}],
    ['has a token of a former account with the same id', {}, { accountStamp: 'former' }],
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
    expect(events.toSorted()).toEqual(
      [begun, 'record ada', 'match hash of old', 'hash new', 'clear failures of ada'].toSorted(),
    );
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
