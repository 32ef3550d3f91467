import { describe, expect, it } from 'vitest';
import type { Role } from '../../lib/contract/contract.ts';
import { Failure } from '../../lib/contract/failure.ts';
import {
  type AccountChange,
  compareAccounts,
} from '../../lib/operations/restore/account-change.ts';
import { repeatChanges } from '../../lib/operations/restore/repeat-changes.ts';
import type { SecondFactor } from '../../lib/second-factor/second-factor.ts';
import { entityKey } from '../../lib/table/keys.ts';
import type { Table } from '../../lib/table/table.ts';
import { sequenceKey } from '../../lib/table/table-items.ts';
import { put } from '../../lib/table/write.ts';
import { emailKey } from '../../lib/users/email-key.ts';
import type { User } from '../../lib/users/user.ts';
import { emailGuardKey, loginGuardKey, rosterKey } from '../../lib/users/user-items.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';
import { type MemoryTable, memoryTable } from '../support/doubles/memory-table.ts';
import { storedUser } from '../support/doubles/stored-user.ts';

/* What `npm run admin -- adopt --original` finds and repeats. */

const [EARLIER, LATER, NOW] = [2, 3, 4].map((month) => `2026-0${month}-01T00:00:00.000Z`) as [
  string,
  string,
  string,
];
useFrozenClock(Date.parse(NOW));

const userOf = (id: number, login: string, fields: Partial<User> = {}): User =>
  storedUser(id, login, {
    lastModifiedBy: 'admin',
    lastModifiedDate: EARLIER,
    passwordChanges: 1,
    ...fields,
  });
const ADMINISTRATOR: { authorities: Role[] } = { authorities: ['ROLE_ADMIN', 'ROLE_USER'] };
const ADMIN = userOf(1, 'admin', ADMINISTRATOR);
const ANN = userOf(2, 'ann');
const FACTOR = { nonce: 'n', key: 'k', lastStep: 5, recoveryNonce: 'r', recoveryCodes: 1023 };
const PENDING = { nonce: 'p', session: 's', expires: 9 };
const withFactor = (factorChanges: number, fields: Partial<SecondFactor> = {}): User => ({
  ...ANN,
  secondFactor: { ...FACTOR, ...fields },
  factorChanges,
});
/** The user after a change in the original. */
const changed = (user: User, fields: Partial<User>): User => ({
  ...user,
  version: '4-def',
  lastModifiedDate: LATER,
  ...fields,
});

/** A table with these users, their guards, the roster and the last id. */
const tableOf = (users: readonly User[], lastId = 9): MemoryTable =>
  memoryTable([
    ...users.flatMap((user) => [
      { ...entityKey('USER', user.id), ...user },
      { ...loginGuardKey(user.login), id: user.id },
      { ...emailGuardKey(emailKey(user.email)), id: user.id },
    ]),
    { ...rosterKey, ids: new Set(users.filter(isAdministrator).map(({ id }) => id)) },
    { ...sequenceKey('USER'), n: lastId },
  ]);
const isAdministrator = ({ activated, authorities }: User) =>
  activated && authorities.includes('ROLE_ADMIN');

async function compare(restored: readonly User[], original: readonly User[], lastId?: number) {
  const comparison = await compareAccounts(tableOf(restored), tableOf(original, lastId));
  return (
    comparison && {
      changes: comparison.changes.map(
        ({ restored, original, fields, isPasswordReplaced, isFactorChanged }) =>
          [
            restored.login,
            ...(original ? fields : ['deleted', ...fields]),
            ...(isPasswordReplaced ? ['password'] : []),
            ...(isFactorChanged ? ['factor'] : []),
          ].join(' '),
      ),
      created: comparison.created.map(({ login }) => login),
      damaged: comparison.damaged,
    }
  );
}

describe('the comparison with the original', () => {
  const IMPORTED = { version: '1-abc', lastModifiedDate: '2999-01-01T00:00:00.000Z' };
  const demoted = { authorities: [], activated: false };
  it.each<[string, User, User, string?]>([
    ['nothing', ANN, ANN],
    [
      'changes of access fields',
      ANN,
      changed(ANN, { ...demoted, login: 'eve', email: 'eve@example.com' }),
      'login email activated authorities',
    ],
    [
      'a change in the same millisecond',
      changed(ANN, {}),
      changed(ANN, demoted),
      'activated authorities',
    ],
    ['no change of a name', ANN, changed(ANN, { firstName: 'Ann' })],
    ['no change before that of the restored account', changed(ANN, demoted), ANN],
    [
      'a change before one that the operator repeated',
      changed(ANN, { lastModifiedBy: 'system' }),
      { ...ANN, ...demoted },
      'activated authorities',
    ],
    [
      'a change of an account whose import has set a date in the future',
      { ...ANN, ...IMPORTED },
      changed(ANN, demoted),
      'activated authorities',
    ],
    [
      'no change that was made only in the restored table since such an import',
      changed(ANN, demoted),
      { ...ANN, ...IMPORTED },
    ],
    ['a replaced password', ANN, { ...ANN, passwordChanges: 2 }, 'password'],
    ['a removed password', ANN, { ...ANN, passwordHash: undefined }, 'password'],
    ['no rehashed password', ANN, { ...ANN, passwordHash: 'rehashed' }],
    ['no void password', { ...ANN, passwordHash: undefined }, { ...ANN, passwordChanges: 2 }],
    ['a factor that was turned on', ANN, withFactor(1), 'factor'],
    ['a factor that was turned off', withFactor(1), { ...ANN, factorChanges: 2 }, 'factor'],
    ['replaced recovery codes', withFactor(1), withFactor(2, { recoveryNonce: 's' }), 'factor'],
    ['no code that was used', withFactor(1), withFactor(1, { lastStep: 6, recoveryCodes: 1 })],
    [
      'no factor that was changed in the restored table',
      withFactor(2),
      { ...ANN, factorChanges: 1 },
    ],
    [
      'a password that was replaced before a later change',
      changed(ANN, demoted),
      { ...ANN, passwordChanges: 2 },
      'password',
    ],
  ])('finds %s', async (_, restored, original, found) => {
    expect(await compare([ADMIN, restored], [ADMIN, original])).toEqual({
      changes: found ? [`ann ${found}`] : [],
      created: [],
      damaged: [],
    });
  });

  it('tells accounts apart by id and stamp', async () => {
    const [bob, carl] = [userOf(3, 'bob'), userOf(4, 'carl')];
    const restored = [ADMIN, ANN, bob, carl];
    const original = [
      ADMIN,
      userOf(3, 'other', { accountStamp: 'another' }),
      { ...carl, login: 'third', accountStamp: 'third' },
    ];

    expect(await compare(restored, original)).toEqual({
      changes: ['ann deleted', 'bob deleted', 'carl deleted'],
      created: ['other', 'third'],
      damaged: [],
    });
    // An id beyond the last one of the original was assigned after the adoption.
    expect((await compare(restored, original, 3))?.changes).toEqual(['ann deleted', 'bob deleted']);
    expect(await compare([ANN], [{ ...ANN, accountStamp: 'another' }])).toBeUndefined();
  });

  it('leaves out accounts that are damaged in either table', async () => {
    const damaged = (user: User) => ({ ...user, langKey: undefined as unknown as string });
    const bob = userOf(3, 'bob');

    expect(await compare([ADMIN, ANN, damaged(bob)], [ADMIN, damaged(ANN), bob])).toEqual({
      changes: [],
      created: [],
      damaged: [2],
    });
  });
});

describe('a repetition', () => {
  const changesOf = async (table: Table, original: readonly User[]) =>
    (await compareAccounts(table, tableOf(original)))?.changes ?? [];
  /** Repeats changes, and returns what is not repeated. */
  async function repeat(table: Table, changes: readonly AccountChange[]) {
    const unrepeated = await repeatChanges(table, changes);
    return unrepeated.map(({ change, obstacles }) => [change.restored.login, ...obstacles]);
  }
  const repeatOriginal = async (table: Table, original: readonly User[]) =>
    repeat(table, await changesOf(table, original));
  const userIn = (table: MemoryTable, { id }: User) => table.find(entityKey('USER', id));
  const auditsIn = (table: MemoryTable) =>
    Object.entries(table.changed())
      .filter(([name]) => name.startsWith('AUDIT#'))
      .map(([, entry]) => [entry?.actor, entry?.action, entry?.target, entry?.time, entry?.fields]);

  it('makes each change once, in a transaction of its own that has an audit entry', async () => {
    const [bob, carl] = [userOf(3, 'bob'), userOf(4, 'carl')];
    const table = tableOf([ADMIN, ANN, bob, carl]);
    const demoted = { login: 'eve', authorities: [], firstName: 'Eve', passwordChanges: 3 };
    const original = [ADMIN, changed(ANN, demoted), { ...bob, passwordHash: undefined }];

    const changes = await changesOf(table, original);
    expect(await repeat(table, changes)).toEqual([]);
    expect(table.transactions).toHaveLength(4);
    expect(userIn(table, ANN)).toEqual({
      ...entityKey('USER', 2),
      ...ANN,
      login: 'eve',
      authorities: [],
      passwordHash: undefined,
      passwordChanges: 3,
      lastModifiedBy: 'system',
      lastModifiedDate: NOW,
      version: expect.stringMatching(/^4-/),
      resetStamp: expect.stringMatching(/^[\w-]{16}$/),
    });
    expect(userIn(table, bob)).toMatchObject({ version: bob.version, passwordChanges: 1 });
    expect(userIn(table, bob)?.passwordHash).toBeUndefined();
    expect([userIn(table, carl), table.find(loginGuardKey('carl'))]).toEqual([
      undefined,
      undefined,
    ]);
    expect(auditsIn(table)).toEqual([
      ['system', 'user.updated', 'user/2', NOW, ['password']],
      ['system', 'user.updated', 'user/2', NOW, ['login', 'authorities']],
      ['system', 'user.updated', 'user/3', NOW, ['password']],
      ['system', 'user.deleted', 'user/4', NOW, expect.arrayContaining(['authorities'])],
    ]);
    expect(await repeat(table, changes)).toEqual([]);
    expect(await repeatOriginal(table, original)).toEqual([]);
    expect(table.transactions).toHaveLength(4);
  });

  it('copies a factor that was turned on or off, once, and ends all sessions', async () => {
    const bob: User = { ...userOf(3, 'bob', withFactor(3)), id: 3, login: 'bob' };
    const table = tableOf([ADMIN, { ...ANN, pendingFactor: PENDING, sessionEndings: 4 }, bob]);
    const factor = { ...FACTOR, lastStep: 9, recoveryCodes: 7 };
    const original = [
      ADMIN,
      { ...withFactor(1, factor), pendingFactor: PENDING },
      { ...bob, secondFactor: undefined, factorChanges: 4 },
    ];

    expect(await repeatOriginal(table, original)).toEqual([]);
    expect(await repeatOriginal(table, original)).toEqual([]);

    expect(userIn(table, ANN)).toEqual({
      ...entityKey('USER', 2),
      ...ANN,
      secondFactor: factor,
      factorChanges: 1,
      sessionEndings: 5,
    });
    expect(userIn(table, bob)).not.toHaveProperty('secondFactor');
    expect(auditsIn(table)).toEqual([
      ['system', 'user.updated', 'user/2', NOW, ['secondFactor']],
      ['system', 'user.updated', 'user/3', NOW, ['secondFactor']],
    ]);
  });

  it('decides again on a factor that is turned on in the restored table meanwhile', async () => {
    const table = tableOf([ADMIN, ANN]);
    const changes = await changesOf(table, [ADMIN, withFactor(1)]);
    const own = withFactor(1, { nonce: 'own' });
    table.concurrent.push([put(entityKey('USER', 2), { ...own })]);

    expect(await repeat(table, changes)).toEqual([]);
    expect(userIn(table, ANN)).toMatchObject({ ...own });
  });

  it('passes logins and roles on in whatever order they become free', async () => {
    const first = userOf(2, 'first', ADMINISTRATOR);
    const [second, third, user] = [userOf(3, 'second'), userOf(4, 'third'), userOf(5, 'user')];
    const former = { ...ADMIN, activated: false };
    const table = tableOf([former, first, second, third, user]);

    const unrepeated = await repeatOriginal(table, [
      former,
      changed(first, { login: 'second', authorities: [] }),
      changed(second, { login: 'third', activated: false }),
      changed(user, { login: 'first', ...ADMINISTRATOR }),
    ]);

    expect(unrepeated).toEqual([]);
    expect([first, second, user].map((each) => userIn(table, each))).toMatchObject([
      { login: 'second', authorities: [] },
      { login: 'third', activated: false, resetStamp: expect.stringMatching(/^[\w-]{16}$/) },
      { login: 'first', ...ADMINISTRATOR },
    ]);
  });

  it('deactivates accounts that have exchanged logins, and reports what is taken', async () => {
    const [one, other] = [userOf(2, 'one'), userOf(3, 'other')];
    const table = tableOf([ADMIN, one, other]);

    const unrepeated = await repeatOriginal(table, [
      ADMIN,
      changed(one, { login: 'other', activated: false }),
      changed(other, { login: 'one', email: one.email, activated: false }),
    ]);

    expect(unrepeated).toEqual([
      ['one', 'login-taken'],
      ['other', 'login-taken', 'email-taken'],
    ]);
    expect([one, other].map((each) => userIn(table, each))).toMatchObject([
      { login: 'one', activated: false },
      { login: 'other', email: other.email, activated: false },
    ]);
  });

  it.each<[string, User[], object]>([
    ['deletes', [], {}],
    [
      'demotes',
      [changed(ADMIN, { authorities: [], email: 'former@example.com' })],
      { email: 'former@example.com' },
    ],
    ['deactivates', [changed(ADMIN, { activated: false })], {}],
  ])(
    'leaves the last administrator, whom an account created since %s',
    async (_, admin, fields) => {
      const table = tableOf([ADMIN, ANN]);
      const founder = userOf(3, 'founder', ADMINISTRATOR);

      expect(await repeatOriginal(table, [...admin, ANN, founder])).toEqual([
        ['admin', 'last-administrator'],
      ]);
      expect(userIn(table, ADMIN)).toMatchObject({ ...ADMINISTRATOR, activated: true, ...fields });
    },
  );

  it('reports an account whose change is unavailable once, and repeats the others', async () => {
    const [bob, carl] = [userOf(3, 'bob'), userOf(4, 'carl')];
    const table = tableOf([ADMIN, ANN, bob, carl]);
    let attempts = 0;
    const failing: Table = {
      ...table,
      async transact(writes, token) {
        if (!writes.some(({ key }) => key.sk === entityKey('USER', 2).sk))
          return table.transact(writes, token);
        attempts++;
        throw new Failure('unavailable');
      },
    };

    // Bob waits for the login of Carl, so that the changes are tried twice.
    const unrepeated = await repeatOriginal(failing, [
      ADMIN,
      changed(ANN, { activated: false }),
      changed(bob, { login: 'carl' }),
    ]);

    expect([unrepeated, attempts]).toEqual([[['ann', 'unavailable']], 1]);
    expect([userIn(table, bob)?.login, userIn(table, carl)]).toEqual(['carl', undefined]);
  });

  it.each([new TypeError('a defect'), new Failure('forbidden')])(
    'ends with any other error: %s',
    async (error) => {
      const failing: Table = { ...tableOf([ADMIN, ANN]), transact: () => Promise.reject(error) };

      await expect(repeatOriginal(failing, [ADMIN])).rejects.toBe(error);
    },
  );

  it('changes no account that has been deleted or replaced since the comparison', async () => {
    const comparison = await compareAccounts(
      tableOf([ADMIN, ANN, userOf(3, 'bob')]),
      tableOf([ADMIN]),
    );
    const table = tableOf([ADMIN, userOf(3, 'bob', { accountStamp: 'another' })]);

    expect(await repeatChanges(table, comparison?.changes ?? [])).toEqual([]);
    expect(table.transactions).toEqual([]);
  });
});
