import { auditPartition, PERMANENT_AUDIT_PARTITION } from '../../audit/audit-entry.ts';
import { auditView, readAuditsWithin } from '../../audit/read-audits.ts';
import { Failure } from '../../contract/failure.ts';
import { INTEGRATIONS } from '../../integrations/integration-table.ts';
import { settleAll } from '../../runtime/waiting.ts';
import { totalKey } from '../../table/item-kind.ts';
import { entityKey } from '../../table/keys.ts';
import { type ReadBudget, readBudget } from '../../table/read-budget.ts';
import { LIST_ITEMS_MAX, LIST_UNITS_MAX, type Range, type Table } from '../../table/table.ts';
import { put, type Write } from '../../table/write.ts';
import type { AuthorizedCaller } from '../../users/caller.ts';
import { USERS } from '../../users/list-users.ts';
import { rosterIdsOf, rosterKey } from '../../users/user-items.ts';
import { userOf } from '../../users/user-table.ts';
import { daysAt, isChange, type Overview, openCount, overviewKey } from './count-overview.ts';

/** Each costs one read unit. */
const ADMINISTRATORS_MAX = 10;
/** The entries among which changes are looked for: few enough to be free for the read budget. */
const LATEST = {
  page: 0,
  size: 25,
  sort: [],
  filters: [],
  parameters: [],
  after: undefined,
} as const;
const CHANGES_MAX = 10;

/** The write that replaces what was counted. */
const overviewCounted = (overview: Overview): Write => put(overviewKey, { ...overview });

/** The same, on condition that what is stored was counted earlier. */
export const overviewVerified = (overview: Overview): Write => ({
  ...overviewCounted(overview),
  condition: 'attribute_not_exists(#countedAt) OR #countedAt < :countedAt',
  names: { '#countedAt': 'countedAt' },
  values: { ':countedAt': overview.countedAt },
  onConditionFailed: 'retry',
});

/**
 * The last count, the administrators and the newest changes of the audit trail. It costs as much in
 * a table of any size. Fails as the read budget does.
 */
export async function readOverview(table: Table, caller: AuthorizedCaller) {
  const budget = readBudget(table, caller);
  const [counted] = await budget.requireUnspent([overviewKey]);
  const [administrators, latest] = await settleAll([
    readAdministrators(table, budget),
    readAuditsWithin(budget, table, LATEST),
  ]);
  const changes = latest.entities.filter(isChange).slice(0, CHANGES_MAX);
  const { countedAt = null, counts = null, days = null } = (counted ?? {}) as Partial<Overview>;
  return { countedAt, counts, days, administrators, latest: changes.map(auditView) };
}

async function readAdministrators(table: Table, budget: ReadBudget) {
  const roster = await table.get(rosterKey);
  const ids = [...rosterIdsOf(roster)]
    .sort((one, other) => one - other)
    .slice(0, ADMINISTRATORS_MAX);
  let units = 0;
  const items = await table.getAll(
    ids.map((id) => entityKey('USER', id)),
    (consumed) => {
      units += consumed;
    },
  );
  await budget.settle(units);
  return items
    .filter((item) => item !== undefined)
    .map(userOf)
    .map(({ login, secondFactor, lastLogin = null }) => ({
      login,
      secondFactor: secondFactor !== undefined,
      lastLogin,
    }));
}

/**
 * Counts now. It reads all users, all integrations and the entries of some days, as lists without a
 * cursor do. Fails as the read budget does, and with list-too-long or audit-list-too-long where
 * such a list does: then only the daily verification counts.
 */
export function countNow(table: Table, caller: AuthorizedCaller): Promise<void> {
  return caller.change({
    prepare: () => count(table, caller),
    decide: ({ prepared }) => ({
      writes: [overviewCounted(prepared)],
      result: undefined,
      // It changes nothing that anybody has entered.
      event: [],
    }),
  });
}

async function count(table: Table, caller: AuthorizedCaller): Promise<Overview> {
  const budget = readBudget(table, caller);
  await budget.requireUnspent();
  const totals = (await table.getAll([totalKey('USER'), totalKey('INTEGRATION')])).map((item) =>
    Number(item?.n ?? 0),
  );
  if (totals.some((total) => total > LIST_ITEMS_MAX)) throw new Failure('list-too-long');
  const [users = 0, integrations = 0] = totals;
  const expected = users * USERS.unitsPerEntity + integrations * INTEGRATIONS.unitsPerEntity;
  const charged = await budget.spend(Math.min(expected, LIST_UNITS_MAX));

  const now = Date.now();
  const counted = openCount(now);
  let consumed = 0;
  try {
    for (const [pk, range] of countedPartitions(now))
      for (const item of await table.query(pk, range, (units) => {
        consumed += units;
      }))
        counted.add(item);
  } finally {
    await budget.settle(consumed - charged);
  }
  return counted.result();
}

/** The partitions that are counted, and the range of each. */
function countedPartitions(now: number): (readonly [string, Range])[] {
  const days = daysAt(now);
  const tooLong = 'audit-list-too-long';
  const trail = {
    from: days[0] as string,
    to: `${new Date(now).toISOString()}~`,
    tooLong,
  } as const;
  const months = [...new Set(days.map((day) => auditPartition(day.slice(0, 7))))];
  return [
    ['USER', {}],
    ['INTEGRATION', {}],
    ...[...months, PERMANENT_AUDIT_PARTITION].map((pk) => [pk, trail] as const),
  ];
}
