import { describe, expect, it, vi } from 'vitest';
import { auditKey, permanentAuditKey } from '../../lib/audit/audit-entry.ts';
import { ADOPTED_ATTRIBUTES, adoptTable } from '../../lib/operations/restore/adopt-table.ts';
import { findChangedAccess, voidAccess } from '../../lib/operations/restore/former-access.ts';
import { lostChanges } from '../../lib/operations/restore/lost-changes.ts';
import { sequenceKey } from '../../lib/table/item-kind.ts';
import { entityKey, idText } from '../../lib/table/keys.ts';
import type { Item, Table } from '../../lib/table/table.ts';
import { put } from '../../lib/table/write.ts';
import { sessionKey } from '../../lib/users/session-item.ts';
import { identityGuardKey } from '../../lib/users/user-items.ts';
import { inMemoryScanner, memoryTable } from '../support/doubles/memory-table.ts';
import { INTACT_ITEMS, storedSession, storedUser } from '../support/doubles/stored-items.ts';
import { freezeClock } from '../support/doubles/time.ts';

const userItem = (id: number, fields: object = {}): Item => ({
  ...entityKey('USER', id),
  ...storedUser(id, `user-${id}`, { passwordHash: 'hash', passwordChanges: 1, ...fields }),
});

const scannerOf = (items: readonly Item[]) => inMemoryScanner(items, undefined, ADOPTED_ATTRIBUTES);

it('adoptTable does not wait at its end when it takes longer than a second', async () => {
  freezeClock(Date.parse('2026-11-22T06:00:00.250Z'));
  const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const table = {
    get: async () => ({ n: 1 }),
    transact: async () => undefined,
  } as unknown as Table;
  const scanner = scannerOf([]);
  const slow = {
    ...scanner,
    async *scan() {
      vi.setSystemTime(new Date('2026-11-22T06:00:09Z'));
      yield* scanner.scan();
    },
  };

  const { notBefore } = await adoptTable(table, slow, { skippedIds: 5 });

  expect(notBefore).toEqual(new Date('2026-11-22T06:00:01Z'));
  expect(warning).not.toHaveBeenCalled();
});

it('adoptTable changes only integrations, sequences and NOT-BEFORE, and counts items', async () => {
  const session = storedSession(storedUser(2, 'user'), { secondFactor: true });
  const items = [...INTACT_ITEMS, { ...sessionKey({ id: 2, jti: 'series' }), ...session }];
  const deletedSince = userItem(90, { secondFactor: {}, tokens: [] });
  const table = memoryTable(items);
  const progress: number[] = [];

  const adoption = await adoptTable(table, scannerOf([...items, deletedSince]), {
    onProgress: (items) => progress.push(items),
  });

  expect(progress).toEqual([...items, deletedSince].map((_, index) => index + 1));
  expect(adoption).toMatchObject({ recoveryCodes: 0, sessions: 1 });
  expect(Object.keys(table.changed()).sort()).toEqual([
    'INTEGRATION 0000000000000004',
    'JWKS NOT-BEFORE',
    'SEQUENCE INTEGRATION',
    'SEQUENCE USER',
    'SESSION#0000000000000002 series',
  ]);
  // Reading every user again would take hours.
  expect(table.calls.filter((call) => call === 'get USER')).toHaveLength(2);
});

it('adoptTable ends all API tokens, because it deletes their items', async () => {
  const tokens = [{ series: 'series', expires: 4_000_000_000 }];
  const user = userItem(90, { tokens });
  const items = [...INTACT_ITEMS, user];
  const table = memoryTable(items);

  await adoptTable(table, scannerOf(items));

  expect(await table.get(user)).toEqual({ ...user, tokens: undefined });
});

it('adoptTable ends the invitations that are open, because their mailed keys go', async () => {
  const now = Date.parse('2026-11-22T06:00:00Z');
  freezeClock(now);
  const [open, over] = [new Date(now - 1000), new Date(now - 24 * 3_600_000)];
  const users = [open, over].map((time, index) =>
    userItem(90 + index, { passwordHash: undefined, invitedAt: time.toISOString() }),
  );
  const items = [...INTACT_ITEMS, ...users];
  const table = memoryTable(items);

  await adoptTable(table, scannerOf(items));

  const kept = await table.getAll(users);
  expect(kept.map((item) => item?.invitedAt)).toEqual([over.toISOString(), over.toISOString()]);
  expect(table.changed()).not.toHaveProperty(`USER ${idText(91)}`);
});

/* What `npm run admin -- adopt --original` does about accounts, and what it lists. */

describe('the access to an account', () => {
  const restored = userItem(2);
  const known = { issuer: 'idp', subject: 'known' };
  const former = { issuer: 'idp', subject: 'former' };
  const linked = userItem(2, { identities: [known, former] });
  const comparedWith = (original: readonly Item[], restoredUsers: readonly Item[]) =>
    findChangedAccess(
      memoryTable([userItem(1), ...restoredUsers]),
      memoryTable([userItem(1), ...original, { ...sequenceKey('USER'), n: 9 }]),
    );
  const changedAccess = async (original: readonly Item[], restoredUsers = [restored]) =>
    (await comparedWith(original, restoredUsers))?.map(({ id }) => id);

  it.each<[string, Item[], number[]]>([
    ['nothing', [restored], []],
    ['its names and its last login', [{ ...restored, firstName: 'Ann', lastLogin: 'now' }], []],
    ['its deletion', [], [2]],
    ['its id, which another account has', [{ ...restored, incarnation: 'other' }], [2]],
    ['its deactivation', [{ ...restored, activated: false }], [2]],
    ['its roles', [{ ...restored, authorities: [] }], [2]],
    ['its password', [{ ...restored, passwordChanges: 2 }], [2]],
    ['its second factor', [{ ...restored, factorChanges: 1 }], [2]],
    ['an identity that was linked since', [linked], []],
    ['the accounts that the backup lacks', [restored, userItem(3)], []],
  ])('is compared with the original: what changed is %s', async (_, original, changed) => {
    expect(await changedAccess(original)).toEqual(changed);
  });

  it('is not compared for accounts that were created since, and damaged ones', async () => {
    const restoredUsers = [userItem(8, { login: 7 }), userItem(9), userItem(10)];

    expect(await changedAccess([], restoredUsers)).toEqual([9]);
  });

  it('cannot be compared with a table that has no account in common', async () => {
    const other = memoryTable([userItem(1, { incarnation: 'other' })]);

    expect(await findChangedAccess(memoryTable([userItem(1)]), other)).toBeUndefined();
  });

  it('ends with a void password, unless there is none', async () => {
    const invited = userItem(3, { passwordHash: undefined });
    const table = memoryTable([restored, invited, userItem(4)]);
    table.concurrent.push([
      put(entityKey('USER', 2), userItem(2, { passwordHash: 'other', passwordChanges: 5 })),
    ]);

    const changed = [2, 3, 99].map((id) => ({ id, voidsPassword: true, identities: [] }));
    expect(await voidAccess(table, changed)).toEqual({ passwords: 1, identities: 0 });
    expect(Object.keys(table.changed())).toEqual(['USER 0000000000000002']);
    const { passwordHash, passwordChanges, securityStamp } = table.find(restored) as Item;
    expect([passwordHash, passwordChanges]).toEqual([undefined, 6]);
    expect(securityStamp).not.toBe(restored.securityStamp);
  });

  it.each<[string, Item[], object[], number]>([
    [
      'has unlinked',
      [{ ...linked, identities: [{ subject: 'known', issuer: 'idp' }] }],
      [known],
      0,
    ],
    ['has deactivated', [{ ...linked, activated: false }], [], 1],
    ['has deleted', [], [], 1],
    ['has', [{ ...linked, passwordChanges: 2 }], [known, former], 1],
  ])('ends by identities that the original %s', async (_, original, left, passwords) => {
    const guards = [known, former].map(({ subject }) => identityGuardKey('idp', subject));
    const table = memoryTable([linked, ...guards.map((key) => ({ ...key, id: 2 }))]);
    const changed = (await comparedWith(original, [linked])) ?? [];

    const voided = await voidAccess(table, changed);

    expect(voided).toEqual({ passwords, identities: left.length < 2 ? 1 : 0 });
    expect(table.find(linked)?.identities ?? []).toEqual(left);
    expect(guards.filter((key) => table.find(key))).toHaveLength(left.length);
    expect(table.find(linked)?.passwordChanges).toBe(1 + passwords);
  });
});

describe('the changes since a backup', () => {
  const NOW = Date.parse('2026-03-15T00:00:00Z');
  const entryItem = (time: string, action = 'user.updated', key = auditKey): Item => ({
    ...key(time, 'id'),
    time,
    action,
    target: 'user/7',
  });
  const lost = async (original: readonly Item[], restored: readonly Item[]) =>
    (await lostChanges(memoryTable(restored), memoryTable(original), NOW)).map(
      ({ time, action }) => `${time} ${action}`,
    );
  const at = (day: number, minute = 0) => new Date(Date.UTC(2026, 0, day, 0, minute)).toISOString();

  it('are the entries of the original that the restored table lacks, by their times', async () => {
    const backup = [entryItem(at(1)), entryItem(at(2), undefined, permanentAuditKey)];
    const since = [
      entryItem(at(20), 'user.deleted'),
      entryItem(at(21), 'user.created', permanentAuditKey),
      entryItem(at(60), 'password.changed'),
    ];
    const afterAdoption = entryItem(at(61));

    expect(await lost([...backup, ...since], [...backup, afterAdoption])).toEqual([
      `${at(20)} user.deleted`,
      `${at(21)} user.created`,
      `${at(60)} password.changed`,
    ]);
  });

  it('leave out what is settled or leaves nothing to repeat', async () => {
    const settled = ['session.started', 'login.failed', 'module.reported'];

    expect(
      await lost(
        settled.map((action, n) => entryItem(at(20 + n), action)),
        [],
      ),
    ).toEqual([]);
  });

  it('are found on every page, also one that was committed in another order', async () => {
    const entries = Array.from({ length: 2500 }, (_, minute) => entryItem(at(1, minute)));
    const restored = entries.filter((_, n) => n < 700 || n === 1600);

    expect(await lost(entries, restored)).toHaveLength(1799);
  });

  it('are read no further than a page that the backup has, nor beyond ten years', async () => {
    const entries = Array.from({ length: 2500 }, (_, minute) => entryItem(at(1, minute)));
    const read = async (items: readonly Item[]) => {
      const [restored, original] = [memoryTable(items), memoryTable(items)];
      await lostChanges(restored, original, NOW);
      const months = original.calls.map((call) => call.slice('query AUDIT#'.length));
      return { months, ranges: restored.queries.map(({ range }) => range) };
    };

    const page = { from: entries[1500]?.sk, to: entries.at(-1)?.sk };
    expect(await read(entries)).toEqual({
      months: ['PERMANENT', '2026-03', '2026-02', '2026-01'],
      ranges: [page],
    });
    expect((await read([])).months.slice(1)).toHaveLength(120);
  });
});
