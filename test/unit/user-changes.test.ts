import { describe, expect, it, vi } from 'vitest';
import {
  ANONYMOUS_NAME,
  forgottenName,
  OPERATOR_NAME,
  PROVIDER_NAME,
} from '../../lib/audit/audit-entry.ts';
import { authorize } from '../../lib/authorization/authorize.ts';
import { newClientId } from '../../lib/modules/credential.ts';
import { openPasswordPolicy } from '../../lib/passwords/password-policy.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { put } from '../../lib/table/write.ts';
import { createUser } from '../../lib/users/create-user.ts';
import { modify, updateUser } from '../../lib/users/update-user.ts';
import type { User } from '../../lib/users/user.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';
import { loginGuardKey } from '../../lib/users/user-items.ts';
import type { NewUser } from '../../lib/users/user-schema.ts';
import { findUserByLogin, isReservedLogin } from '../../lib/users/user-table.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { itemsOfCaller, storedSession, storedUser } from '../support/doubles/stored-items.ts';
import { useFrozenClock } from '../support/doubles/time.ts';

/* What of the changes of users no client sees. */

useFrozenClock(Date.UTC(2026, 2, 10), { AUDIT_DAYS: '400' });

const admin = storedUser(1, 'admin', { authorities: ['ROLE_ADMIN'] });
const itemOf = (user: User) => ({ ...entityKey('USER', user.id), ...user });
/** A table with these users and the guards of their logins. */
const tableWith = (...users: User[]): MemoryTable =>
  memoryTable(
    users.flatMap((user) => [
      ...itemsOfCaller(user),
      { ...loginGuardKey(user.login), id: user.id },
    ]),
  );
const byAdmin = (table: MemoryTable) =>
  authorize(table, { ...storedSession(admin), id: 1, source: '' }, UpdateUser.access);

describe('createUser', () => {
  /** Creates a user. Returns the user, or the error, and how many ids and hashes that took. */
  async function create(table: MemoryTable, password: string | undefined, activated = true) {
    const hash = vi.fn(async () => 'hash');
    const policy = openPasswordPolicy({ minimum: 6, rejectCommon: true });
    const fields = { login: 'eve', email: 'eve@b.c', langKey: 'de', activated } as const;
    const newUser = { ...fields, authorities: [], password } as Partial<NewUser> as NewUser;
    const services = { table, hasher: { hash }, policy };
    const created = await createUser(services, byAdmin(table), newUser).catch((error) => error);
    const ids = table.calls.filter((call) => call === 'nextId USER');
    return { created, costs: [ids.length, hash.mock.calls.length] };
  }

  it('takes one id and computes one hash, also if it starts again', async () => {
    const table = tableWith(admin);
    table.concurrent.push([
      put(entityKey('USER', 1), itemOf({ ...admin, login: 'root', version: '2-b' })),
    ]);

    const { created, costs } = await create(table, 'x9k2vw');

    expect([created.createdBy, costs]).toEqual(['root', [1, 1]]);
  });

  it.each([
    ['without a password and activated', undefined, true, 1],
    ['without a password and deactivated', undefined, false, 0],
    ['with a password', 'x9k2vw', true, 0],
  ])('invites the user of an account %s', async (_, password, activated, invitations) => {
    const table = tableWith(admin);

    await create(table, password, activated);

    const mails = Object.keys(table.changed()).filter((name) => name.startsWith('MAIL#'));
    expect(mails).toHaveLength(invitations);
  });

  it.each([
    ['invalid', 'x9k2v'],
    ['common-password', 'P@ssw0rd'],
  ])('fails with %s for the password %s, without an id or a hash', async (code, password) => {
    const { created, costs } = await create(tableWith(admin), password);

    expect([created.code, costs]).toEqual([code, [0, 0]]);
  });
});

it('logins that the service itself writes are reserved, in any case', () => {
  const names = [OPERATOR_NAME, ANONYMOUS_NAME, PROVIDER_NAME, newClientId(7), forgottenName(7)];

  const logins = names.flatMap((name) => [name, name.toUpperCase()]);
  expect(logins.filter((login) => !isReservedLogin(login))).toEqual([]);
});

it.each<[string, Partial<User>, Partial<User>, string[]]>([
  ['at a new address', {}, { email: 'eve@b.c' }, ['emailChanged', 'invitation']],
  ['at a new spelling of the address', {}, { email: 'ADA@example.com' }, ['invitation']],
  ['after an activation', { activated: false }, { activated: true }, ['invitation']],
  ['not after another change', {}, { firstName: 'Grace' }, []],
  ['not while deactivated', {}, { email: 'ADA@example.com', activated: false }, []],
  ['not with a password', { passwordHash: 'hash', activated: false }, { activated: true }, []],
  // A thief could use up the limit of notices with spellings.
  ['not of a spelling with a password', { passwordHash: 'h' }, { email: 'ADA@example.com' }, []],
])('an update invites a user without a password again %s', (_, before, fields, occasions) => {
  const ada = storedUser(7, 'ada', { passwordHash: undefined, ...before });

  const modifier = storedUser(1, 'admin');
  const { writes } = modify('user.updated', ada, fields, { modifier, now: 0 });

  const mails = writes.filter(({ key }) => key.pk.startsWith('MAIL#'));
  expect(mails.map(({ attributes }) => attributes?.occasion)).toEqual(occasions);
});

it('an update keeps a reserved login', async () => {
  const before = storedUser(7, 'System');
  const table = tableWith(admin, before);
  const { id, login, email } = before;

  const after = await updateUser(table, byAdmin(table), { id, login, email }, undefined, false);

  expect(after.login).toBe('System');
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
