import { describe, expect, it } from 'vitest';
import {
  ANONYMOUS_NAME,
  forgottenName,
  OPERATOR_NAME,
  PROVIDER_NAME,
} from '../../lib/audit/audit-entry.ts';
import { newClientId } from '../../lib/modules/credential.ts';
import { authorize } from '../../lib/sessions/authorize.ts';
import { userCreated } from '../../lib/users/create-user.ts';
import { modify, updateUser } from '../../lib/users/update-user.ts';
import type { User } from '../../lib/users/user.ts';
import { UpdateUser } from '../../lib/users/user-contracts.ts';
import { loginGuardKey } from '../../lib/users/user-items.ts';
import { deletion, findUserByLogin, isReservedLogin } from '../../lib/users/user-table.ts';
import { type MemoryTable, memoryTable, recordsIn } from '../support/doubles/memory-table.ts';
import { itemsOfCaller, storedSession, storedUser } from '../support/doubles/stored-items.ts';
import { useFrozenClock } from '../support/doubles/time.ts';

/* What of the changes of users no client sees. */

useFrozenClock(Date.UTC(2026, 2, 10), { AUDIT_DAYS: '400' });

const admin = storedUser(1, 'admin', { authorities: ['ROLE_ADMIN'] });
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

it('logins that the service itself writes are reserved, in any case', () => {
  const names = [OPERATOR_NAME, ANONYMOUS_NAME, PROVIDER_NAME, newClientId(7), forgottenName(7)];

  const logins = names.flatMap((name) => [name, name.toUpperCase()]);
  expect(logins.filter((login) => !isReservedLogin(login))).toEqual([]);
});

it.each<[string, Partial<User>, Partial<User>, string[]]>([
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

it.each<[string, Partial<User>, string, string]>([
  ['admin', { firstName: 'Grace' }, 'firstName', ''],
  ['admin', { managedBy: 'other files' }, 'managedBy', ''],
  ['ada', { email: 'grace@example.com' }, 'email', 'EMAIL EMAIL MAIL'],
  [
    'admin',
    { email: 'grace@example.com' },
    'email emailUnproven invitedAt securityStamp',
    'EMAIL EMAIL MAIL MAIL',
  ],
  [
    'admin',
    { activated: false },
    'activated securityStamp sessionEndings sessionEndings tokens',
    '',
  ],
])('when %s gives ada %j, the write names only %s; other writes: "%s"', (login, ...row) => {
  const [fields, named, others] = row;
  const ada = storedUser(7, 'ada', {
    passwordHash: undefined,
    emailUnproven: true,
    invitedAt: '2026-03-09T00:00:00.000Z',
    managedBy: 'files',
    tokens: [{ series: 's', expires: 9 }],
  });

  const action = login === 'ada' ? 'account.updated' : 'user.updated';
  const modifier = storedUser(login === 'ada' ? 7 : 1, login);
  const { writes, result } = modify(action, ada, fields, { modifier, now: 0 });

  const isUser = ({ key }: (typeof writes)[number]) => key.pk === 'USER';
  const names = Object.values(writes.find(isUser)?.names ?? {});
  // Once in the condition, once as what is written.
  const always = ['lastModifiedBy', 'lastModifiedDate', 'version', 'version'];
  expect(names.toSorted()).toEqual([...named.split(' '), ...always].toSorted());
  const besides = writes.filter((write) => !isUser(write)).map(({ key }) => key.pk.split('#')[0]);
  expect(besides.toSorted().join(' ')).toBe(others);
  expect(result.tokens).toBe(result.activated ? ada.tokens : undefined);
});

it('a deletion of a user without tokens and identities names none', () => {
  const keys = deletion(storedUser(7, 'ada'), []).map(({ key }) => key.pk);

  expect(keys).toEqual(['LOGIN#ada', 'EMAIL#ada@example.com', 'USER', 'TOTAL']);
});

it.each([
  [true, undefined, ['invitation']],
  [true, 'hash', []],
  [false, undefined, []],
])('a new account, activated: %j, with the password %j, gets %j', (activated, hash, occasions) => {
  const ada = storedUser(7, 'ada', { activated, passwordHash: hash });

  const { writes, event, result } = userCreated({ ...ada, authorities: [] }, admin, 0);

  const mails = writes.filter(({ key }) => key.pk.startsWith('MAIL#'));
  expect(mails.map(({ attributes }) => attributes?.occasion)).toEqual(occasions);
  expect(result.invitedAt).toBe(occasions.length > 0 ? '1970-01-01T00:00:00.000Z' : undefined);
  expect(event).toMatchObject({ action: 'user.created', target: 'user/7', targetName: 'ada' });
});

it('an update keeps a reserved login', async () => {
  const before = storedUser(7, 'System');
  const table = tableWith(admin, before);
  const { id, login, email } = before;

  const after = await updateUser(table, byAdmin(table), { id, login, email }, undefined, false);

  expect(after.login).toBe('System');
  expect(recordsIn(table)).toEqual(['admin series user.updated user/7 System']);
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
