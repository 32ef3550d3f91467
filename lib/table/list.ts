import { Failure } from '../contract/failure.ts';
import { cursorAfter, type Filter, type ListQuery } from '../contract/list-query.ts';
import { matcherOf, sorted } from '../contract/selection.ts';
import { canOwnParameters, idText, type Kind, parametersRange, totalKey } from './keys.ts';
import type { ReadBudget } from './read-budget.ts';
import { type Item, MAX_LIST_ITEMS, MAX_LIST_UNITS, type Range, type Table } from './table.ts';

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

interface Entity {
  readonly id: number;
}

/** The entities of one kind in a table, how items become entities, and the budget of the caller. */
interface Collection<E> {
  readonly table: Table;
  readonly kind: Kind;
  readonly entityOf: (item: Item) => E;
  readonly budget: ReadBudget;
}

/**
 * Average cost of reading an entity, in read units of 4 KB. That of parameters has a
 * margin for large values.
 */
const UNITS_PER_ENTITY: Record<Kind, number> = { USER: 0.11, INTEGRATION: 0.2, CONF: 1.5 };
/**
 * Maximum cost of reading the parameters of one integration: 192 KiB of values, and other
 * attributes of 90 items.
 */
const UNITS_PER_INTEGRATION = 60;

/**
 * Reads one page and charges it. In id order, the first page and a page after a cursor cost only
 * that page; any other page is read from the nearer end of the collection. Any other order and any
 * filter read the whole collection. Fails as the budget does, and beyond 10,000 items or 16 MB with
 * page-too-deep or list-too-long (parameter-list-too-long for parameters).
 */
export async function listPage<E extends Entity>(
  collection: Collection<E>,
  query: ListQuery,
): Promise<Page<E>> {
  const [first] = query.sort;
  if (query.filters.length === 0 && (!first || first.field === 'id')) {
    const readPage = query.page === 0 || query.after !== undefined ? pageAfter : pageByNumber;
    return readPage(collection, query, first?.descending ?? false);
  }
  const entities = sorted(await select(collection, query), query.sort);
  const start = query.page * query.size;
  const end = start + query.size;
  return {
    total: entities.length,
    entities: entities.slice(start, end),
    more: entities.length > end,
    cursor: undefined,
  };
}

/** Counts the entities that match the filters and charges the read. Fails as `listPage` does. */
export async function countEntities<E extends Entity>(
  collection: Collection<E>,
  query: ListQuery,
): Promise<number> {
  return query.filters.length === 0
    ? readTotal(collection)
    : (await select(collection, query)).length;
}

/** The first page, or the page after a cursor. */
async function pageAfter<E extends Entity>(
  collection: Collection<E>,
  { size, after }: ListQuery,
  backwards: boolean,
): Promise<Page<E>> {
  // One extra item tells whether more follow, even if the total changes between the two reads.
  const limit = size + 1;
  const range = { ...(after !== undefined && rangeAfter(after, backwards)), backwards, limit };
  const total = await readTotal(collection);
  const items = await readItems(collection, range, Math.min(limit, total));
  return pageOf(collection, items.slice(0, size), total, items.length > size);
}

/** A page by its number, read from the nearer end of the collection. */
async function pageByNumber<E extends Entity>(
  collection: Collection<E>,
  { page, size }: ListQuery,
  backwards: boolean,
): Promise<Page<E>> {
  const total = await readTotal(collection);
  const [start, end] = [page * size, (page + 1) * size];
  if (start >= total) return pageOf(collection, [], total, false);
  const fromStart = end <= total - start;
  const limit = fromStart ? end : total - start;
  const tooLong = 'page-too-deep';
  if (limit > MAX_LIST_ITEMS) throw new Failure(tooLong);
  const items = await readItems(
    collection,
    { backwards: fromStart ? backwards : !backwards, limit, tooLong },
    limit,
  );
  return pageOf(
    collection,
    fromStart ? items.slice(start) : items.reverse().slice(0, size),
    total,
    end < total,
  );
}

function pageOf<E extends Entity>(
  { entityOf }: Collection<E>,
  items: readonly Item[],
  total: number,
  more: boolean,
): Page<E> {
  const entities = items.map(entityOf);
  const last = entities.at(-1);
  return { total, entities, more, cursor: more && last ? cursorAfter(last.id) : undefined };
}

/**
 * The number of entities, which every list reads first, together with the budget. Fails as
 * `requireUnspent` does.
 */
async function readTotal<E>({ budget, kind }: Collection<E>): Promise<number> {
  const [total] = await budget.requireUnspent([totalKey(kind)]);
  return (total?.n as number | undefined) ?? 0;
}

/** Reads a range that is expected to have this many entities. */
const readItems = <E>(collection: Collection<E>, range: Range, entities: number): Promise<Item[]> =>
  chargedQuery(collection, range, entities * UNITS_PER_ENTITY[collection.kind]);

/**
 * Reads a range and charges it: the expected units before the read, at most those after which it
 * would be rejected, and what it costs beyond them afterwards.
 */
async function chargedQuery<E>(
  { table, kind, budget }: Collection<E>,
  range: Range,
  expectedUnits: number,
): Promise<Item[]> {
  const charged = await budget.spend(Math.min(expectedUnits, MAX_LIST_UNITS));
  let consumed = 0;
  try {
    return await table.query(kind, range, (units) => {
      consumed += units;
    });
  } finally {
    await budget.settle(consumed - charged);
  }
}

function rangeAfter(id: number, backwards: boolean): Range {
  return backwards
    ? { from: idText(0), to: idText(Math.max(0, id - 1)) }
    : { from: idText(id + 1), to: idText(Number.MAX_SAFE_INTEGER) };
}

/**
 * The id of the integration whose parameters the filters select; undefined if they select those of
 * several.
 */
export function ownerOf(filters: readonly Filter[]): number | undefined {
  const byOwner = filters.find(
    ({ field, operator }) => field === 'integrationId' && operator === 'equals',
  );
  return byOwner?.operands[0] as number | undefined;
}

/**
 * All entities that match the filters. A filter on one integration reads only the parameters of
 * that integration.
 */
async function select<E extends Entity>(
  collection: Collection<E>,
  { filters }: ListQuery,
): Promise<E[]> {
  const { kind, entityOf } = collection;
  const owner = kind === 'CONF' ? ownerOf(filters) : undefined;
  const byOwner = owner !== undefined;
  if (byOwner && !canOwnParameters(owner)) return [];
  const range = byOwner ? parametersRange(owner) : {};
  const tooLong = kind === 'CONF' ? 'parameter-list-too-long' : 'list-too-long';
  const total = await readTotal(collection);
  // The query would be rejected after 10,000 entities, so it is not started.
  if (!byOwner && total > MAX_LIST_ITEMS) throw new Failure(tooLong);
  const units = Math.min(
    total * UNITS_PER_ENTITY[kind],
    byOwner ? UNITS_PER_INTEGRATION : Number.POSITIVE_INFINITY,
  );
  const entities = (await chargedQuery(collection, { ...range, tooLong }, units)).map(entityOf);
  return entities.filter(matcherOf(filters));
}
