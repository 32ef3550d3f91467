import { describe, expect, it, vi } from 'vitest';
import { UpdateAccount } from '../../lib/accounts/account-contracts.ts';
import { updateAccount } from '../../lib/accounts/update-account.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import type { Caller } from '../../lib/contract/caller.ts';
import type { Role } from '../../lib/contract/contract.ts';
import type { Passwords } from '../../lib/passwords/passwords.ts';
import {
  emailGuardKey,
  entityKey,
  loginGuardKey,
  precedenceKey,
  rosterKey,
  totalKey,
} from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import type { Write } from '../../lib/table/write.ts';
import { createUser, newAccount } from '../../lib/users/create-user.ts';
import { deleteUser } from '../../lib/users/delete-user.ts';
import { updateUser } from '../../lib/users/update-user.ts';
import type { User } from '../../lib/users/user.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';
import type { NewUser, OwnAccountChange, UserChange } from '../../lib/users/user-schema.ts';
import { findUserByLogin, passwordChange, rehash } from '../../lib/users/user-table.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';

const NOW = Date.parse('2026-03-10T12:00:00.000Z');
useFrozenClock(NOW, { AUDIT_DAYS: '400' });

const ADMIN: Caller = { id: 1, roles: [], accountStamp: 'admins', jti: 'j', passwordChanges: 0 };
const administrator = (table: Table) => authorize(table, ADMIN, UpdateUser.access);
const EARLIER = '2026-01-01T00:00:00.000Z';
const STAMP = /^[\w-]{16}$/;

const userOf = (id: number, login: string, fields: Partial<User> = {}): User => ({
  id,
  login,
  email: `${login}@example.com`,
  emailKeyRule: 'UTS46',
  activated: true,
  langKey: 'en',
  authorities: ['ROLE_USER'],
  createdBy: 'system',
  createdDate: EARLIER,
  lastModifiedBy: 'system',
  lastModifiedDate: EARLIER,
  version: '3-abc',
  accountStamp: `${login}s`,
  resetStamp: 'reset',
  passwordHash: 'hash',
  passwordChanges: 0,
  ...fields,
});
const admin = userOf(1, 'admin', { authorities: ['ROLE_ADMIN'] });
const ada = userOf(7, 'ada', { firstName: 'Ada', lastName: 'L', imageUrl: '/a.png' });

const itemsOf = (...users: User[]): Item[] =>
  users.flatMap((user) => [
    { ...entityKey('USER', user.id), ...user },
    { ...loginGuardKey(user.login), id: user.id },
  ]);

/** The mails that these writes cause. */
const mailsIn = (writes: readonly Write[]) =>
  writes.filter(({ key }) => key.pk.startsWith('MAIL#')).map(({ attributes }) => attributes);
const passwords = {
  hash: async (text: string) => `hash of ${text}`,
} as Partial<Passwords> as Passwords;

/**
 * The writes of the one transaction without the condition check of the caller, and its audit entry.
 */
function changesOf({ transactions }: MemoryTable): {
  writes: readonly Write[];
  audit: Write['attributes'];
} {
  expect(transactions).toHaveLength(1);
  const writes = transactions[0] ?? [];
  return {
    writes: writes.slice(0, -1).filter(({ act }) => act !== 'ConditionCheck'),
    audit: writes.at(-1)?.attributes,
  };
}
/** Each write as its action, partition key and the meaning of a failed condition. */
const outline = (writes: readonly Write[]) =>
  writes.map(({ act, key, onConditionFailed }) =>
    [act, key.pk, ...(onConditionFailed ? [onConditionFailed] : [])].join(' '),
  );

const MAIL = 'Put MAIL#0000000000000007 retry';
const guardOf = (id: number) => ({
  condition: '#id = :id',
  names: { '#id': 'id' },
  values: { ':id': id },
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

  it('claims login and email address, in this order, and increments the total', async () => {
    const table = memoryTable(itemsOf(admin));

    const user = await createUser(table, passwords, administrator(table), requested);

    const { writes, audit } = changesOf(table);
    const always = { act: 'Put', condition: 'attribute_not_exists(pk)' };
    expect(user).toEqual({
      id: 1001,
      login: 'eve',
      email: 'Eve@Example.com',
      emailKeyRule: 'UTS46',
      activated: true,
      langKey: 'de',
      authorities: [],
      firstName: 'E',
      lastName: undefined,
      imageUrl: undefined,
      passwordHash: 'hash of secret',
      createdBy: 'admin',
      createdDate: '2026-03-10T12:00:00.000Z',
      lastModifiedBy: 'admin',
      lastModifiedDate: '2026-03-10T12:00:00.000Z',
      version: expect.stringMatching(/^1-/),
      accountStamp: expect.stringMatching(STAMP),
      resetStamp: expect.stringMatching(STAMP),
      passwordChanges: 0,
    });
    expect(user.accountStamp).not.toBe(user.resetStamp);
    expect(writes).toEqual([
      {
        ...always,
        key: loginGuardKey('eve'),
        attributes: { id: 1001 },
        onConditionFailed: 'login-taken',
      },
      {
        ...always,
        key: emailGuardKey('eve@example.com'),
        attributes: { id: 1001 },
        onConditionFailed: 'email-taken',
      },
      { ...always, key: entityKey('USER', 1001), attributes: user, onConditionFailed: 'retry' },
      expect.objectContaining({
        act: 'Update',
        key: totalKey('USER'),
        values: { ':amount': 1, ':one': 1 },
      }),
    ]);
    expect(audit).toMatchObject({
      actor: 'admin',
      actorId: 1,
      action: 'user.created',
      target: 'user/1001',
      targetName: 'eve',
      fields: [],
    });
  });

  it.each<[string, Partial<NewUser>, boolean]>([
    ['without a password and activated', { password: undefined }, true],
    ['without a password and deactivated', { password: undefined, activated: false }, false],
    ['with a password', {}, false],
  ])('invites the user of an account %s: %s', async (_, fields, invited) => {
    const table = memoryTable(itemsOf(admin));

    const { accountStamp } = await createUser(table, passwords, administrator(table), {
      ...requested,
      ...fields,
    });

    const expires = NOW / 1000 + 30 * 86_400;
    const invitation = { occasion: 'invitation', userId: 1001, accountStamp, expires };
    expect(mailsIn(changesOf(table).writes)).toEqual(invited ? [invitation] : []);
  });

  it.each<[string, Role[], boolean, boolean]>([
    ['an activated administrator', ['ROLE_USER', 'ROLE_ADMIN'], true, true],
    ['a deactivated administrator', ['ROLE_ADMIN'], false, false],
    ['no administrator', ['ROLE_USER', 'ROLE_ANALYST'], true, false],
  ])(
    'adds activated administrators to the roster: %s',
    async (_, authorities, activated, joins) => {
      const table = memoryTable(itemsOf(admin));

      await createUser(table, passwords, administrator(table), {
        ...requested,
        authorities,
        activated,
      });

      const [join] = changesOf(table).writes.filter(({ key }) => key === rosterKey);
      expect(join !== undefined).toBe(joins);
      if (joins)
        expect(join).toMatchObject({
          update: 'ADD #ids :set',
          values: { ':set': new Set([1001]) },
        });
    },
  );

  it('takes no id and computes no hash for an unauthorized caller', async () => {
    const table = memoryTable(itemsOf(userOf(1, 'admin')));
    const hash = vi.fn(passwords.hash);

    await expect(
      createUser(table, { ...passwords, hash }, administrator(table), requested),
    ).rejects.toMatchObject({
      code: 'forbidden',
    });

    expect(table.calls).not.toContain('nextId USER');
    expect(hash).not.toHaveBeenCalled();
  });

  it('takes one id and computes one hash despite retries', async () => {
    const table = memoryTable(itemsOf(admin));
    const hash = vi.fn(passwords.hash);
    const { transact } = table;
    let tries = 0;
    table.transact = async (writes, token) => {
      if (++tries > 1) return transact(writes, token);
      throw Object.assign(new Error(), {
        name: 'TransactionCanceledException',
        CancellationReasons: [{ Code: 'ConditionalCheckFailed' }],
      });
    };

    await createUser(table, { ...passwords, hash }, administrator(table), requested);

    expect(table.calls.filter((call) => call === 'nextId USER')).toHaveLength(1);
    expect(hash).toHaveBeenCalledTimes(1);
  });

  it('records the creator in both audit fields', () => {
    const fields = {
      id: 5,
      login: 'x',
      email: 'x@y',
      activated: false,
      langKey: 'fr',
      authorities: [],
    };

    expect(newAccount(fields, 'system', Date.now())).toMatchObject({
      ...fields,
      createdBy: 'system',
      lastModifiedBy: 'system',
    });
  });
});

const SAME = {
  id: 7,
  login: 'ada',
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'L',
  imageUrl: '/a.png',
  activated: true,
  langKey: 'en',
  authorities: ['ROLE_USER'] as Role[],
} satisfies UserChange;

/** A change of each field. */
const FIELDS: [keyof typeof SAME, unknown][] = [
  ['login', 'Ada'],
  ['email', 'Ada@example.com'],
  ['firstName', 'Grace'],
  ['lastName', undefined],
  ['imageUrl', ''],
  ['activated', false],
  ['langKey', 'de'],
  ['authorities', ['ROLE_USER', 'ROLE_ANALYST']],
];

describe('updateUser', () => {
  async function update(
    fields: Partial<UserChange>,
    before = ada,
    precondition?: string[],
    more: Item[] = [],
  ) {
    const table = memoryTable([...itemsOf(admin, before), ...more]);
    const after = await updateUser(
      table,
      administrator(table),
      { ...SAME, ...fields },
      precondition,
    );
    const changes = changesOf(table);
    return {
      table,
      mails: mailsIn(changes.writes),
      after,
      ...changes,
      stored: table.find(entityKey('USER', 7)),
    };
  }

  it.each(FIELDS)('stores, returns and audits a change of %s', async (field, value) => {
    const { after, stored, audit } = await update({ [field]: value });

    const expected = {
      ...ada,
      [field]: value,
      version: expect.stringMatching(/^4-[\da-f-]{36}$/),
      lastModifiedBy: 'admin',
      lastModifiedDate: '2026-03-10T12:00:00.000Z',
    };
    const voided = ['email', 'activated'].includes(field) && {
      resetStamp: expect.stringMatching(STAMP),
    };
    expect(after).toEqual(expected);
    expect(stored).toEqual({ ...entityKey('USER', 7), ...expected, ...voided });
    expect(audit).toMatchObject({
      actor: 'admin',
      actorId: 1,
      action: 'user.updated',
      target: 'user/7',
      targetName: 'ada',
      fields: [field],
    });
  });

  it('audits all changed fields in their order', async () => {
    const { audit } = await update(Object.fromEntries(FIELDS));

    const names = [
      'login',
      'firstName',
      'lastName',
      'email',
      'imageUrl',
      'activated',
      'langKey',
      'authorities',
    ];
    expect(audit?.fields).toEqual(names);
  });

  it('assigns a new version but audits no field when nothing changes', async () => {
    const { writes, audit, after } = await update({});

    expect(outline(writes)).toEqual(['Update USER retry']);
    expect([audit?.fields, after.version]).toEqual([[], expect.stringMatching(/^4-/)]);
  });

  it('requires the version that was read and keeps stamps, password and creation data', async () => {
    const { writes } = await update({ firstName: 'Grace' });

    const [write] = writes;
    expect(write).toMatchObject({ condition: '#version = :version', onConditionFailed: 'retry' });
    expect(write?.values).toMatchObject({ ':version': '3-abc' });
    expect(Object.values(write?.names ?? {}).toSorted()).toEqual(
      [
        ...[
          'version',
          'login',
          'email',
          'emailKeyRule',
          'firstName',
          'lastName',
          'imageUrl',
          'activated',
          'langKey',
        ],
        ...['authorities', 'lastModifiedBy', 'lastModifiedDate', 'version'],
      ].toSorted(),
    );
  });

  it('reports conflicts in the order of login, email address and last administrator', async () => {
    const before = userOf(7, 'ada', { authorities: ['ROLE_ADMIN'] });

    const { writes } = await update(
      { login: 'eve', email: 'eve@example.com', authorities: [] },
      before,
    );

    expect(outline(writes)).toEqual([
      'Put LOGIN#eve login-taken',
      'Put EMAIL#eve@example.com email-taken',
      'Update ADMINS last-administrator',
      'Delete LOGIN#ada retry',
      'Delete EMAIL#ada@example.com retry',
      'Update USER retry',
      MAIL,
    ]);
    expect(writes[3]).toMatchObject(guardOf(7));
    expect(writes[4]).toMatchObject(guardOf(7));
    expect([writes[0]?.attributes, writes[1]?.attributes]).toEqual([{ id: 7 }, { id: 7 }]);
  });

  it('keeps the email address and its stamp when only the login changes', async () => {
    const { writes, stored, mails } = await update({ login: 'eve' });

    expect(outline(writes)).toEqual([
      'Put LOGIN#eve login-taken',
      'Delete LOGIN#ada retry',
      'Update USER retry',
    ]);
    expect([stored?.resetStamp, mails]).toEqual(['reset', []]);
  });

  it('notifies the former address when it changes and voids mailed keys', async () => {
    const { writes, stored, mails } = await update({
      email: 'eve@example.com',
      login: 'eve',
      langKey: 'de',
    });

    expect(outline(writes).slice(1, -1)).toEqual([
      'Put EMAIL#eve@example.com email-taken',
      'Delete LOGIN#ada retry',
      'Delete EMAIL#ada@example.com retry',
      'Update USER retry',
    ]);
    expect(stored?.resetStamp).toMatch(STAMP);
    expect(mails).toMatchObject([
      {
        occasion: 'emailChanged',
        userId: 7,
        login: 'ada',
        email: 'ada@example.com',
        langKey: 'en',
      },
    ]);
  });

  it('keeps the guard, notifies nobody and voids mailed keys when only the case of the address changes', async () => {
    const { writes, stored } = await update({ email: 'ADA@example.com' });

    expect(outline(writes)).toEqual(['Update USER retry']);
    expect(stored?.resetStamp).toMatch(STAMP);
  });

  it.each<[string, Partial<User>, Partial<UserChange>, string[]]>([
    ['at a new address', {}, { email: 'eve@example.com' }, ['emailChanged', 'invitation']],
    ['at a new spelling of the address', {}, { email: 'ADA@example.com' }, ['invitation']],
    ['after an activation', { activated: false }, {}, ['invitation']],
    ['not after another change', {}, { firstName: 'Grace' }, []],
    ['not while deactivated', {}, { email: 'ADA@example.com', activated: false }, []],
    ['not with a password', { passwordHash: 'hash', activated: false }, {}, []],
  ])('invites a user without a password again %s', async (_, before, fields, occasions) => {
    const { mails } = await update(
      fields,
      userOf(7, 'ada', { passwordHash: undefined, ...before }),
    );

    expect(mails.map((mail) => mail?.occasion)).toEqual(occasions);
  });

  it('applies the current normalization rule to an older address only when its spelling changes', async () => {
    const early = userOf(7, 'ada', { email: 'ada@xn--bcher-kva.example', emailKeyRule: undefined });

    const kept = await update({ email: early.email, firstName: 'Grace' }, early);
    const spelled = await update({ email: 'Ada@xn--bcher-kva.example' }, early);
    const moved = await update({ email: 'ada@b\u00fccher.org' }, early);

    expect([outline(kept.writes), kept.stored?.emailKeyRule]).toEqual([
      ['Update USER retry'],
      undefined,
    ]);
    expect(spelled.stored?.emailKeyRule).toBe('UTS46');
    expect(outline(spelled.writes).slice(0, 2)).toEqual([
      'Put EMAIL#ada@b\u00fccher.example email-taken',
      'Delete EMAIL#ada@xn--bcher-kva.example retry',
    ]);
    const checks = (table: MemoryTable) =>
      (table.transactions[0] ?? []).filter(
        ({ act, key }) => act === 'ConditionCheck' && key.pk.startsWith('EMAIL#'),
      );
    // A transaction cannot also check the guard that it deletes.
    expect(checks(spelled.table)).toEqual([]);
    expect(checks(moved.table)).toEqual([
      {
        act: 'ConditionCheck',
        key: emailGuardKey('ada@xn--bcher-kva.org'),
        condition: 'attribute_not_exists(pk)',
        onConditionFailed: 'email-taken',
      },
    ]);
  });

  const LEAVE = 'Update ADMINS last-administrator';
  const JOIN = 'Update ADMINS';
  const A: Role[] = ['ROLE_ADMIN'];
  it.each<[string, Partial<User>, Partial<UserChange>, string[]]>([
    ['is promoted', {}, { authorities: A }, [JOIN]],
    [
      'is promoted while deactivated',
      { activated: false },
      { activated: false, authorities: A },
      [],
    ],
    ['is promoted and activated', { activated: false }, { authorities: A }, [JOIN]],
    ['is activated', { activated: false, authorities: A }, { authorities: A }, [JOIN]],
    ['is demoted', { authorities: A }, { authorities: ['ROLE_USER'] }, [LEAVE]],
    ['is deactivated', { authorities: A }, { authorities: A, activated: false }, [LEAVE]],
    [
      'is demoted while deactivated',
      { authorities: A, activated: false },
      { activated: false, authorities: [] },
      [],
    ],
    [
      'stays an administrator',
      { authorities: A },
      { authorities: ['ROLE_USER', 'ROLE_ADMIN'] },
      [],
    ],
    ['is not an administrator', {}, { authorities: ['ROLE_ANALYST'] }, []],
  ])('updates the roster when a user %s', async (_, before, fields, expected) => {
    const { writes } = await update(fields, userOf(7, 'ada', before));

    expect(outline(writes).filter((line) => line.includes('ADMINS'))).toEqual(expected);
  });

  it('keeps the fields that the request omits', async () => {
    const table = memoryTable(itemsOf(admin, ada));
    const requested: UserChange = { id: 7, login: 'ada', email: 'ada@example.com' };

    const after = await updateUser(table, administrator(table), requested, undefined);

    expect(after).toMatchObject({
      firstName: 'Ada',
      lastName: 'L',
      imageUrl: '/a.png',
      authorities: ['ROLE_USER'],
    });
    expect(changesOf(table).audit?.fields).toEqual([]);
  });

  it('rejects an unmet precondition and an unknown user', async () => {
    const table = memoryTable(itemsOf(admin, ada));
    const change = (fields: object, precondition?: string[]) =>
      updateUser(table, administrator(table), { ...SAME, email: 'x@y.z', ...fields }, precondition);

    await expect(change({}, ['2-abc'])).rejects.toMatchObject({ code: 'version-changed' });
    await expect(change({ id: 99 }, ['2-abc'])).rejects.toMatchObject({ code: 'unknown-id' });
    // Only precedence over the user's own changes is taken.
    expect(table.transactions.map((writes) => writes.map(({ key }) => key))).toEqual([
      [precedenceKey(7)],
    ]);
    expect((await update({}, ada, ['3-abc'])).after.version).toMatch(/^4-/);
  });
});

describe('updateAccount', () => {
  const OWNER: Caller = { id: 7, roles: [], accountStamp: 'adas', jti: 'j', passwordChanges: 0 };
  async function update(fields: OwnAccountChange, before = ada) {
    const table = memoryTable(itemsOf(before));
    await updateAccount(authorize(table, OWNER, UpdateAccount.access), fields);
    return {
      table,
      mails: mailsIn(table.transactions[0] ?? []),
      stored: table.find(entityKey('USER', 7)),
    };
  }
  const OWN = FIELDS.filter(([field]) =>
    ['email', 'firstName', 'lastName', 'imageUrl', 'langKey'].includes(field),
  );

  it.each(OWN)('stores and audits a change of %s', async (field, value) => {
    const { table, stored } = await update({ [field]: value });

    expect(stored).toMatchObject({
      login: 'ada',
      lastModifiedBy: 'ada',
      lastModifiedDate: '2026-03-10T12:00:00.000Z',
      version: expect.stringMatching(/^4-[\da-f-]{36}$/),
    });
    expect(stored?.[field]).toBe(value);
    expect(table.transactions[0]?.at(-1)?.attributes).toMatchObject({
      actor: 'ada',
      actorId: 7,
      action: 'account.updated',
      target: 'user/7',
      targetName: 'ada',
      fields: [field],
    });
  });

  it.each<[string, OwnAccountChange]>([
    ['no fields', {}],
    [
      'unchanged fields',
      { email: ada.email, firstName: 'Ada', lastName: 'L', imageUrl: '/a.png', langKey: 'en' },
    ],
  ])('writes nothing for %s', async (_, fields) => {
    const { table } = await update(fields);

    expect(table.transactions).toEqual([]);
  });

  it('notifies the former address of a new one, and keeps mailed keys valid', async () => {
    const { mails, stored } = await update({ email: 'eve@example.com' });

    expect(mails).toMatchObject([{ occasion: 'emailChanged', email: 'ada@example.com' }]);
    expect(stored?.resetStamp).toBe('reset');
  });

  it('notifies nobody of a new spelling, with which a thief could use up the limit of notices', async () => {
    const { mails, stored } = await update({ email: 'ADA@EXAMPLE.com' });

    expect([mails, stored?.email]).toEqual([[], 'ADA@EXAMPLE.com']);
  });

  it('invites nobody, although the account has no password', async () => {
    const { mails } = await update(
      { email: 'eve@example.com' },
      userOf(7, 'ada', { passwordHash: undefined }),
    );

    expect(mails).toHaveLength(1);
  });
});

describe('deleteUser', () => {
  const remove = async (user: User, precondition?: string[]) => {
    const table = memoryTable(itemsOf(admin, user));
    await deleteUser(table, administrator(table), user.login, precondition);
    return changesOf(table);
  };

  it('releases login and email address and decrements the total', async () => {
    const { writes, audit } = await remove(ada, ['3-abc']);

    expect(outline(writes)).toEqual([
      ...[
        'Delete LOGIN#ada retry',
        'Delete EMAIL#ada@example.com retry',
        'Delete USER retry',
        'Update TOTAL',
      ],
    ]);
    expect([writes[0], writes[1]]).toMatchObject([guardOf(7), guardOf(7)]);
    expect(writes[2]).toMatchObject({
      key: entityKey('USER', 7),
      condition: '#version = :version',
      values: { ':version': '3-abc' },
    });
    expect(writes[3]).toMatchObject({
      key: totalKey('USER'),
      values: { ':amount': -1, ':one': 1 },
    });
    expect(audit).toMatchObject({
      actor: 'admin',
      actorId: 1,
      action: 'user.deleted',
      target: 'user/7',
      targetName: 'ada',
      fields: [],
    });
  });

  it('first removes an administrator from the roster, unless it is the last', async () => {
    const { writes } = await remove(userOf(7, 'ada', { authorities: ['ROLE_ADMIN'] }));

    expect(writes[0]).toEqual({
      act: 'Update',
      key: rosterKey,
      update: 'DELETE #ids :set',
      names: { '#ids': 'ids' },
      condition: 'contains(#ids, :id) AND size(#ids) > :one',
      values: { ':set': new Set([7]), ':id': 7, ':one': 1 },
      onConditionFailed: 'last-administrator',
    });
  });

  it('leaves the roster unchanged for a deactivated administrator', async () => {
    const { writes } = await remove(
      userOf(7, 'ada', { authorities: ['ROLE_ADMIN'], activated: false }),
    );

    expect(outline(writes)[0]).toBe('Delete LOGIN#ada retry');
  });

  it('releases the guard of an address under the former normalization rule', async () => {
    const { writes } = await remove(
      userOf(7, 'ada', { email: 'ada@xn--bcher-kva.example', emailKeyRule: undefined }),
    );

    expect(outline(writes)[1]).toBe('Delete EMAIL#ada@xn--bcher-kva.example retry');
  });

  it('rejects an unknown user and an unmet precondition', async () => {
    const table = memoryTable(itemsOf(admin, ada));

    await expect(deleteUser(table, administrator(table), 'eve', undefined)).rejects.toMatchObject({
      code: 'not-found',
    });
    await expect(deleteUser(table, administrator(table), 'ada', ['2-abc'])).rejects.toMatchObject({
      code: 'version-changed',
    });
    expect(table.transactions.map((writes) => writes.map(({ key }) => key))).toEqual([
      [precedenceKey(7)],
    ]);
  });
});

describe('setting a password', () => {
  const namesOf = ({ names }: Write) => Object.values(names ?? {}).toSorted();

  it('counts the change, excepts one token, invalidates mailed keys and keeps the version', () => {
    const write = passwordChange({ ...ada, passwordChanges: 4 }, 'new hash', 'token');

    const {
      ':set0': hash,
      ':set1': changes,
      ':set2': excepted,
      ':set3': stamp,
    } = write.values ?? {};
    expect([hash, changes, excepted, stamp]).toEqual([
      'new hash',
      5,
      'token',
      expect.stringMatching(STAMP),
    ]);
    expect(stamp).not.toBe(ada.resetStamp);
    expect(namesOf(write)).toEqual([
      'passwordChanges',
      'passwordHash',
      'passwordHash',
      'resetStamp',
      'tokenExcepted',
    ]);
    expect(write).toMatchObject({
      act: 'Update',
      key: entityKey('USER', 7),
      condition: '#passwordHash = :passwordHash',
      onConditionFailed: 'retry',
    });
    expect(write.values).toMatchObject({ ':passwordHash': 'hash' });
  });

  it('by a mailed key excepts no token and removes the former exception', () => {
    const { update } = passwordChange(ada, 'new hash');

    expect(update).toBe('SET #set0 = :set0, #set1 = :set1, #set3 = :set3 REMOVE #set2');
  });

  it('by rehashing the same one changes nothing else', () => {
    const write = rehash(ada, 'new hash');

    expect(namesOf(write)).toEqual(['passwordHash', 'passwordHash']);
    expect(write).toMatchObject({
      condition: '#passwordHash = :passwordHash',
      values: { ':passwordHash': 'hash', ':set0': 'new hash' },
    });
  });

  it('for an account without one requires that it still has none', () => {
    const write = passwordChange({ ...ada, passwordHash: undefined }, 'new hash');

    expect(write).toMatchObject({
      condition: 'attribute_not_exists(#passwordHash)',
      onConditionFailed: 'retry',
    });
    expect(write.values).not.toHaveProperty(':passwordHash');
  });
});

describe('findUserByLogin', () => {
  it('matches the login exactly', async () => {
    expect(await findUserByLogin(memoryTable(itemsOf(ada)), 'ada')).toMatchObject({
      id: 7,
      login: 'ada',
    });
    expect(await findUserByLogin(memoryTable(itemsOf(ada)), 'Ada')).toBeUndefined();
  });

  it('returns undefined when the user was deleted between the two reads', async () => {
    const table = memoryTable([{ ...loginGuardKey('ada'), id: 7 }]);

    expect(await findUserByLogin(table, 'ada')).toBeUndefined();
  });

  it('follows a rename between the two reads once', async () => {
    const renamed = userOf(7, 'eve');
    const stale = memoryTable([
      { ...entityKey('USER', 7), ...renamed },
      { ...loginGuardKey('ada'), id: 7 },
    ]);
    const moved = memoryTable([...itemsOf(renamed), ...itemsOf(userOf(8, 'ada'))]);
    const { get } = moved;
    let reads = 0;
    moved.get = async (key) => (++reads === 1 ? { ...loginGuardKey('ada'), id: 7 } : get(key));

    expect(await findUserByLogin(stale, 'ada')).toBeUndefined();
    expect(stale.calls).toHaveLength(4);
    expect(await findUserByLogin(moved, 'ada')).toMatchObject({ id: 8 });
  });
});
