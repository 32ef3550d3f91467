import { describe, expect, it, vi } from 'vitest';
import { ListAudits, positionOf } from '../../lib/audit/audit-contracts.ts';
import {
  auditEntry,
  auditKey,
  changesBetween,
  operator,
  permanentAuditKey,
} from '../../lib/audit/audit-entry.ts';
import { entryOf, readAudits } from '../../lib/audit/read-audits.ts';
import type { Filter, ListQuery } from '../../lib/contract/list-query.ts';
import { authorize } from '../../lib/sessions/authorize.ts';
import type { Item } from '../../lib/table/table.ts';
import type { CallerFrom } from '../../lib/users/caller.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import { queryOf } from '../support/doubles/rule-arguments.ts';
import { itemsOfCaller, storedUser } from '../support/doubles/stored-items.ts';
import { useFrozenClock } from '../support/doubles/time.ts';

const NOW = Date.parse('2026-03-10T12:00:00.750Z');

useFrozenClock(NOW, { AUDIT_DAYS: '400' });

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

describe('an audit entry', () => {
  const actor = { id: 7, login: 'ada', source: '192.0.2.1', session: 's' };
  const event = {
    action: 'user.updated',
    target: 'user/8',
    targetName: 'bob',
    changes: [{ field: 'email', from: 'b@example.com', to: 'bob@example.com' }],
  } as const;

  it('records who changed what, when and from where, and expires after AUDIT_DAYS', () => {
    const { act, key, attributes } = auditEntry(actor, event, NOW);

    expect(attributes).toEqual({
      id: expect.stringMatching(UUID),
      time: '2026-03-10T12:00:00.750Z',
      actor: 'ada',
      actorId: 7,
      action: 'user.updated',
      target: 'user/8',
      targetName: 'bob',
      fields: ['email'],
      changes: [{ field: 'email', from: 'b@example.com', to: 'bob@example.com' }],
      source: '192.0.2.1',
      session: 's',
      expires: Date.parse('2027-04-14T12:00:00Z') / 1000,
    });
    expect(key).toEqual({ pk: 'AUDIT#2026-03', sk: `2026-03-10T12:00:00.750Z#${attributes?.id}` });
    expect(act).toBe('Put');
  });

  it.each([undefined, ''])(
    'never expires and is stored in the permanent partition when AUDIT_DAYS is %j',
    (days) => {
      vi.stubEnv('AUDIT_DAYS', days);

      const { key, attributes } = auditEntry(operator('import'), { ...event, changes: [] }, NOW);

      expect(Object.keys(attributes ?? {})).not.toContain('expires');
      expect(Object.keys(attributes ?? {})).not.toContain('changes');
      expect(attributes).toMatchObject({ actor: 'system', actorId: 0, session: 'import' });
      expect(key).toEqual({
        pk: 'AUDIT#PERMANENT',
        sk: `2026-03-10T12:00:00.750Z#${attributes?.id}`,
      });
    },
  );

  const before = {
    a: 1,
    roles: ['R1', 'R2'],
    c: 'x',
    d: undefined as string | undefined,
    on: true,
  };
  const after = { a: 1, roles: ['R3', 'R1'], c: 'x', d: 'y', on: false };
  it.each<[string, typeof before | undefined, typeof before | undefined, object[]]>([
    [
      'a change, in the order of the fields',
      before,
      after,
      [
        { field: 'on', from: true, to: false },
        { field: 'd', to: 'y' },
        { field: 'roles', added: ['R3'], removed: ['R2'] },
      ],
    ],
    [
      'a creation',
      undefined,
      before,
      [
        { field: 'on', to: true },
        { field: 'roles', added: ['R1', 'R2'] },
        { field: 'a', to: 1 },
      ],
    ],
    [
      'a deletion',
      before,
      undefined,
      [
        { field: 'on', from: true },
        { field: 'roles', removed: ['R1', 'R2'] },
        { field: 'a', from: 1 },
      ],
    ],
    ['another order of roles', before, { ...before, roles: ['R2', 'R1'] }, []],
  ])('has what differs after %s', (_, one, other, changes) => {
    expect(changesBetween(one, other, ['on', 'd', 'roles', 'a'])).toStrictEqual(changes);
  });

  it('is listed with the values that it gives and takes, as texts', () => {
    const changes = [...changesBetween(before, after, ['on', 'd', 'roles']), { field: 'secret' }];
    const { key, attributes } = auditEntry(actor, { ...event, changes }, NOW);

    expect(entryOf({ ...key, ...attributes })).toMatchObject({
      added: ['false', 'y', 'R3'],
      removed: ['true', 'R2'],
    });
    expect(entryOf({ ...key, ...attributes, changes: undefined })).toMatchObject({
      added: [],
      removed: [],
    });
  });

  it('has at most 256 characters of a text', () => {
    const texts = ['x'.repeat(256), '\u{1F600}'.repeat(256), '\u{1F600}'.repeat(257)];

    const changes = texts.flatMap((text) => changesBetween(undefined, { text }, ['text']));

    expect(changes.map(({ to }) => to)).toEqual([...texts.slice(0, 2), `${texts[1]}…`]);
  });
});

describe('readAudits', () => {
  const caller: CallerFrom = { id: 1, jti: 'series', expires: 0, source: '192.0.2.1' };
  const admin = itemsOfCaller(storedUser(1, 'admin', { authorities: ['ROLE_ADMIN'] }), {
    expires: Number.MAX_SAFE_INTEGER,
  });
  const soon = Math.floor(NOW / 1000) + 1;

  let number = 0;
  function entryAt(time: string, fields: Partial<Item> & { permanent?: true } = {}): Item {
    const { permanent, ...attributes } = fields;
    const id = String(++number).padStart(8, '0');
    const key = permanent ? permanentAuditKey(time, id) : auditKey(time, id);
    return {
      ...key,
      id,
      time,
      actor: 'ada',
      target: 'user/7',
      ...(!permanent && { expires: soon }),
      ...attributes,
    };
  }
  const midnight = (day: string) => `${day}T00:00:00.000Z`;
  const DAYS = ['2025-11-01', '2025-11-15', '2025-12-24', '2025-12-31'];
  /** A filter on time, from the start of a day. */
  const filter = (operator: Filter['operator'], day: string): Filter => ({
    field: 'time',
    operator,
    operands: [midnight(day)],
  });

  /** Reads entries; each query costs these units, or 0.11 for each entry. */
  async function read(
    items: readonly Item[],
    query: Partial<ListQuery<string>> = {},
    unitsPerQuery?: number,
  ) {
    const table = memoryTable([...admin, ...items]);
    const { query: queryTable } = table;
    if (unitsPerQuery !== undefined)
      table.query = async (pk, range, onConsumed) => {
        onConsumed?.(unitsPerQuery);
        return queryTable(pk, range);
      };
    const update = table.update;
    table.update = (write) => {
      table.calls.push('update');
      return update(write);
    };
    const found = await readAudits(
      table,
      authorize(table, caller, ListAudits.access),
      queryOf(query),
    );
    const { entities, ...page } = found;
    return { table, page, times: entities.map(({ time }) => time), entities };
  }
  const ASCENDING = [{ field: 'time', descending: false }];
  const partitions = ({ table }: Awaited<ReturnType<typeof read>>) =>
    table.queries.map(({ pk }) => pk.replace('AUDIT#', ''));

  const BACK_TO_FEBRUARY = [
    ...['2026-03', '2026-02', '2026-01', '2025-12', '2025-11', '2025-10', '2025-09', '2025-08'],
    ...['2025-07', '2025-06', '2025-05', '2025-04', '2025-03', '2025-02'],
  ];

  it('reads back month by month, across the year, to the end of the retention period', async () => {
    const kept = entryAt('2025-02-03T12:00:00.750Z');
    const older = entryAt('2025-02-03T12:00:00.749Z');

    const found = await read([
      kept,
      older,
      entryAt('2025-12-31T23:59:59.999Z'),
      entryAt('2026-01-01T00:00:00.000Z'),
    ]);

    expect(found.times).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2025-12-31T23:59:59.999Z',
      kept.time,
    ]);
    expect(partitions(found)).toEqual(['PERMANENT', ...BACK_TO_FEBRUARY]);
    expect(found.page).toEqual({ total: undefined, more: false, cursor: undefined });
  });

  it.each<[string, Filter[], string[], string[]]>([
    [
      'from and to a time',
      [filter('greaterThanOrEqual', '2025-11-01'), filter('lessThanOrEqual', '2025-12-31')],
      ['2025-12-31', '2025-12-24', '2025-11-15', '2025-11-01'],
      ['PERMANENT', '2025-12', '2025-11'],
    ],
    ['at a time', [filter('equals', '2025-11-01')], ['2025-11-01'], ['PERMANENT', '2025-11']],
    [
      'after a time and before an earlier month',
      [filter('greaterThan', '2025-12-31'), filter('lessThan', '2025-11-01')],
      [],
      [],
    ],
  ])('reads only the months in which entries can match: %s', async (_, filters, days, months) => {
    const items = ['2025-10-31', ...DAYS, '2026-01-01'].map((day) => entryAt(midnight(day)));

    const found = await read(items, { filters });

    expect(found.times).toEqual(days.map(midnight));
    expect(partitions(found)).toEqual(months);
    expect(found.page.more).toBe(false);
    const [from, to] = days.length === 1 ? [days[0], days[0]] : ['2025-11-01', '2025-12-31'];
    for (const { range } of found.table.queries)
      expect(range).toMatchObject({ from: midnight(from ?? ''), to: `${midnight(to ?? '')}~` });
  });

  it('omits expired entries, from the second of their expiry', async () => {
    const second = Math.floor(NOW / 1000);
    vi.setSystemTime(second * 1000);
    const entries = [-1, 0, 1].map((after) =>
      entryAt('2026-03-01T00:00:00.000Z', { expires: second + after }),
    );

    const found = await read(entries);

    expect(found.entities.map(({ id }) => id)).toEqual([entries[2]?.id]);
  });

  it('sizes its chunks by the end of the page, and reads each entry once', async () => {
    const items = Array.from({ length: 8 }, (_, n) => entryAt(`2026-03-0${n + 1}T00:00:00.000Z`));
    const newest = items.map(({ time }) => time).toReversed();

    const { table, times } = await read(items, { size: 2 });
    const all = await read(items, { size: 3, page: 1 });

    expect(times).toEqual(newest.slice(0, 2));
    expect(table.queries.slice(1)).toEqual([
      {
        pk: 'AUDIT#2026-03',
        range: {
          from: '2025-02-03T12:00:00.750Z',
          to: '2026-03-10T12:00:00.750Z~',
          backwards: true,
          limit: 3,
        },
      },
    ]);
    expect([all.times, all.table.queries[1]?.range.limit]).toEqual([newest.slice(3, 6), 7]);
    expect((await read([], { size: 2000 })).table.queries[1]?.range.limit).toBe(1000);
  });

  it('continues after the last entry of a chunk when a filter matches few entries', async () => {
    const items = Array.from({ length: 2003 }, (_, n) =>
      entryAt(`2026-03-0${1 + Math.floor(n / 1000)}T00:00:00.000Z`, {
        actor: n % 1000 === 500 ? 'eve' : 'ada',
      }),
    );
    const filters = [{ field: 'actor', operator: 'equals', operands: ['eve'] } as const];

    const found = await read(items, { filters });
    const ascending = await read(items, { filters, sort: ASCENDING });

    const ids = [items[1500]?.id, items[500]?.id];
    expect(found.entities.map(({ id }) => id)).toEqual(ids);
    expect(ascending.entities.map(({ id }) => id)).toEqual(ids.toReversed());
    const chunks = found.table.queries.filter(({ pk }) => pk === 'AUDIT#2026-03');
    expect(chunks.map(({ range }) => [range.to, range.limit])).toEqual([
      ['2026-03-10T12:00:00.750Z~', 1000],
      [items[1003]?.sk, 1000],
      [items[4]?.sk, 1000],
    ]);
    const upwards = ascending.table.queries.filter(({ pk }) => pk === 'AUDIT#2026-03');
    expect(upwards.map(({ range }) => range.from)).toEqual([
      '2025-02-03T12:00:00.750Z',
      items[999]?.sk,
      items[1998]?.sk,
    ]);
  });

  it('has cursors that hold the time and id of an entry, and no others', () => {
    const position = '2026-02-28T00:00:00.000Z#5f0c-';
    const others = ['2026-02-29T00:00:00.000Z#5f0c', '2026-02-28T00:00:00.000Z', '2026-02-28#5f0c'];

    const read = [position, ...others, `x${position}`, '2026-13-01T00:00:00.000Z#5', '7', ''];
    expect(read.map(positionOf)).toEqual([position, ...Array(7).fill(undefined)]);
  });

  const positionIn = (cursor: string | undefined) =>
    cursor === undefined
      ? undefined
      : Buffer.from(cursor, 'base64url').toString().slice('after '.length);

  it.each([[[]], [ASCENDING]])(
    'lists each entry once by pages, and by cursors whatever is written meanwhile: %j',
    async (sort) => {
      const times = ['2026-03-02', '2026-03-02', '2026-02-28', '2026-01-01', '2025-06-01'].map(
        (day) => `${day}T00:00:00.000Z`,
      );
      const items = times.flatMap((time) => [
        entryAt(time),
        entryAt(time, { permanent: true }),
        entryAt(time),
      ]);
      const sorted = items.toSorted((one, other) => (one.sk < other.sk ? -1 : 1));
      const expected = (sort.length > 0 ? sorted : sorted.toReversed()).map(({ id }) => id);
      const newer = () => entryAt('2026-03-10T00:00:00.000Z', { actor: 'later' });

      for (const size of [1, 2, 3, 4, 7, 14, 15]) {
        const seen: string[] = [];
        let after: string | undefined;
        const written = [...items];
        do {
          const { entities, page } = await read(written, { sort, size, after });
          seen.push(...entities.filter(({ actor }) => actor !== 'later').map(({ id }) => id));
          after = positionIn(page.cursor);
          if (written.length < 20) written.push(newer());
        } while (after !== undefined && seen.length < 99);

        expect(seen).toEqual(expected);
        for (let page = 0; page <= Math.ceil(items.length / size); page++) {
          const found = await read(items, { size, page, sort });
          const ids = found.entities.map(({ id }) => id);
          expect(ids).toEqual(expected.slice(page * size, (page + 1) * size));
          const more = items.length > (page + 1) * size;
          expect([found.page.more, found.page.cursor !== undefined]).toEqual([more, more]);
        }
      }
    },
  );

  it('reads only the page after a cursor, from the month of the cursor', async () => {
    const items = Array.from({ length: 50 }, (_, n) =>
      entryAt(`2026-0${n < 25 ? 2 : 1}-01T00:00:00.${100 + n}Z`),
    );

    const found = await read(items, { page: 600, size: 5, after: items[1]?.sk as string });
    const ascending = await read(items, {
      size: 5,
      after: items[49]?.sk as string,
      sort: ASCENDING,
    });

    expect(found.times).toEqual([0, 49, 48, 47, 46].map((n) => items[n]?.time));
    expect(ascending.times).toEqual([0, 1, 2, 3, 4].map((n) => items[n]?.time));
    for (const { table } of [found, ascending])
      expect(table.queries.map(({ range }) => range.limit)).toEqual([7, 7, 7]);
    expect(partitions(found)).toEqual(['PERMANENT', '2026-02', '2026-01']);
    expect(partitions(ascending)).toEqual(['PERMANENT', '2026-01', '2026-02']);
  });

  it.each([
    [[], '9999-12-01T00:00:00.000Z#0'],
    [ASCENDING, '0001-01-01T00:00:00.000Z#0'],
  ])('reads no month beyond the retention period: %j after %s', async (sort, after) => {
    expect(partitions(await read([], { sort, after }))).toHaveLength(15);
  });

  const many = (count: number) =>
    Array.from({ length: count }, () => entryAt('2026-03-01T00:00:00.000Z'));
  const nobody = [{ field: 'actor', operator: 'equals', operands: ['nobody'] } as const];
  const charged = ({ table }: Awaited<ReturnType<typeof read>>) =>
    table.updates.map(({ values }) => values?.[':amount'] as number);

  it('charges 0.11 units per entry before each query, and at last what was read', async () => {
    const filters = [...nobody, filter('greaterThan', '2026-02-20')];

    const found = await read(many(1500), { filters });

    // 1 unit for the permanent entries, 2 × 110 for the chunks of March, the last of which has 501
    // entries, and then 110 units for February.
    expect(partitions(found)).toEqual(['PERMANENT', '2026-03', '2026-03', '2026-02']);
    expect(charged(found)).toEqual([
      ...[110, 110, expect.closeTo(1 + 110 + 55.11 + 110 - 220, 5)],
      // February had one unit.
      expect.closeTo(1 - 110, 5),
    ]);
    expect(found.table.calls.slice(0, 6)).toEqual([
      ...[
        'getAll 2',
        'getAll 1',
        'update',
        'update',
        'query AUDIT#PERMANENT',
        'query AUDIT#2026-03',
      ],
    ]);
  });

  it('fails for a later page behind the 10,000 entries that it reads', async () => {
    await expect(read(many(10_001), { filters: nobody, page: 1 })).rejects.toMatchObject({
      code: 'audit-list-too-long',
    });
  });

  it('charges what larger entries cost afterwards, once', async () => {
    expect(charged(await read(many(11), { size: 10 }, 40))).toEqual([80]);
    // The queries of a later page are not charged in advance after the first two.
    const later = await read(many(1500), { page: 1, size: 1000 }, 200);
    expect(charged(later).slice(0, 4)).toEqual([110, 110, 180, 200]);
  });
});
