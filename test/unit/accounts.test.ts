import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChangePassword } from '../../lib/accounts/account-contracts.ts';
import { changePassword } from '../../lib/accounts/change-password.ts';
import { logIn } from '../../lib/accounts/log-in.ts';
import type { LoginThrottle } from '../../lib/accounts/login-throttle.ts';
import { finishReset, requestReset } from '../../lib/accounts/password-reset.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import type { Caller } from '../../lib/contract/caller.ts';
import { Failure } from '../../lib/contract/failure.ts';
import type { Mailer } from '../../lib/mail/mail.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import { remainingMs, setDeadline } from '../../lib/runtime/deadline.ts';
import {
  emailGuardKey,
  entityKey,
  loginGuardKey,
  mailCountKey,
  precedenceKey,
  resetKey,
} from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { newResetKey } from '../../lib/users/reset-key.ts';
import type { User } from '../../lib/users/user.ts';
import { aWhile } from '../support/a-while.ts';
import { useLogLines } from '../support/log-lines.ts';
import { cancelledBy, type RecordedTable, recordedTable } from '../support/recorded-table.ts';

/* What logins, password changes and resets do, in which order, and what they leave alone. */

const NOW = Date.UTC(2030, 0, 1) + 700;
const SECONDS = Math.floor(NOW / 1000);
const SOURCE = { address: '203.0.113.7', arrivedAt: NOW };
const PROVED = put({ pk: 'ATTEMPTS#x', sk: 'NETWORK#y' }, { n: 0 });

const lines = useLogLines();
beforeEach(() => {
  events = [];
  outdated = false;
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
  setDeadline(Number.POSITIVE_INFINITY);
});

/** What happened around the table, in the order in which it was over. */
let events: string[] = [];
let outdated = false;
const passwords: Passwords = {
  async hash(password) {
    await aWhile();
    events.push(`hash ${password}`);
    return `hash of ${password}`;
  },
  async matches(password, phc) {
    events.push(`match ${phc}`);
    return phc === `hash of ${password}`;
  },
  isOutdated: () => outdated,
};
const throttle: LoginThrottle = {
  async recordAttempt(login, source) {
    events.push(`reserve ${login} ${source.address} ${source.arrivedAt}`);
    return {
      async clearFailures() {
        await aWhile();
        events.push('forgive');
      },
    };
  },
  async countRequest(source) {
    events.push(`count ${source.address} ${source.arrivedAt}`);
  },
  async mailboxProven(login, source) {
    await aWhile();
    events.push(`proved ${login} ${source.address}`);
    return [PROVED];
  },
};
const mailer: Mailer = {
  async sendLink(occasion, { email }, key) {
    await aWhile();
    events.push(`mail ${occasion} ${email} ${key}`);
  },
  async notify(occasion, { email }) {
    await aWhile();
    events.push(`notify ${occasion} ${email}`);
  },
};
const refused = () => Promise.reject(new Failure('too-many-attempts', { retryAfter: 7 }));

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
/** A table with this user, and the guards of its login and address. */
const tableOf = (user: User): RecordedTable =>
  recordedTable(
    { ...entityKey('USER', user.id), ...user },
    { ...loginGuardKey(user.login), id: user.id },
    { ...emailGuardKey(user.email), id: user.id },
  );
const reserved = 'reserve ada 203.0.113.7 1893456000700';
const counted = 'count 203.0.113.7 1893456000700';

describe('a login', () => {
  const services = (table: RecordedTable) => ({ table, passwords, throttle });

  it('is counted, compared, and forgiven, in this order, and changes nothing', async () => {
    const table = tableOf(ada);

    const user = await logIn(services(table), SOURCE, 'ada', 'old');

    expect(user).toEqual(ada);
    expect(events).toEqual([reserved, 'match hash of old', 'forgive']);
    expect(table.transacted).toEqual([]);
  });

  it.each([
    ['a wrong password', ada, 'ada', 'wrong', 'match hash of old'],
    ['a deactivated account', { ...ada, activated: false }, 'ada', 'old', 'match hash of old'],
    ['no password', { ...ada, passwordHash: undefined }, 'ada', 'undefined', 'match undefined'],
    ['an unknown login', ada, 'eve', 'old', 'match undefined'],
    ['a login that nobody can have', ada, 'a b', 'old', 'match undefined'],
  ])('of %s fails after the same work, and is not forgiven', async (_, user, login, password, matched) => {
    const table = tableOf(user);

    const answer = logIn(services(table), SOURCE, login, password);

    await expect(answer).rejects.toMatchObject({ code: 'bad-credentials' });
    expect(events).toEqual([`reserve ${login} 203.0.113.7 ${NOW}`, matched]);
    expect(table.reads).toEqual([
      [loginGuardKey(login === 'a b' ? '.' : login)],
      [entityKey('USER', login === 'ada' ? 7 : 0)],
    ]);
  });

  it('of a guard that leads to another account is of nobody', async () => {
    const table = tableOf({ ...ada, login: 'grace' });
    table.items.push({ ...loginGuardKey('ada'), id: 7 });

    await expect(logIn(services(table), SOURCE, 'ada', 'old')).rejects.toMatchObject({ code: 'bad-credentials' });
    expect(events).toEqual([reserved, 'match undefined']);
  });

  it('that must wait does no work', async () => {
    const table = tableOf(ada);

    const answer = logIn(
      { ...services(table), throttle: { ...throttle, recordAttempt: refused } },
      SOURCE,
      'ada',
      'old',
    );

    await expect(answer).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 7 });
    expect([events, table.reads]).toEqual([[], []]);
  });

  it('renews an outdated hash, and leaves tokens and reset keys as good as they were', async () => {
    const table = tableOf(ada);
    outdated = true;

    await logIn(services(table), SOURCE, 'ada', 'old');

    expect(events.slice(2)).toEqual(['forgive', 'hash old']);
    expect(table.transacted).toEqual([
      [
        {
          act: 'Update',
          key: entityKey('USER', 7),
          update: 'SET #set0 = :set0',
          condition: '#hash = :hash',
          names: { '#hash': 'passwordHash', '#set0': 'passwordHash' },
          values: { ':hash': 'hash of old', ':set0': 'hash of old' },
          onConditionFailed: 'retry',
        },
      ],
    ]);
  });

  it.each([
    ['the password changes meanwhile', [cancelledBy('ConditionalCheckFailed')]],
    ['the table is out of reach', Array(2).fill(Object.assign(new Error(), { name: 'TimeoutError' }))],
  ])('goes on with the hash that it has when %s', async (_, refusals) => {
    const table = tableOf(ada);
    table.refusals.push(...refusals);
    outdated = true;

    expect(await logIn(services(table), SOURCE, 'ada', 'old')).toEqual(ada);
    expect(table.transacted).toHaveLength(refusals.length);
  });
});

describe('a request for a reset key', () => {
  const services = (table: RecordedTable) => ({ table, mailer, throttle });
  /** How long it takes, milliseconds, once all is done that it does. */
  async function timed(asking: Promise<void>): Promise<number> {
    const over = asking.then(() => Date.now() - NOW);
    await vi.runAllTimersAsync();
    return over;
  }
  const hashOf = (key: string) => createHash('sha256').update(key).digest('hex');

  it.each(['ada@example.com', 'ADA@EXAMPLE.COM'])('is counted, stored as a hash and mailed: %s', async (address) => {
    const table = tableOf(ada);

    expect(await timed(requestReset(services(table), SOURCE, address))).toBe(2000);

    const [, mailed = ''] = events;
    const key = /^mail reset ada@example\.com ([\w-]{43})$/.exec(mailed)?.[1] ?? '';
    expect(events).toEqual([counted, mailed]);
    expect(table.transacted).toEqual([
      [
        {
          act: 'Put',
          key: resetKey(hashOf(key)),
          attributes: { userId: 7, resetStamp: 'reset', expires: SECONDS + 86_400 },
          condition: 'attribute_not_exists(pk)',
          onConditionFailed: 'retry',
        },
        expect.objectContaining({ key: mailCountKey(7, 'reset'), attributes: expect.objectContaining({ n: 1 }) }),
      ],
    ]);
    expect(lines).toEqual([]);
  });

  it('gets another key each time', () => {
    const [one, other] = [newResetKey(ada), newResetKey(ada)];

    expect(one.key).not.toBe(other.key);
  });

  it.each([
    ['is of nobody', ada, 'eve@example.com'],
    ['is of a deactivated account', { ...ada, activated: false }, 'ada@example.com'],
    ['has moved to another account', { ...ada, email: 'other@example.com' }, 'ada@example.com'],
  ])('takes as long and does nothing where the address %s', async (_, user, address) => {
    const table = tableOf(user);
    if (user.email !== 'ada@example.com') table.items.push({ ...emailGuardKey('ada@example.com'), id: 7 });

    expect(await timed(requestReset(services(table), SOURCE, address))).toBe(2000);
    expect([events, table.transacted, lines]).toEqual([[counted], [], []]);
  });

  it('finds an account whose address was claimed by the former rule, and by no other', async () => {
    const early = { ...ada, emailKeyRule: undefined, email: 'ada@xn--bcher-kva.example' };
    const table = tableOf(early);

    await timed(requestReset(services(table), SOURCE, 'ada@xn--bcher-kva.example'));
    await timed(requestReset(services(table), SOURCE, 'ada@b\u00FCcher.example'));

    expect(events.filter((event) => event.startsWith('mail'))).toHaveLength(1);
  });

  it('sends no mail beyond the share of the account, and stores no key', async () => {
    const table = tableOf(ada);
    table.items.push({ ...mailCountKey(7, 'reset'), n: 5, since: NOW });

    expect(await timed(requestReset(services(table), SOURCE, ada.email))).toBe(2000);
    expect([events, table.transacted]).toEqual([[counted], []]);
  });

  it('takes as long when the mail or the table fails, which is logged and not told', async () => {
    const broken = {
      ...mailer,
      sendLink: () => Promise.reject(Object.assign(new Error(), { name: 'MessageRejected' })),
    };
    const table = tableOf(ada);

    expect(await timed(requestReset({ ...services(table), mailer: broken }, SOURCE, ada.email))).toBe(2000);
    expect(lines).toMatchObject([{ resetNotSent: 'MessageRejected' }]);
    table.get = () => Promise.reject(Object.assign(new Error(), { name: 'TimeoutError' }));
    await expect(timed(requestReset(services(table), SOURCE, ada.email))).resolves.toBeDefined();
    expect(lines[1]).toMatchObject({ resetNotSent: 'TimeoutError' });
  });

  it('leaves 200 ms of its two seconds to calls that are given up', async () => {
    const table = tableOf(ada);
    const left: number[] = [];
    const { get } = table;
    table.get = (key) => {
      left.push(remainingMs());
      return get(key);
    };

    await timed(requestReset(services(table), SOURCE, ada.email));

    // Calls to AWS end 500 ms before this.
    expect(left[0]).toBe(2300);
  });

  it('of a source that asks too often fails at once, without a look at the address', async () => {
    const table = tableOf(ada);

    const asking = requestReset({ ...services(table), throttle: { ...throttle, countRequest: refused } }, SOURCE, 'x');

    await expect(asking).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect([Date.now() - NOW, table.reads, events]).toEqual([0, [], []]);
  });
});

describe('a password that is set by a mailed key', () => {
  const services = (table: RecordedTable) => ({ table, passwords, throttle, mailer });
  const KEY = 'k3y';
  const at = resetKey(createHash('sha256').update(KEY).digest('hex'));
  const stored = { ...at, userId: 7, resetStamp: 'reset', expires: SECONDS + 1 };
  const tableWithKey = (reset: object = {}, user: User = ada): RecordedTable => {
    const table = tableOf(user);
    table.items.push({ ...stored, ...reset });
    return table;
  };

  it('replaces the hash, ends tokens and keys of before, removes the key and is told by mail', async () => {
    const table = tableWithKey();

    await finishReset(services(table), SOURCE, KEY, 'new');

    expect(events).toEqual([counted, 'hash new', 'proved ada 203.0.113.7', 'notify passwordChanged ada@example.com']);
    const [[set, removed, proved, mail, audit] = []] = table.transacted;
    expect(set).toEqual({
      act: 'Update',
      key: entityKey('USER', 7),
      update: 'SET #set0 = :set0, #set1 = :set1, #set3 = :set3 REMOVE #set2',
      condition: '(#hash = :hash) AND (#version = :version)',
      names: {
        '#hash': 'passwordHash',
        '#version': 'version',
        '#set0': 'passwordHash',
        '#set1': 'passwordChanges',
        '#set2': 'tokenExcepted',
        '#set3': 'resetStamp',
      },
      values: {
        ':hash': 'hash of old',
        ':version': '3-abc',
        ':set0': 'hash of new',
        ':set1': 4,
        ':set3': expect.stringMatching(/^[\w-]{16}$/),
      },
      onConditionFailed: 'retry',
    });
    expect(set?.values?.[':set3']).not.toBe('reset');
    expect(removed).toEqual({ act: 'Delete', key: at, condition: 'attribute_exists(pk)', onConditionFailed: 'retry' });
    expect(proved).toBe(PROVED);
    expect(mail).toMatchObject({ key: mailCountKey(7, 'passwordChanged'), attributes: { n: 1 } });
    expect(audit?.attributes).toMatchObject({ actor: 'ada', actorId: 7, action: 'password.reset', target: 'user/7' });
    expect(table.transacted[0]).toHaveLength(5);
  });

  it.each<[string, object, Partial<User>]>([
    ['in its last second', { expires: SECONDS + 1 }, {}],
    ['of an account that has had no stamp', { resetStamp: undefined }, { resetStamp: undefined }],
    ['of an account that has had no password', {}, { passwordHash: undefined }],
  ])('can be set by a key %s', async (_, reset, user) => {
    const table = tableWithKey(reset, { ...ada, ...user });

    await finishReset(services(table), SOURCE, KEY, 'new');

    expect(table.transacted).toHaveLength(1);
  });

  it.each<[string, object, Partial<User>]>([
    ['that has expired', { expires: SECONDS }, {}],
    ['of another password or address', { resetStamp: 'another' }, {}],
    ['from before stamps, when there is one by now', { resetStamp: undefined }, {}],
    ['of a deactivated account', {}, { activated: false }],
    ['of an account that is gone', { userId: 8 }, {}],
    ['that was never given', { pk: 'RESET#x' }, {}],
  ])('cannot be set by a key %s, for which no hash is computed', async (_, reset, user) => {
    const table = tableWithKey(reset, { ...ada, ...user });

    await expect(finishReset(services(table), SOURCE, KEY, 'new')).rejects.toMatchObject({ code: 'unknown-key' });
    expect([events, table.transacted]).toEqual([[counted], []]);
  });

  it('is hashed once however often the change is tried', async () => {
    const table = tableWithKey();
    table.refusals.push(cancelledBy('ConditionalCheckFailed'), cancelledBy('ConditionalCheckFailed'));

    const finished = finishReset(services(table), SOURCE, KEY, 'new');
    await vi.runAllTimersAsync();
    await finished;

    expect(table.transacted).toHaveLength(3);
    expect(events.filter((event) => event.startsWith('hash'))).toHaveLength(1);
  });

  it('is set without a mail when the account has had its share', async () => {
    const table = tableWithKey();
    table.items.push({ ...mailCountKey(7, 'passwordChanged'), n: 20, since: NOW });

    await finishReset(services(table), SOURCE, KEY, 'new');

    expect(table.transacted[0]).toHaveLength(4);
    expect(events).not.toContain('notify passwordChanged ada@example.com');
  });

  it('is not looked at for a source that asks too often', async () => {
    const table = tableWithKey();

    const finished = finishReset(
      { ...services(table), throttle: { ...throttle, countRequest: refused } },
      SOURCE,
      KEY,
      'new',
    );

    await expect(finished).rejects.toMatchObject({ code: 'too-many-attempts' });
    expect([events, table.reads]).toEqual([[], []]);
  });
});

describe('a change of the own password', () => {
  const services = (table: RecordedTable) => ({ table, passwords, throttle, mailer });
  const caller: Caller = { id: 7, roles: [], accountStamp: 'account', jti: 'this token', passwordChanges: 3 };
  const change = (table: RecordedTable, current = 'old', by = caller) =>
    changePassword(services(table), authorize(table, by, ChangePassword.access), SOURCE, current, 'new');

  it('is counted as a guess, compared, made under the token that asked, forgiven and told by mail', async () => {
    const table = tableOf(ada);

    await change(table);

    expect(events.slice(0, 3)).toEqual([reserved, 'match hash of old', 'hash new']);
    // Side by side.
    expect(events.slice(3).sort()).toEqual(['forgive', 'notify passwordChanged ada@example.com']);
    const [[set, mail, audit, ...others] = []] = table.transacted;
    expect(set).toMatchObject({
      key: entityKey('USER', 7),
      values: { ':hash': 'hash of old', ':set0': 'hash of new', ':set1': 4, ':set2': 'this token' },
    });
    expect(set?.names).toMatchObject({
      '#set0': 'passwordHash',
      '#set1': 'passwordChanges',
      '#set2': 'tokenExcepted',
      '#set3': 'resetStamp',
    });
    expect(mail).toMatchObject({ key: mailCountKey(7, 'passwordChanged'), attributes: { n: 1 } });
    expect(audit?.attributes).toMatchObject({ actorId: 7, action: 'password.changed', target: 'user/7' });
    expect(others).toEqual([]);
  });

  it('fails for a wrong password, which stays counted', async () => {
    const table = tableOf(ada);

    await expect(change(table, 'wrong')).rejects.toMatchObject({ code: 'wrong-password' });
    expect([events, table.transacted]).toEqual([[reserved, 'match hash of old'], []]);
  });

  it.each<[string, Partial<User>, Partial<Caller>, string]>([
    ['is gone', { id: 8 }, {}, 'unauthorized'],
    ['is another account', {}, { accountStamp: 'former' }, 'unauthorized'],
    ['is deactivated', { activated: false }, {}, 'forbidden'],
    ['has a token from before another password', {}, { passwordChanges: 2 }, 'forbidden'],
  ])('fails for a caller who %s, and counts no guess', async (_, user, by, code) => {
    const table = tableOf({ ...ada, ...user });

    await expect(change(table, 'old', { ...caller, ...by })).rejects.toMatchObject({ code });
    expect([events, table.transacted]).toEqual([[], []]);
  });

  it('is one guess however often it is tried', async () => {
    const table = tableOf(ada);
    table.refusals.push(cancelledBy('ConditionalCheckFailed', 'None', 'None'));

    await change(table);

    expect(table.transacted).toHaveLength(2);
    expect(events.filter((event) => event.startsWith('reserve'))).toHaveLength(1);
    expect(events.filter((event) => event === 'forgive')).toHaveLength(1);
  });

  it('fails when the same token has changed the password since it was verified', async () => {
    const table = tableOf(ada);
    const [item] = table.items;
    const { transact } = table;
    table.transact = async () => {
      table.transact = transact;
      const changed = { passwordHash: 'hash of another', passwordChanges: 4, tokenExcepted: 'this token' };
      table.items.splice(0, 1, { ...(item as (typeof table.items)[number]), ...changed });
      throw cancelledBy('ConditionalCheckFailed', 'None', 'None');
    };

    await expect(change(table)).rejects.toMatchObject({ code: 'wrong-password' });
  });

  it('is made without a mail when the account has had its share', async () => {
    const table = tableOf(ada);
    table.items.push({ ...mailCountKey(7, 'passwordChanged'), n: 20, since: NOW });

    await change(table);

    expect(table.transacted[0]).toHaveLength(2);
    expect(events.at(-1)).toBe('forgive');
  });

  it('waits as a login does, before anything is compared', async () => {
    const table = tableOf(ada);

    const changing = changePassword(
      { ...services(table), throttle: { ...throttle, recordAttempt: refused } },
      authorize(table, caller, ChangePassword.access),
      SOURCE,
      'old',
      'new',
    );

    await expect(changing).rejects.toMatchObject({ code: 'too-many-attempts', retryAfter: 7 });
    expect(events).toEqual([]);
  });

  it('lets a change of an administrator go first', async () => {
    const table = tableOf(ada);
    table.items.push({ ...precedenceKey(7), until: NOW + 400 });

    const changing = change(table).then(() => Date.now() - NOW);
    await vi.advanceTimersByTimeAsync(399);
    const before = table.transacted.length;
    await vi.runAllTimersAsync();

    expect([before, await changing]).toEqual([0, 400]);
    expect(events.filter((event) => event.startsWith('reserve'))).toHaveLength(1);
  });
});
