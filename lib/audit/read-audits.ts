import { Failure } from '../contract/failure.ts';
import { cursorAfter, type Filter, type ListQuery } from '../contract/list-query.ts';
import { matcherOf } from '../contract/selection.ts';
import { requireEnv } from '../runtime/env.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { auditPartition, PERMANENT_AUDIT_PARTITION } from '../table/keys.ts';
import type { Page } from '../table/list.ts';
import {
  type ChargedCaller,
  FREE_UNITS,
  type ReadBudget,
  readBudget,
} from '../table/read-budget.ts';
import { type Item, LIST_ITEMS_MAX, type Range, type Table } from '../table/table.ts';
import { entryOf, type ListedEntry, MILLISECONDS_PER_DAY } from './audit-entry.ts';

/** Average cost of reading an entry, in read units of 4 KB. */
const UNITS_PER_ENTRY = 0.11;
/** Maximum number of entries per query; a query with filters reads this many. */
const CHUNK_SIZE = 1000;

/**
 * A query of the audit trail. The position after which a page starts is the sort key of an entry.
 */
type AuditQuery = ListQuery<string>;

/**
 * Reads a page of the audit trail, newest entries first unless sorted otherwise. `total` is
 * undefined, because counting would read the whole trail. A page after a cursor costs only that
 * page. The first page and a page after a cursor are incomplete if filters select too few of 10,000
 * entries, or when the read budget is spent; their cursor continues after the entries that were
 * read. Any other page fails with audit-list-too-long after 10,000, and its reads beyond the budget
 * become a debt. Also fails with forbidden, read-budget-spent and unavailable.
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
  return pageOf(table, query, budget, { oldest, now });
}

/**
 * When the oldest entry that is kept may have been written, and the current time. Both are in
 * milliseconds since 1970.
 */
interface Retention {
  readonly oldest: number;
  readonly now: number;
}

async function pageOf(
  table: Table,
  query: AuditQuery,
  budget: ReadBudget,
  retention: Retention,
): Promise<Page<ListedEntry>> {
  const { page, size, filters, after } = query;
  const start = after === undefined ? page * size : 0;
  const end = start + size;
  const isSelected = matcherOf(filters);
  const found: { readonly entry: ListedEntry; readonly position: string }[] = [];
  let read = 0;
  let position: string | undefined;
  // Beside the entries of the page: the next entry, which tells whether more follow, and the entry
  // of the cursor.
  const extra = after === undefined ? 1 : 2;
  const limit = filters.length > 0 ? CHUNK_SIZE : Math.min(CHUNK_SIZE, end + extra);
  const canBeIncomplete = start === 0;
  const queries = chargedQueries(table, budget, { limit, isComplete: !canBeIncomplete });
  const entries = entriesInOrder(queries, query, retention);
  let isIncomplete = false;
  while (found.length <= end) {
    const next = await entries.next().catch((error) => {
      // What was read is paid for: without it, a caller who repeats the request would read the same
      // again and again.
      if (read === 0 || !canBeIncomplete || error.code !== 'read-budget-spent') throw error;
    });
    if (next?.done) break;
    isIncomplete = !next || read === LIST_ITEMS_MAX;
    if (!next || isIncomplete) break;
    read++;
    position = next.value.sk;
    const entry = entryOf(next.value);
    const isKept = entry.expires === undefined || entry.expires * 1000 > retention.now;
    if (isKept && isSelected(entry)) found.push({ entry, position });
  }
  if (isIncomplete && !canBeIncomplete && found.length < end)
    throw new Failure('audit-list-too-long');
  const more = isIncomplete || found.length > end;
  const last = isIncomplete ? position : found[end - 1]?.position;
  return {
    total: undefined,
    entities: found.slice(start, end).map(({ entry }) => entry),
    more,
    cursor: more && last ? cursorAfter(last) : undefined,
  };
}

/** Queries a range of a partition for up to `limit` entries. */
interface ChunkReader {
  readonly limit: number;
  query(pk: string, range: Range): Promise<Item[]>;
}

/**
 * Charges each query in advance as if it returned `limit` entries, and what it costs beyond them
 * afterwards. What it does not use pays for the next ones. If a page must be complete, only its
 * first queries are charged in advance, so that it cannot fail halfway.
 */
function chargedQueries(
  table: Table,
  budget: ReadBudget,
  { limit, isComplete }: { limit: number; isComplete: boolean },
): ChunkReader {
  let used = 0;
  let paid = 0;
  return {
    limit,
    async query(pk, range) {
      if (!isComplete || used === 0) {
        // Not `paid += await …`, which would lose what a parallel query pays meanwhile.
        const charged = await budget.spend(used + limit * UNITS_PER_ENTRY - paid);
        paid += charged;
      }
      const items = await table.query(pk, { ...range, limit }, (units) => {
        used += units;
      });
      const owed = used - paid;
      // Stryker disable next-line EqualityOperator: `settle` charges nothing for free units either
      if (owed > FREE_UNITS) {
        paid += owed;
        await budget.settle(owed);
      }
      return items;
    },
  };
}

/**
 * The entries of the requested period in the requested order: the permanent ones and those of the
 * months.
 */
function entriesInOrder(
  reader: ChunkReader,
  { filters, sort, after }: AuditQuery,
  { oldest, now }: Retention,
): AsyncGenerator<Item> {
  const end = new Date(now).toISOString();
  const backwards = sort[0]?.descending ?? true;
  const rest = (period: Period) =>
    after === undefined ? period : periodAfter(after, period, backwards);
  const period = rest(periodOf(filters, new Date(oldest).toISOString(), end));
  const months = monthsOf(period).map(auditPartition);
  // An import writes a permanent entry for each record, so they are also read in chunks.
  const permanent = rest(periodOf(filters, SORT_KEY_MIN, end));
  return merge(
    entriesOf(reader, [PERMANENT_AUDIT_PARTITION], permanent, { backwards, after }),
    entriesOf(reader, backwards ? months.reverse() : months, period, { backwards, after }),
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

/**
 * The entries of a period in these partitions, one partition after the other, without the entry
 * at `after`.
 */
async function* entriesOf(
  reader: ChunkReader,
  partitions: readonly string[],
  period: Period,
  { backwards, after }: { backwards: boolean; after: string | undefined },
): AsyncGenerator<Item> {
  // Stryker disable next-line EqualityOperator: the two ends are never equal
  if (period.from > period.to) return;
  for (const partition of partitions) {
    let range = period;
    let last = after;
    for (;;) {
      const items = await reader.query(partition, { ...range, backwards });
      // Ranges include both ends, so each query repeats the last item of the previous one.
      yield* items.filter(({ sk }) => sk !== last);
      if (items.length < reader.limit) break;
      last = items.at(-1)?.sk as string;
      range = backwards ? { ...range, to: last } : { ...range, from: last };
    }
  }
}

interface Period {
  readonly from: string;
  readonly to: string;
}

/** Less than every sort key; DynamoDB rejects an empty one. */
const SORT_KEY_MIN = '0000';

/** The range of sort keys between `oldest` and `newest` that the filters on `time` allow. */
function periodOf(filters: readonly Filter[], oldest: string, newest: string): Period {
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

/** The part of a period that is left after the entry with this sort key, which is included. */
function periodAfter(after: string, { from, to }: Period, backwards: boolean): Period {
  return backwards
    ? { from, to: [after, to].sort()[0] as string }
    : { from: [after, from].sort()[1] as string, to };
}

/** The months of a period as `yyyy-mm`, in ascending order. */
function monthsOf({ from, to }: Period): string[] {
  const months: string[] = [];
  for (
    let at = new Date(`${from.slice(0, 7)}-01`);
    // Stryker disable next-line EqualityOperator: `to` is longer than a time
    at.toISOString() < to;
    at.setUTCMonth(at.getUTCMonth() + 1)
  ) {
    months.push(at.toISOString().slice(0, 7));
  }
  return months;
}
