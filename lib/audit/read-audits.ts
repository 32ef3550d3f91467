import type { Filter, ListQuery } from '../contract/list-query.ts';
import { requireEnv } from '../runtime/env.ts';
import { settleAll } from '../runtime/settle-all.ts';
import type { Page } from '../table/page.ts';
import { type ChargedCaller, readBudget } from '../table/read-budget.ts';
import {
  type Bounds,
  boundsAfter,
  type ChunkReader,
  itemsOf,
  pageInSteps,
} from '../table/steps.ts';
import type { Item, Table } from '../table/table.ts';
import { entryOf, type ListedEntry, MILLISECONDS_PER_DAY } from './audit-entry.ts';
import { auditPartition, PERMANENT_AUDIT_PARTITION } from './audit-item.ts';

/** Average cost of reading an entry, in read units of 4 KB. */
const UNITS_PER_ENTRY = 0.11;

/**
 * A query of the audit trail. The position after which a page starts is the sort key of an entry.
 */
type AuditQuery = ListQuery<string>;

/**
 * Reads a page of the audit trail in steps, newest entries first unless sorted otherwise. Fails
 * with audit-list-too-long, forbidden, read-budget-spent and unavailable.
 */
export async function readAudits(
  table: Table,
  caller: ChargedCaller,
  query: AuditQuery,
): Promise<Page<ListedEntry>> {
  const now = Date.now();
  const oldest = now - Number(requireEnv('AUDIT_DAYS')) * MILLISECONDS_PER_DAY;
  const budget = readBudget(table, caller);
  await budget.requireUnspent();
  return pageInSteps(
    {
      table,
      budget,
      unitsPerItem: UNITS_PER_ENTRY,
      tooLong: 'audit-list-too-long',
      itemsBy: (reader) => entriesInOrder(reader, query, { oldest, now }),
      entityOf(item) {
        const entry = entryOf(item);
        return entry.expires === undefined || entry.expires * 1000 > now ? entry : undefined;
      },
    },
    query,
  );
}

/**
 * When the oldest entry that is kept may have been written, and the current time. Both are in
 * milliseconds since 1970.
 */
interface Retention {
  readonly oldest: number;
  readonly now: number;
}

/**
 * The entries of the requested period in the requested order: the permanent ones and the entries of
 * the months.
 */
function entriesInOrder(
  reader: ChunkReader,
  { filters, sort, after }: AuditQuery,
  { oldest, now }: Retention,
): AsyncGenerator<Item> {
  const end = new Date(now).toISOString();
  const backwards = sort[0]?.descending ?? true;
  const rest = (period: Bounds) =>
    after === undefined ? period : boundsAfter(after, period, backwards);
  const period = rest(periodOf(filters, new Date(oldest).toISOString(), end));
  const months = monthsOf(period).map(auditPartition);
  // An import writes a permanent entry for each record, so they are also read in chunks.
  const permanent = rest(periodOf(filters, SORT_KEY_MIN, end));
  return merge(
    itemsOf(reader, [PERMANENT_AUDIT_PARTITION], permanent, { backwards, after }),
    itemsOf(reader, backwards ? months.reverse() : months, period, { backwards, after }),
    backwards,
  );
}

/**
 * Merges entries that are each in order. Reads the first chunks of both in parallel, and the others
 * when needed.
 */
async function* merge(
  some: AsyncGenerator<Item>,
  others: AsyncGenerator<Item>,
  backwards: boolean,
): AsyncGenerator<Item> {
  let [one, other] = await settleAll([some.next(), others.next()]);
  for (;;) {
    // Stryker disable next-line EqualityOperator: no two entries have one sort key
    if (!one.done && (other.done || one.value.sk > other.value.sk === backwards)) {
      yield one.value;
      one = await some.next();
    } else if (!other.done) {
      yield other.value;
      other = await others.next();
    } else {
      return;
    }
  }
}

/** Less than every sort key; DynamoDB rejects an empty one. */
const SORT_KEY_MIN = '0000';

/** The range of sort keys between `oldest` and `newest` that the filters on `time` allow. */
function periodOf(filters: readonly Filter[], oldest: string, newest: string): Bounds {
  const bounds = (...operators: string[]) =>
    filters
      .filter(({ field, operator }) => field === 'time' && operators.includes(operator))
      .flatMap(({ operands }) => operands.map(String));
  const from = [oldest, ...bounds('greaterThan', 'greaterThanOrEqual', 'equals')]
    .sort()
    .at(-1) as string;
  const to = [newest, ...bounds('lessThan', 'lessThanOrEqual', 'equals')].sort()[0] as string;
  // In the sort key, an id follows the time: `~` is greater than its characters.
  return { from, to: `${to}~` };
}

/** The months of a period as `yyyy-mm`, in ascending order. */
function monthsOf({ from, to }: Bounds): string[] {
  const months: string[] = [];
  const at = new Date(`${from.slice(0, 7)}-01`);
  const month = () => at.toISOString().slice(0, 7);
  for (; month() <= to.slice(0, 7); at.setUTCMonth(at.getUTCMonth() + 1)) months.push(month());
  return months;
}
