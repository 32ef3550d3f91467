import { Failure } from '../contract/failure.ts';
import { type Filter, fulfils, type ListQuery } from '../contract/list-query.ts';
import { requireEnv } from '../runtime/env.ts';
import { auditPartition, PERMANENT_AUDIT_PARTITION } from '../table/keys.ts';
import type { Page } from '../table/list.ts';
import { type Payer, readBudget, type Spend } from '../table/read-budget.ts';
import { type Item, LONGEST_READ, type Table } from '../table/table.ts';
import { type AuditEntry, MILLISECONDS_PER_DAY } from './audit-entry.ts';

const TOO_LONG = 'audit-list-too-long';

/** What reading an entry costs on average, in read units of 4 KB. */
const UNITS_PER_ENTRY = 0.11;
/** Entries read at once where filters decide which are wanted. */
const CHUNK = 1000;

/**
 * A page of the audit trail, the newest entries first unless asked otherwise. There is no total: it would cost the whole
 * trail. Fails with forbidden, and with audit-list-too-long when too many entries lie before the page.
 */
export function readAudits(table: Table, caller: Payer, query: ListQuery): Promise<Page<AuditEntry>> {
  return pageOf(table, query, readBudget(table, caller));
}

async function pageOf(table: Table, query: ListQuery, spend: Spend): Promise<Page<AuditEntry>> {
  const { page, size, filters } = query;
  const [start, end] = [page * size, (page + 1) * size];
  const found: AuditEntry[] = [];
  let read = 0;
  const now = Date.now() / 1000;
  for await (const items of chunks(table, query, filters.length > 0 ? CHUNK : Math.min(CHUNK, end + 1))) {
    read += items.length;
    if (read > LONGEST_READ) throw new Failure(TOO_LONG);
    // After each chunk and before the next: only then is it known how much there was to read.
    await spend(items.length * UNITS_PER_ENTRY);
    const entries = items.map(entryOf).filter(({ expires }) => expires === undefined || expires > now);
    found.push(...entries.filter((entry) => filters.every((filter) => fulfils({ ...entry }, filter))));
    if (found.length > end) break;
  }
  return { total: undefined, entities: found.slice(start, end), more: found.length > end, cursor: undefined };
}

/**
 * The entries of the requested time in its order: the permanent ones among those of the months. Each permanent entry
 * goes into the chunk whose last entry comes after it, and those that are left come at the end.
 */
async function* chunks(table: Table, { filters, sort }: ListQuery, limit: number): AsyncGenerator<Item[]> {
  const backwards = sort[0]?.descending ?? true;
  const inOrder = (a: Item, b: Item) => (a.sk < b.sk === backwards ? 1 : -1);
  const permanent = await permanentEntries(table, filters, backwards);
  for await (const items of entriesOfMonths(table, filters, backwards, limit)) {
    const last = items.at(-1);
    if (!last) continue;
    const after = permanent.findIndex((item) => inOrder(item, last) > 0);
    const among = permanent.splice(0, after < 0 ? permanent.length : after);
    yield [...items, ...among].sort(inOrder);
  }
  yield permanent;
}

/** Entries that never expire, however old. They are few: only operators' scripts leave any. */
async function permanentEntries(table: Table, filters: readonly Filter[], backwards: boolean): Promise<Item[]> {
  const stretch = stretchOf(filters, FIRST_YEAR);
  return stretch.from > stretch.to
    ? []
    : table.query(PERMANENT_AUDIT_PARTITION, { ...stretch, backwards, tooLong: TOO_LONG });
}

/** The other entries, month by month, at most `limit` at once. */
async function* entriesOfMonths(
  table: Table,
  filters: readonly Filter[],
  backwards: boolean,
  limit: number,
): AsyncGenerator<Item[]> {
  const oldest = new Date(Date.now() - Number(requireEnv('AUDIT_DAYS')) * MILLISECONDS_PER_DAY).toISOString();
  const stretch = stretchOf(filters, oldest);
  if (stretch.from > stretch.to) return;
  const months = monthsOf(stretch);
  for (const month of backwards ? months.reverse() : months) {
    let range = stretch;
    let last: string | undefined;
    for (;;) {
      const items = await table.query(auditPartition(month), {
        ...range,
        backwards,
        limit: limit + 1,
        tooLong: TOO_LONG,
      });
      // Each chunk begins with the last item of the one before.
      yield items.filter(({ sk }) => sk !== last);
      if (items.length <= limit) break;
      last = items.at(-1)?.sk as string;
      range = backwards ? { ...range, to: last } : { ...range, from: last };
    }
  }
}

interface Stretch {
  readonly from: string;
  readonly to: string;
}

/** No sort key is less; DynamoDB refuses an empty one. */
const FIRST_YEAR = '0000';

/** The sort keys between which all entries since `oldest` lie that the filters of time leave. */
function stretchOf(filters: readonly Filter[], oldest: string): Stretch {
  const bounds = (...operators: string[]) =>
    filters
      .filter(({ field, operator }) => field === 'time' && operators.includes(operator))
      .flatMap(({ operands }) => operands.map(String));
  const newest = new Date().toISOString();
  const from = [oldest, ...bounds('greaterThan', 'greaterThanOrEqual', 'equals')].sort().at(-1) as string;
  const to = [newest, ...bounds('lessThan', 'lessThanOrEqual', 'equals')].sort()[0] as string;
  // An id stands behind the time.
  return { from, to: `${to}~` };
}

/** `2026-11` and so on, in order. */
function monthsOf({ from, to }: Stretch): string[] {
  const months: string[] = [];
  for (let at = new Date(`${from.slice(0, 7)}-01`); at.toISOString() < to; at.setUTCMonth(at.getUTCMonth() + 1)) {
    months.push(at.toISOString().slice(0, 7));
  }
  return months;
}

function entryOf({ pk: _pk, sk: _sk, ...entry }: Item): AuditEntry {
  return entry as unknown as AuditEntry;
}

/** What an administrator may see of an entry: all of it. */
export function auditView({ id, time, actor, actorId, action, target, targetName, fields }: AuditEntry) {
  return { id, time, actor, actorId, action, target, targetName, fields };
}
