import type { Filter, ListQuery } from '../contract/list-query.ts';
import { requireEnv } from '../runtime/execution-environment.ts';
import { settleAll } from '../runtime/waiting.ts';
import { integrationIdOf } from '../table/keys.ts';
import { type ChargedCaller, type ReadBudget, readBudget } from '../table/read-budget.ts';
import {
  type Bounds,
  boundsAfter,
  type ChunkReader,
  itemsOf,
  type Page,
  pageInSteps,
} from '../table/steps.ts';
import type { Item, Table } from '../table/table.ts';
import {
  type AuditEntry,
  auditPartition,
  MILLISECONDS_PER_DAY,
  PERMANENT_AUDIT_PARTITION,
} from './audit-entry.ts';

/** An entry as it is listed: with the integration that it is about, if any. */
export interface ListedEntry extends AuditEntry {
  readonly integrationId?: number;
  /** The values that the event has given to fields and taken from them, for filters. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Converts a table item to an entry. The id of a parameter contains its integration's id. */
export function entryOf({ pk: _pk, sk: _sk, ...stored }: Item): ListedEntry {
  const { changes = [] } = stored as unknown as AuditEntry;
  const entry: ListedEntry = {
    ...(stored as unknown as AuditEntry),
    added: changes.flatMap(({ added, to }) => added ?? to ?? []).map(String),
    removed: changes.flatMap(({ removed, from }) => removed ?? from ?? []).map(String),
  };
  const [kind, id] = entry.target.split('/');
  if (kind === 'integration')
    return { ...entry, integrationId: Number(id), integrationName: entry.targetName };
  return kind === 'parameter' ? { ...entry, integrationId: integrationIdOf(Number(id)) } : entry;
}

/** The response form of an entry: everything but its expiry. */
export const auditView = (entry: ListedEntry) => ({
  id: entry.id,
  time: entry.time,
  actor: entry.actor,
  actorId: entry.actorId,
  action: entry.action,
  target: entry.target,
  targetName: entry.targetName,
  integrationId: entry.integrationId ?? null,
  integrationName: entry.integrationName ?? null,
  fields: entry.fields,
  // The table keeps no order of attributes.
  changes: (entry.changes ?? []).map(({ field, from, to, added, removed }) => ({
    field,
    from,
    to,
    added,
    removed,
  })),
  session: entry.session ?? null,
  source: entry.source ?? null,
  count: entry.count ?? null,
});

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
  const budget = readBudget(table, caller);
  await budget.requireUnspent();
  return readAuditsWithin(budget, table, query);
}

/** Reads a page on a budget that is known to be unspent. */
export function readAuditsWithin(
  budget: ReadBudget,
  table: Table,
  query: AuditQuery,
): Promise<Page<ListedEntry>> {
  const now = Date.now();
  const oldest = now - Number(requireEnv('AUDIT_DAYS')) * MILLISECONDS_PER_DAY;
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
  const rest = (period: Bounds) => boundsAfter(after, period, backwards);
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
  for (; month() <= to; at.setUTCMonth(at.getUTCMonth() + 1)) months.push(month());
  return months;
}
