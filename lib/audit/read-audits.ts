import { Failure } from '../contract/failure.ts';
import { type Filter, type ListQuery, matches } from '../contract/list-query.ts';
import { requireEnv } from '../runtime/env.ts';
import { auditPartition, PERMANENT_AUDIT_PARTITION } from '../table/keys.ts';
import type { Page } from '../table/list.ts';
import { type ChargedCaller, readBudget, type SpendUnits } from '../table/read-budget.ts';
import { type Item, MAX_LIST_ITEMS, type Table } from '../table/table.ts';
import { type AuditEntry, MILLISECONDS_PER_DAY } from './audit-entry.ts';

const TOO_LONG = 'audit-list-too-long';

/** Average cost of reading an entry, in read units of 4 KB. */
const UNITS_PER_ENTRY = 0.11;
/** Maximum number of entries per query; a query with filters reads this many. */
const CHUNK_SIZE = 1000;

/**
 * Reads a page of the audit trail, newest entries first unless sorted otherwise. `total` is undefined, because counting
 * would read the whole trail. Fails with forbidden, with read-budget-spent, with audit-list-too-long if the page needs
 * more than 10,000 entries to be read, and with unavailable.
 */
export function readAudits(table: Table, caller: ChargedCaller, query: ListQuery): Promise<Page<AuditEntry>> {
  const now = Date.now();
  const oldest = now - Number(requireEnv('AUDIT_DAYS')) * MILLISECONDS_PER_DAY;
  return pageOf(table, query, readBudget(table, caller), { oldest, now });
}

/** When the oldest entry that is kept may have been written, and the current time; milliseconds since 1970. */
interface Retention {
  readonly oldest: number;
  readonly now: number;
}

async function pageOf(
  table: Table,
  query: ListQuery,
  spend: SpendUnits,
  retention: Retention,
): Promise<Page<AuditEntry>> {
  const { page, size, filters } = query;
  const [start, end] = [page * size, (page + 1) * size];
  const found: AuditEntry[] = [];
  let read = 0;
  const limit = filters.length > 0 ? CHUNK_SIZE : Math.min(CHUNK_SIZE, end + 1);
  for await (const items of chunks(table, query, limit, retention)) {
    read += items.length;
    if (read > MAX_LIST_ITEMS) throw new Failure(TOO_LONG);
    // Charged after each chunk, because only then its size is known.
    await spend(items.length * UNITS_PER_ENTRY);
    const entries = items.map(entryOf).filter(({ expires }) => expires === undefined || expires * 1000 > retention.now);
    found.push(...entries.filter((entry) => filters.every((filter) => matches({ ...entry }, filter))));
    if (found.length > end) break;
  }
  return { total: undefined, entities: found.slice(start, end), more: found.length > end, cursor: undefined };
}

/**
 * The entries of the requested period in the requested order: permanent entries merged into the monthly ones. A
 * permanent entry is part of the first chunk whose last entry follows it; the remaining ones are the last chunk.
 */
async function* chunks(
  table: Table,
  { filters, sort }: ListQuery,
  limit: number,
  { oldest, now }: Retention,
): AsyncGenerator<Item[]> {
  const start = new Date(oldest).toISOString();
  const end = new Date(now).toISOString();
  const backwards = sort[0]?.descending ?? true;
  const inOrder = (a: Item, b: Item) => (a.sk < b.sk === backwards ? 1 : -1);
  const permanent = await permanentEntries(table, periodOf(filters, MIN_SORT_KEY, end), backwards);
  for await (const items of entriesOfMonths(table, periodOf(filters, start, end), backwards, limit)) {
    const last = items.at(-1);
    if (!last) continue;
    const after = permanent.findIndex((item) => inOrder(item, last) > 0);
    const merged = permanent.splice(0, after < 0 ? permanent.length : after);
    yield [...items, ...merged].sort(inOrder);
  }
  yield permanent;
}

/** The entries without expiry in the requested period. They are few: only operators' scripts write them. */
async function permanentEntries(table: Table, period: Period, backwards: boolean): Promise<Item[]> {
  return period.from > period.to
    ? []
    : table.query(PERMANENT_AUDIT_PARTITION, { ...period, backwards, tooLong: TOO_LONG });
}

/** The other entries, month by month, in chunks of about `limit` entries. */
async function* entriesOfMonths(
  table: Table,
  period: Period,
  backwards: boolean,
  limit: number,
): AsyncGenerator<Item[]> {
  if (period.from > period.to) return;
  const months = monthsOf(period);
  for (const month of backwards ? months.reverse() : months) {
    let range = period;
    let last: string | undefined;
    for (;;) {
      const items = await table.query(auditPartition(month), {
        ...range,
        backwards,
        limit: limit + 1,
        tooLong: TOO_LONG,
      });
      // Ranges include both ends, so each query repeats the last item of the previous one.
      yield items.filter(({ sk }) => sk !== last);
      if (items.length <= limit) break;
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
const MIN_SORT_KEY = '0000';

/** The range of sort keys between `oldest` and `newest` that the filters on `time` allow. */
function periodOf(filters: readonly Filter[], oldest: string, newest: string): Period {
  const bounds = (...operators: string[]) =>
    filters
      .filter(({ field, operator }) => field === 'time' && operators.includes(operator))
      .flatMap(({ operands }) => operands.map(String));
  const from = [oldest, ...bounds('greaterThan', 'greaterThanOrEqual', 'equals')].sort().at(-1) as string;
  const to = [newest, ...bounds('lessThan', 'lessThanOrEqual', 'equals')].sort()[0] as string;
  // In the sort key, an id follows the time: `~` is greater than its characters.
  return { from, to: `${to}~` };
}

/** The months of a period as `yyyy-mm`, in ascending order. */
function monthsOf({ from, to }: Period): string[] {
  const months: string[] = [];
  for (let at = new Date(`${from.slice(0, 7)}-01`); at.toISOString() < to; at.setUTCMonth(at.getUTCMonth() + 1)) {
    months.push(at.toISOString().slice(0, 7));
  }
  return months;
}

function entryOf({ pk: _pk, sk: _sk, ...entry }: Item): AuditEntry {
  return entry as unknown as AuditEntry;
}

/** The response form of an entry: everything but its expiry. */
export function auditView({ id, time, actor, actorId, action, target, targetName, fields }: AuditEntry) {
  return { id, time, actor, actorId, action, target, targetName, fields };
}
