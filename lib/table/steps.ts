import { Failure, type TooLong } from '../contract/failure.ts';
import { cursorAfter, type ListQuery } from '../contract/list-query.ts';
import { matcherOf } from '../contract/selection.ts';
import { FREE_UNITS, type ReadBudget } from './read-budget.ts';
import type { Item, Range, Table } from './table.ts';

/**
 * A page of entities. `total` counts all matching entities and is undefined if unknown; `cursor`
 * continues after the last entity; only lists in the order of their keys have one.
 */
export interface Page<E> {
  readonly entities: readonly E[];
  readonly total: number | undefined;
  readonly more: boolean;
  readonly cursor: string | undefined;
}

/*
 * Lists that are too long to be read whole. Each request reads a bounded number of items, and the
 * cursor in its response continues after them.
 */

/**
 * The expected cost of a query with filters, in read units, and how many of them a request makes:
 * 10,000 users or audit entries, and fewer of what is larger.
 */
const CHUNK_UNITS = 110;
const CHUNKS_MAX = 10;

/** What a list selects from. */
interface StepsInput<E> {
  readonly table: Table;
  readonly budget: ReadBudget;
  /** Average cost of reading an item, in read units of 4 KB. */
  readonly unitsPerItem: number;
  /** The failure of a page by its number that lies behind what a request reads. */
  readonly tooLong: TooLong;
  /** The items in the order of the list, from the requested cursor on. */
  readonly itemsBy: (reader: ChunkReader) => AsyncGenerator<Item>;
  /** The entity of an item; undefined if the list does not have it. */
  readonly entityOf: (item: Item) => E | undefined;
}

/**
 * Reads a page. `total` is undefined, because counting would read the whole list. A page after a
 * cursor costs only that page. The first page and a page after a cursor are incomplete if filters
 * select too few of the items that a request reads, or when the read budget is spent; their cursor
 * continues after these items. Any other page fails with `tooLong` instead, and may read beyond the
 * budget. The budget must be unspent. Fails with read-budget-spent and unavailable.
 */
export async function pageInSteps<E extends object, P>(
  { table, budget, unitsPerItem, tooLong, itemsBy, entityOf }: StepsInput<E>,
  { page, size, filters, after }: ListQuery<P>,
): Promise<Page<E>> {
  const start = after === undefined ? page * size : 0;
  const end = start + size;
  const isSelected = matcherOf(filters);
  const found: { readonly entity: E; readonly position: string }[] = [];
  let read = 0;
  let position: string | undefined;
  // Beside the items of the page: the next item, which tells whether more follow, and the item of
  // the cursor.
  const extra = after === undefined ? 1 : 2;
  const chunkSize = Math.floor(CHUNK_UNITS / unitsPerItem);
  const limit = filters.length > 0 ? chunkSize : Math.min(chunkSize, end + extra);
  const canBeIncomplete = start === 0;
  const reader = chargedQueries(table, budget, {
    limit,
    unitsPerItem,
    isComplete: !canBeIncomplete,
  });
  const items = itemsBy(reader);
  let isIncomplete = false;
  while (found.length <= end) {
    const next = await items.next().catch((error) => {
      // What was read is paid for: without it, a caller who repeats the request would read the same
      // again and again.
      if (read === 0 || !canBeIncomplete || error.code !== 'read-budget-spent') throw error;
    });
    if (next?.done) break;
    isIncomplete = !next || read === CHUNKS_MAX * chunkSize;
    if (!next || isIncomplete) break;
    read++;
    position = next.value.sk;
    const entity = entityOf(next.value);
    if (entity && isSelected(entity)) found.push({ entity, position });
  }
  await reader.refund();
  if (isIncomplete && !canBeIncomplete && found.length < end) throw new Failure(tooLong);
  const more = isIncomplete || found.length > end;
  const last = isIncomplete ? position : found[end - 1]?.position;
  return {
    total: undefined,
    entities: found.slice(start, end).map(({ entity }) => entity),
    more,
    cursor: more && last ? cursorAfter(last) : undefined,
  };
}

/** Queries a range of a partition for up to `limit` items. */
export interface ChunkReader {
  readonly limit: number;
  query(pk: string, range: Range): Promise<Item[]>;
}

/**
 * Charges each query in advance as if it returned `limit` items, and what it costs beyond them
 * afterwards. What it does not use pays for the next ones, and is given back after the last. If a
 * page must be complete, only its first queries are charged in advance, so that it cannot fail
 * halfway.
 */
function chargedQueries(
  table: Table,
  budget: ReadBudget,
  { limit, unitsPerItem, isComplete }: { limit: number; unitsPerItem: number; isComplete: boolean },
): ChunkReader & { refund(): Promise<void> } {
  let used = 0;
  let paid = 0;
  return {
    limit,
    async query(pk, range) {
      if (!isComplete || used === 0) {
        // Not `paid += await …`, which would lose what a parallel query pays meanwhile.
        const charged = await budget.spend(used + limit * unitsPerItem - paid);
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
    refund: () => budget.refund(paid - used),
  };
}

/** A range of sort keys, both ends included. */
export interface Bounds {
  readonly from: string;
  readonly to: string;
}

/**
 * The items of a range in these partitions, one partition after the other, without the item at
 * `after`.
 */
export async function* itemsOf(
  reader: ChunkReader,
  partitions: readonly string[],
  bounds: Bounds,
  { backwards, after }: { backwards: boolean; after: string | undefined },
): AsyncGenerator<Item> {
  // Stryker disable next-line EqualityOperator: the two ends are never equal
  if (bounds.from > bounds.to) return;
  for (const partition of partitions) {
    let range = bounds;
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

/**
 * The part of a range that is left after the item with this sort key, which is included; without
 * one, the range.
 */
export function boundsAfter(
  after: string | undefined,
  { from, to }: Bounds,
  backwards: boolean,
): Bounds {
  if (after === undefined) return { from, to };
  return backwards
    ? { from, to: [after, to].sort()[0] as string }
    : { from: [after, from].sort()[1] as string, to };
}
