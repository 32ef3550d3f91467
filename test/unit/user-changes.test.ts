import { describe, expect, it, vi } from 'vitest';
import { ANONYMOUS_NAME, forgottenName, OPERATOR_NAME } from '../../lib/audit/audit-entry.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import type { Role } from '../../lib/contract/contract.ts';
import { emailKey } from '../../lib/mail/address.ts';
import { newClientId } from '../../lib/modules/credential.ts';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Item } from '../../lib/table/table.ts';
import { put } from '../../lib/table/write.ts';
import { membership } from '../../lib/users/administrators.ts';
import { createUser } from '../../lib/users/create-user.ts';
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
import type { NewUser, UserChange } from '../../lib/users/user-schema.ts';
import { findUserByLogin } from '../../lib/users/user-table.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { outcomeOf } from '../support/doubles/rule-outcome.ts';
import { storedSession } from '../support/doubles/stored-session.ts';
import { storedUser } from '../support/doubles/stored-user.ts';

/* What of the changes of users no client sees, and the cases that a request over HTTP costs. */

const NOW = Date.UTC(2026, 2, 10);
useFrozenClock(NOW, { AUDIT_DAYS: '400' });

const ADMIN: Role[] = ['ROLE_ADMIN'];
const admin = storedUser(1, 'admin', { authorities: ADMIN });
const adaWith = (fields: Partial<User> = {}) =>
  storedUser(7, 'ada', { firstName: 'Ada', lastName: 'L', imageUrl: '/a.png', ...fields });
const ada = adaWith();

const itemOf = (user: User): Item => ({ ...entityKey('USER', user.id), ...user });
/** A table with these users, their guards and the roster. */
const tableWith = (...users: User[]): MemoryTable =>
  memoryTable([
    ...users.flatMap((user) => [
      itemOf(user),
      { ...loginGuardKey(user.login), id: user.id },
      { ...emailGuardKey(emailKey(user.email)), id: user.id },
    ]),
    {
      ...rosterKey,
      ids: new Set(users.filter((user) => user.authorities.includes('ROLE_ADMIN')).map(idOf)),
    },
  ]);
const idOf = ({ id }: User): number => id;
const by = (table: MemoryTable, user: User) =>
  authorize(table, { ...storedSession(user), id: user.id, source: '' }, UpdateUser.access);

/** The outcome of a rule with the mails that it requests. */
async function changesOf<R>(table: MemoryTable, rule: Promise<R>) {
  const outcome = await outcomeOf(table, rule);
  const mails = Object.entries(outcome.changed).filter(([name]) => name.startsWith('MAIL#'));
  return { ...outcome, mails: mails.map(([, mail]) => mail) };
}

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
  const create = (table: MemoryTable, fields: Partial<NewUser> = {}, minimum = 1) => {
    const hash = vi.fn(async (text: string) => `hash of ${text}`);
    const policy = openPasswordPolicy({ minimum, rejectCommon: minimum > 1 });
    const services = { table, hasher: { hash }, policy };
    const created = createUser(services, by(table, admin), { ...requested, ...fields });
    const costs = () => [
      table.calls.filter((call) => call === 'nextId USER').length,
      hash.mock.calls.length,
    ];
    return { created, costs };
  };

  it.each<[string, Partial<NewUser>, number]>([
    ['without a password and activated', { password: undefined }, 1],
    ['without a password and deactivated', { password: undefined, activated: false }, 0],
    ['with a password', {}, 0],
  ])('invites the user of an account %s: %s', async (_, fields, invitations) => {
    const table = tableWith(admin);

    const { result, mails } = await changesOf(table, create(table, fields).created);

    const { incarnation } = result;
    const invitation = {
      occasion: 'invitation',
      userId: 1001,
      incarnation,
      expires: NOW / 1000 + 30 * 86_400,
    };
    expect(mails).toMatchObject(Array(invitations).fill(invitation));
  });

  it('takes one id and computes one hash, also if it starts again', async () => {
    const table = tableWith(admin);
    table.concurrent.push([
      put(entityKey('USER', 1), itemOf({ ...admin, login: 'root', version: '2-b' })),
    ]);

    const { created, costs } = create(table);

    expect(await created).toMatchObject({ createdBy: 'root' });
    expect(costs()).toEqual([1, 1]);
  });

  it.each<[string, Partial<NewUser>, Role[]?]>([
    ['forbidden', { password: 'x9k2vw' }, []],
    ['invalid', { password: 'x9k2v' }],
    ['common-password', { password: 'P@ssw0rd' }],
    ['common-password', { password: 'eve-2030' }],
    ['common-password', { password: 'EVE@EXAMPLE.COM' }],
  ])('fails with %s for %j, without an id or a hash', async (code, fields, authorities = ADMIN) => {
    const { created, costs } = create(tableWith({ ...admin, authorities }), fields, 6);

    await expect(created).rejects.toMatchObject({ code });
    expect(costs()).toEqual([0, 0]);
  });

  it.each(
    [OPERATOR_NAME, ANONYMOUS_NAME, newClientId(7), forgottenName(7)].flatMap((name) => [
      name,
      name.toUpperCase(),
    ]),
  )('rejects a login that the service itself writes: %s', async (login) => {
    const { created } = create(tableWith(admin), { login });

    await expect(created).rejects.toMatchObject({ code: 'login-taken' });
  });
});

describe('updateUser', () => {
  const update = (fields: Partial<UserChange>, before = ada, table = tableWith(admin, before)) => {
    const changes = { id: before.id, login: before.login, email: before.email, ...fields };
    return changesOf(table, updateUser(table, by(table, admin), changes, undefined));
  };

  it('audits all changed fields in their order', async () => {
    const changes: Partial<UserChange> = {
      authorities: ['ROLE_USER', 'ROLE_ANALYST'],
      langKey: 'de',
      activated: false,
      imageUrl: '',
      email: 'Ada@example.com',
      lastName: undefined,
      firstName: 'Grace',
      login: 'Ada',
    };

    const [all, none] = [await update(changes), await update({})];

    expect([all.audit?.fields, none.audit?.fields]).toEqual([
      Object.keys(changes).toReversed(),
      [],
    ]);
  });

  it('keeps a reserved login, but gives none', async () => {
    const before = adaWith({ login: 'System' });

    await expect(update({ login: 'System' })).rejects.toMatchObject({ code: 'login-taken' });
    expect((await update({ langKey: 'de' }, before)).result.langKey).toBe('de');
  });

  it('reports conflicts in the order of login, email address and last administrator', async () => {
    const eve = storedUser(8, 'eve');
    const codeOf = (fields: Partial<UserChange>) =>
      update({ authorities: [], ...fields }, admin, tableWith(eve, admin)).catch(
        ({ code }) => code,
      );

    expect([
      await codeOf({ login: eve.login, email: eve.email }),
      await codeOf({ login: 'new', email: eve.email }),
      await codeOf({ login: 'new', email: 'new@example.com' }),
    ]).toEqual(['login-taken', 'email-taken', 'last-administrator']);
  });

  it.each<[string, Partial<User>, Partial<UserChange>, string[]]>([
    ['at a new address', {}, { email: 'eve@example.com' }, ['emailChanged', 'invitation']],
    ['at a new spelling of the address', {}, { email: 'ADA@example.com' }, ['invitation']],
    ['after an activation', { activated: false }, { activated: true }, ['invitation']],
    ['not after another change', {}, { firstName: 'Grace' }, []],
    ['not while deactivated', {}, { email: 'ADA@example.com', activated: false }, []],
    ['not with a password', { passwordHash: 'hash', activated: false }, { activated: true }, []],
    // A thief could use up the limit of notices with spellings.
    ['not of a spelling with a password', { passwordHash: 'h' }, { email: 'ADA@example.com' }, []],
  ])('invites a user without a password again %s', async (_, before, fields, occasions) => {
    const { mails } = await update(fields, adaWith({ passwordHash: undefined, ...before }));

    expect(mails.map((mail) => mail?.occasion)).toEqual(occasions);
  });

  it('keeps the keys mailed to administrators who change their own address', async () => {
    const { result, changed } = await update({ email: 'new@example.com' }, admin, tableWith(admin));

    expect(result.email).toBe('new@example.com');
    expect(Object.values(changed)).toContainEqual(
      expect.objectContaining({ id: 1, securityStamp: 'reset' }),
    );
  });
});

it.each<[string, Partial<User>, Partial<User>, string[]]>([
  ['is promoted', {}, { authorities: ADMIN }, ['ADD #ids :set']],
  [
    'is promoted while deactivated',
    { activated: false },
    { authorities: ADMIN, activated: false },
    [],
  ],
  ['stays one', { authorities: ADMIN }, { authorities: [...ADMIN, 'ROLE_USER'] }, []],
  [
    'is deactivated',
    { authorities: ADMIN },
    { activated: false, authorities: ADMIN },
    ['DELETE #ids :set'],
  ],
  [
    'is demoted while deactivated',
    { authorities: ADMIN, activated: false },
    { activated: false },
    [],
  ],
])('the roster of administrators follows when a user %s', (_, before, after, updates) => {
  const writes = membership(adaWith(before), adaWith(after));

  expect(writes.map(({ update }) => update)).toEqual(updates);
});

it('keeps what has ended of the tokens of a deleted user for 30 days', async () => {
  const { incarnation, activated, passwordChanges, authorities } = ada;
  const ended = { sessionEndings: 2, tokenExcepted: 't', sessionsEnded: new Set(['9-s']) };
  const state = { ...ended, incarnation, activated, passwordChanges };
  const secondFactor = { nonce: 'n', key: 'k', lastStep: 1, recoveryNonce: 'r', recoveryCodes: 3 };
  const table = tableWith(admin, adaWith({ ...state, secondFactor }));

  await deleteUser(table, by(table, admin), 'ada', undefined);

  const expires = NOW / 1000 + 30 * 24 * 60 * 60;
  const former = { ...formerUserKey(7), ...state, authorities, secondFactor: true, expires };
  expect(table.find(formerUserKey(7))).toEqual(former);
});

describe('findUserByLogin', () => {
  it('finds nobody for a guard whose user is deleted, after two tries', async () => {
    const table = memoryTable([{ ...loginGuardKey('ada'), id: 7 }]);

    expect(await findUserByLogin(table, 'ada')).toBeUndefined();
    expect(table.calls).toHaveLength(4);
  });

  it('follows a login that another user receives between the two reads', async () => {
    const table = tableWith(storedUser(7, 'eve'), storedUser(8, 'ada'));
    const { get } = table;
    let reads = 0;
    table.get = async (key) => (++reads === 1 ? { ...loginGuardKey('ada'), id: 7 } : get(key));

    expect(await findUserByLogin(table, 'ada')).toMatchObject({ id: 8 });
  });
});
