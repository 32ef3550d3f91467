import { describe, expect, it, vi } from 'vitest';
import { UpdateAccount } from '../../lib/accounts/account-contracts.ts';
import { updateAccount } from '../../lib/accounts/update-account.ts';
import { ANONYMOUS_NAME, forgottenName, OPERATOR_NAME } from '../../lib/audit/audit-entry.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import type { Role } from '../../lib/contract/contract.ts';
import { emailKey } from '../../lib/mail/address.ts';
import { newClientId } from '../../lib/modules/credential.ts';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import { entityKey, type Key } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { put, type Write } from '../../lib/table/write.ts';
import { createUser } from '../../lib/users/create-user.ts';
import { factorChange, loggedIn, passwordChange } from '../../lib/users/credential-table.ts';
import { deleteUser } from '../../lib/users/delete-user.ts';
import { updateUser } from '../../lib/users/update-user.ts';
import type { User } from '../../lib/users/user.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';
import {
  emailGuardKey,
  formerUserKey,
  loginGuardKey,
  rosterKey,
} from '../../lib/users/user-items.ts';
import type { NewUser, OwnAccountChange, UserChange } from '../../lib/users/user-schema.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { outcomeOf } from '../support/doubles/rule-outcome.ts';
import { storedUser } from '../support/doubles/stored-user.ts';

/* The decisions on accounts, by what they change in a table. */

const TIME = '2026-03-10T12:00:00.000Z';
const NOW = Date.parse(TIME);
useFrozenClock(NOW, { AUDIT_DAYS: '400' });

const by = (table: MemoryTable, { id, incarnation }: User, { access } = UpdateUser) =>
  authorize(
    table,
    {
      id,
      incarnation,
      jti: 'j',
      expires: 0,
      passwordChanges: 0,
      sessionEndings: 0,
      source: '192.0.2.1',
    },
    access,
  );
const randomText = expect.stringMatching(/^[\w-]{16}$/);

const ADMIN: Role[] = ['ROLE_ADMIN'];
const admin = storedUser(1, 'admin', { authorities: ADMIN });
const adaWith = (fields: Partial<User>) =>
  storedUser(7, 'ada', { firstName: 'Ada', lastName: 'L', imageUrl: '/a.png', ...fields });
const ada = adaWith({});

const itemOf = (user: User): Item => ({ ...entityKey('USER', user.id), ...user });
/** A table with these users, their guards and the roster. */
function tableWith(...users: User[]): MemoryTable {
  const isAdmin = ({ activated, authorities }: User) =>
    activated && authorities.includes('ROLE_ADMIN');
  return memoryTable([
    ...users.flatMap((user) => [
      itemOf(user),
      { ...loginGuardKey(user.login), id: user.id },
      { ...emailGuardKey(emailKey(user.email)), id: user.id },
    ]),
    { ...rosterKey, ids: new Set(users.filter(isAdmin).map(({ id }) => id)) },
  ]);
}

/** The outcome of a rule: the user, the guards by their partition, the roster and the mails. */
async function changesOf<R>(table: MemoryTable, rule: Promise<R>, id = 7) {
  const { result, changed, audit } = await outcomeOf(table, rule);
  const ofPartition = (start: string) =>
    Object.entries(changed).filter(([name]) => name.startsWith(start));
  const guards = [...ofPartition('LOGIN#'), ...ofPartition('EMAIL#')].map(([name, guard]) => [
    name.replace(' GUARD', ''),
    guard === null ? null : guard.id,
  ]);
  const roster = changed[nameOf(rosterKey)]?.ids as Set<number> | undefined;
  return {
    result,
    audit,
    stored: changed[nameOf(entityKey('USER', id))],
    guards: Object.fromEntries(guards),
    roster: roster && [...roster],
    mails: ofPartition('MAIL#').map(([, mail]) => mail),
  };
}
const occasionsOf = (mails: (Item | null)[]) => mails.map((mail) => mail?.occasion);
const entry = (action: string, targetName: string, fields: string[] = [], id = 7) => ({
  actor: 'admin',
  actorId: 1,
  action,
  target: `user/${id}`,
  targetName,
  fields,
});

describe('createUser', () => {
  const requested: NewUser = {
    id: undefined,
    login: 'eve',
    email: 'Eve@Example.com',
    activated: true,
    langKey: 'de',
    authorities: [],
    password: 'secret',
    firstName: 'E',
    lastName: undefined,
    imageUrl: undefined,
  };
  const lenient = openPasswordPolicy({ minimum: 1, rejectCommon: false });
  const passwordsWith = (hash = async (text: string) => `hash of ${text}`) =>
    ({ hash }) as Partial<Passwords> as Passwords;
  const create = (fields: Partial<NewUser> = {}, table = tableWith(admin)) => {
    const services = { table, hasher: passwordsWith(), policy: lenient };
    const created = createUser(services, by(table, admin), { ...requested, ...fields });
    return changesOf(table, created, 1001);
  };

  it.each<[string, Partial<NewUser>, boolean]>([
    ['without a password and activated', { password: undefined }, true],
    ['without a password and deactivated', { password: undefined, activated: false }, false],
    ['with a password', {}, false],
  ])('invites the user of an account %s: %s', async (_, fields, isInvited) => {
    const { result, mails } = await create(fields);

    const expires = NOW / 1000 + 30 * 86_400;
    const { incarnation } = result;
    const invitation = { occasion: 'invitation', userId: 1001, incarnation, expires };
    expect(mails).toEqual(isInvited ? [expect.objectContaining(invitation)] : []);
  });

  it('takes an id and computes a hash once, and only for an authorized caller', async () => {
    const hash = vi.fn(async () => 'hash');
    const [rejected, renamed] = [tableWith({ ...admin, authorities: [] }), tableWith(admin)];
    renamed.concurrent.push([put(entityKey('USER', 1), itemOf({ ...admin, login: 'root' }))]);
    const run = (table: MemoryTable) =>
      createUser(
        { table, hasher: passwordsWith(hash), policy: lenient },
        by(table, admin),
        requested,
      );

    await expect(run(rejected)).rejects.toMatchObject({ code: 'forbidden' });
    expect([rejected.calls.includes('nextId USER'), hash.mock.calls]).toEqual([false, []]);
    expect(await run(renamed)).toMatchObject({ createdBy: 'root' });
    expect(renamed.calls.filter((call) => call === 'nextId USER')).toHaveLength(1);
    expect(hash).toHaveBeenCalledTimes(1);
  });

  it.each<[string, Partial<NewUser>]>([
    ['invalid', { password: 'x9k2v' }],
    ['common-password', { password: 'P@ssw0rd' }],
    ['common-password', { password: 'eve-2030' }],
    ['common-password', { password: 'EVE@EXAMPLE.COM' }],
  ])('fails with %s for %j, without an id or a hash', async (code, fields) => {
    const table = tableWith(admin);
    const hash = vi.fn(async () => 'hash');
    const policy = openPasswordPolicy({ minimum: 6, rejectCommon: true });

    const created = createUser({ table, hasher: passwordsWith(hash), policy }, by(table, admin), {
      ...requested,
      ...fields,
    });

    await expect(created).rejects.toMatchObject({ code });
    expect([table.calls.includes('nextId USER'), hash.mock.calls]).toEqual([false, []]);
  });

  it.each(
    [OPERATOR_NAME, ANONYMOUS_NAME, newClientId(7), forgottenName(7)].flatMap((name) => [
      name,
      name.toUpperCase(),
    ]),
  )('rejects a login that the service itself writes: %s', async (login) => {
    await expect(create({ login })).rejects.toMatchObject({ code: 'login-taken' });
  });

  it('never replaces an account', async () => {
    const [table, taken] = [tableWith(admin), itemOf(storedUser(1001, 'other'))];
    table.concurrent.push([put(entityKey('USER', 1001), taken)]);

    await expect(create({}, table)).rejects.toThrow('never holds');
    expect(table.find(entityKey('USER', 1001))).toEqual(taken);
  });
});

/** A change of each field of ada, in the order of the audit trail. */
const FIELDS: [keyof UserChange, unknown][] = [
  ['login', 'Ada'],
  ['firstName', 'Grace'],
  ['lastName', undefined],
  ['email', 'Ada@example.com'],
  ['imageUrl', ''],
  ['activated', false],
  ['langKey', 'de'],
  ['authorities', ['ROLE_USER', 'ROLE_ANALYST']],
];

describe('updateUser', () => {
  const update = (
    fields: Partial<UserChange>,
    before = ada,
    { table = tableWith(admin, before), precondition = undefined as string[] | undefined } = {},
  ) => {
    const changes = { id: 7, login: before.login, email: before.email, ...fields };
    return changesOf(table, updateUser(table, by(table, admin), changes, precondition));
  };

  it.each(FIELDS)('stores, returns and audits a change of %s', async (field, value) => {
    const { result, stored, audit } = await update({ [field]: value });

    const expected = {
      ...ada,
      [field]: value,
      version: expect.stringMatching(/^4-[\da-f-]{36}$/),
      lastModifiedBy: 'admin',
      lastModifiedDate: TIME,
    };
    const isVoided = ['email', 'activated'].includes(field);
    expect(result).toEqual(expected);
    expect(stored).toEqual({
      ...entityKey('USER', 7),
      ...expected,
      securityStamp: isVoided ? randomText : 'reset',
      ...(field === 'activated' && { sessionEndings: 1 }),
    });
    if (isVoided) expect(stored?.securityStamp).not.toBe('reset');
    expect(audit).toMatchObject(entry('user.updated', 'ada', [field]));
  });

  it('counts the end of all sessions by a deactivation on top of a concurrent one', async () => {
    const table = tableWith(admin, ada);
    const ended = { ...itemOf(ada), sessionEndings: 1 };
    table.concurrent.push([put(entityKey('USER', 7), ended)]);

    await update({ activated: false }, ada, { table });

    expect(table.find(entityKey('USER', 7))?.sessionEndings).toBe(2);
  });

  it('changes nothing of the sessions, and is no conflict with their end, otherwise', async () => {
    const table = tableWith(admin, ada);
    table.concurrent.push([put(entityKey('USER', 7), { ...itemOf(ada), sessionEndings: 1 })]);

    await update({ firstName: 'Grace' }, ada, { table });

    expect(table.find(entityKey('USER', 7))?.sessionEndings).toBe(1);
    expect(table.concurrent).toEqual([]);
    expect(table.calls.filter((call) => call === 'get USER')).toHaveLength(2);
  });

  it('audits all changed fields in their order, and none when nothing changes', async () => {
    const all = await update(Object.fromEntries(FIELDS));
    const none = await update({});

    expect(all.audit?.fields).toEqual(FIELDS.map(([field]) => field));
    expect([none.audit?.fields, none.result.version]).toEqual([[], expect.stringMatching(/^4-/)]);
    expect([none.guards, none.roster, none.mails]).toEqual([{}, undefined, []]);
  });

  it('does not undo a concurrent change of the password', async () => {
    const table = tableWith(admin, ada);
    const changed = { ...ada, passwordHash: 'new', passwordChanges: 1, securityStamp: 'new' };
    table.concurrent.push([put(entityKey('USER', 7), itemOf(changed))]);

    const { stored } = await update({ firstName: 'Grace' }, ada, { table });

    const { passwordHash, passwordChanges, securityStamp } = changed;
    expect(stored).toMatchObject({
      firstName: 'Grace',
      passwordHash,
      passwordChanges,
      securityStamp,
    });
  });

  it('is decided again after a concurrent visible change', async () => {
    const table = tableWith(admin, ada);
    const changed = { ...ada, langKey: 'de', version: '7-x' };
    table.concurrent.push([put(entityKey('USER', 7), itemOf(changed))]);

    const { result } = await update({ firstName: 'Grace' }, ada, { table });

    expect(result).toMatchObject({ langKey: 'de', version: expect.stringMatching(/^8-/) });
  });

  it('cannot take a reserved login, and can keep one', async () => {
    await expect(update({ login: 'System' })).rejects.toMatchObject({ code: 'login-taken' });

    const kept = await update({ login: 'System', langKey: 'de' }, adaWith({ login: 'System' }));
    expect(kept.stored?.langKey).toBe('de');
  });

  it('reports conflicts in the order of login, email address and last administrator', async () => {
    const eve = storedUser(8, 'eve');
    const table = tableWith(eve, adaWith({ authorities: ADMIN }));
    const codeOf = (fields: Partial<UserChange>) =>
      updateUser(
        table,
        by(table, adaWith({ authorities: ADMIN })),
        { id: 7, login: 'ada', email: ada.email, authorities: [], ...fields },
        undefined,
      ).catch(({ code }) => code);

    expect([
      await codeOf({ login: eve.login, email: eve.email }),
      await codeOf({ login: 'new', email: eve.email }),
      await codeOf({ login: 'new', email: 'new@example.com' }),
    ]).toEqual(['login-taken', 'email-taken', 'last-administrator']);
  });

  it('moves the guards of a new login and address, and notifies the former address', async () => {
    const { guards, mails } = await update({
      email: 'eve@example.com',
      login: 'eve',
      langKey: 'de',
    });

    expect(guards).toStrictEqual({
      'LOGIN#ada': null,
      'LOGIN#eve': 7,
      'EMAIL#ada@example.com': null,
      'EMAIL#eve@example.com': 7,
    });
    const { login, email, langKey } = ada;
    expect(mails).toMatchObject([{ occasion: 'emailChanged', userId: 7, login, email, langKey }]);
  });

  it.each<[string, Partial<User>, Partial<UserChange>, string[]]>([
    ['at a new address', {}, { email: 'eve@example.com' }, ['emailChanged', 'invitation']],
    ['at a new spelling of the address', {}, { email: 'ADA@example.com' }, ['invitation']],
    ['after an activation', { activated: false }, { activated: true }, ['invitation']],
    ['not after another change', {}, { firstName: 'Grace' }, []],
    ['not while deactivated', {}, { email: 'ADA@example.com', activated: false }, []],
    ['not with a password', { passwordHash: 'hash', activated: false }, { activated: true }, []],
  ])('invites a user without a password again %s', async (_, before, fields, occasions) => {
    const { mails } = await update(fields, adaWith({ passwordHash: undefined, ...before }));

    expect(occasionsOf(mails)).toEqual(occasions);
  });

  it('keeps the keys mailed to administrators who change their own address', async () => {
    const { id, login } = admin;
    const table = tableWith(admin);
    const changes = { id, login, email: 'new@example.com' };

    await updateUser(table, by(table, admin), changes, undefined);

    expect(table.find(entityKey('USER', 1))?.securityStamp).toBe('reset');
  });

  it.each<[string, Partial<User>, Partial<UserChange>]>([
    ['is promoted while deactivated', { activated: false }, { authorities: ADMIN }],
    ['is demoted while deactivated', { authorities: ADMIN, activated: false }, { authorities: [] }],
    ['stays an administrator', { authorities: ADMIN }, { authorities: [...ADMIN, 'ROLE_USER'] }],
  ])('leaves the roster when a user %s', async (_, before, fields) => {
    expect((await update(fields, adaWith(before))).roster).toBeUndefined();
  });
});

describe('updateAccount', () => {
  const update = (fields: OwnAccountChange, before = ada) => {
    const table = tableWith(before);
    return changesOf(table, updateAccount(by(table, before, UpdateAccount as never), fields));
  };
  it.each<[string, OwnAccountChange]>([
    ['no fields', {}],
    ['unchanged fields', { email: ada.email, firstName: 'Ada', imageUrl: '/a.png', langKey: 'en' }],
  ])('writes nothing for %s', async (_, fields) => {
    const { stored, audit } = await update(fields);

    expect([stored, audit]).toEqual([undefined, undefined]);
  });

  it('notifies the former address of a new one, keeps mailed keys and invites nobody', async () => {
    const { mails, stored } = await update(
      { email: 'eve@example.com' },
      adaWith({ passwordHash: undefined }),
    );

    expect(mails).toMatchObject([{ occasion: 'emailChanged', email: 'ada@example.com' }]);
    expect(stored?.securityStamp).toBe('reset');
  });

  it('notifies nobody of a new spelling, which could use up the limit of notices', async () => {
    const { mails, stored } = await update({ email: 'ADA@EXAMPLE.com' });

    expect([mails, stored?.email]).toEqual([[], 'ADA@EXAMPLE.com']);
  });
});

describe('deleteUser', () => {
  const remove = (user: User, precondition?: string[], table = tableWith(admin, user)) =>
    changesOf(table, deleteUser(table, by(table, admin), user.login, precondition));

  it('keeps what has ended of the tokens for 30 days', async () => {
    const { incarnation, activated, passwordChanges } = ada;
    const ended = { sessionEndings: 2, tokenExcepted: 't', sessionsEnded: new Set(['9-s']) };
    const factor = { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'r', recoveryCodes: 3 };
    const state = { ...ended, incarnation, activated, passwordChanges };
    const table = tableWith(admin, adaWith({ ...state, secondFactor: factor }));

    await remove(ada, undefined, table);

    const expires = NOW / 1000 + 30 * 24 * 60 * 60;
    expect(table.find(formerUserKey(7))).toEqual({
      ...formerUserKey(7),
      ...state,
      authorities: ada.authorities,
      secondFactor: true,
      expires,
    });
  });

  it('keeps a session ended that ends during the deletion', async () => {
    const table = tableWith(admin, ada);
    const sessionsEnded = new Set(['9-s']);
    table.concurrent.push([put(entityKey('USER', 7), { ...itemOf(ada), sessionsEnded })]);

    await remove(ada, undefined, table);

    expect(table.find(formerUserKey(7))?.sessionsEnded).toEqual(sessionsEnded);
  });

  it.each([
    ['its account has changed', itemOf({ ...ada, version: '4-x' })],
    ['another account has its login', { ...loginGuardKey('ada'), id: 8 }],
    ['another account has its address', { ...emailGuardKey('ada@example.com'), id: 8 }],
  ])('starts again, and deletes nothing of another account, if %s', async (_, item) => {
    const table = tableWith(admin, ada);
    table.concurrent.push([put(item as Key, item)]);

    await remove(ada, ['3-abc'], table).catch(() => undefined);

    expect(table.find(item as Key)).toEqual(item);
  });
});

describe('setting a password', () => {
  const changed = async (write: Write, before = ada) => {
    const table = memoryTable([itemOf(before)]);
    await table.transact([write], 'token');
    return table.find(entityKey('USER', 7));
  };
  const before = adaWith({ passwordChanges: 4, tokenExcepted: 'former' });

  it('counts the change, excepts one token, voids mailed keys and keeps the version', async () => {
    const stored = await changed(passwordChange(before, 'new hash', 'token'), before);

    expect(stored).toEqual({
      ...itemOf(before),
      passwordHash: 'new hash',
      passwordChanges: 5,
      tokenExcepted: 'token',
      securityStamp: randomText,
    });
    expect(stored?.securityStamp).not.toBe('reset');
  });

  it('by a mailed key removes the former exception', async () => {
    const stored = await changed(passwordChange(before, 'new hash'), before);

    expect(stored).not.toHaveProperty('tokenExcepted');
  });

  it('by rehashing the same one changes nothing else but the time of the login', async () => {
    expect(await changed(loggedIn(ada, NOW, { passwordHash: 'new hash' }))).toEqual({
      ...itemOf(ada),
      passwordHash: 'new hash',
      lastLogin: TIME,
    });
  });

  it.each([
    ['has changed', ada, { ...ada, passwordHash: 'other' }],
    ['was set', adaWith({ passwordHash: undefined }), ada],
  ])('starts again if the password %s since the read', async (_, read, now) => {
    const write = passwordChange(read, 'new hash');

    await expect(changed(write, now)).rejects.toThrow('TransactionCanceledException');
    expect(write.onConditionFailed).toBe('retry');
  });
});

describe('a change of the second factor', () => {
  it.each<[string, Parameters<typeof factorChange>[1], number | undefined]>([
    ['counts when it is turned off', { secondFactor: undefined }, 3],
    [
      'does not count when a secret is requested',
      { pendingFactor: { nonce: 'n', session: 's', expires: 9 } },
      2,
    ],
  ])('%s', async (_, fields, factorChanges) => {
    const before = adaWith({ factorChanges: 2 });
    const table = memoryTable([itemOf(before)]);

    await table.transact([factorChange(before, fields)], 'token');

    expect(table.find(entityKey('USER', 7))).toMatchObject({ factorChanges });
  });
});

describe('findUserByLogin', () => {
  it('matches the login exactly', async () => {
    expect(await findUserByLogin(tableWith(ada), 'ada')).toMatchObject({ id: 7, login: 'ada' });
    expect(await findUserByLogin(tableWith(ada), 'Ada')).toBeUndefined();
  });

  it('returns undefined when the user was deleted between the two reads', async () => {
    const table = memoryTable([{ ...loginGuardKey('ada'), id: 7 }]);

    expect(await findUserByLogin(table, 'ada')).toBeUndefined();
  });

  it('follows a rename between the two reads once', async () => {
    const renamed = storedUser(7, 'eve');
    const stale = memoryTable([itemOf(renamed), { ...loginGuardKey('ada'), id: 7 }]);
    const moved = tableWith(renamed, storedUser(8, 'ada'));
    const { get } = moved;
    let reads = 0;
    moved.get = async (key) => (++reads === 1 ? { ...loginGuardKey('ada'), id: 7 } : get(key));

    expect(await findUserByLogin(stale, 'ada')).toBeUndefined();
    expect(stale.calls).toHaveLength(4);
    expect(await findUserByLogin(moved, 'ada')).toMatchObject({ id: 8 });
  });
});
