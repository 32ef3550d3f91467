import { Failure, type TooLong } from '../contract/failure.ts';
import { cursorAfter, type Filter, type ListQuery } from '../contract/list-query.ts';
import { matcherOf, sorted } from '../contract/selection.ts';
import { totalKey } from './item-kind.ts';
import { entityKey, idText, type Key, type Kind } from './keys.ts';
import type { ReadBudget } from './read-budget.ts';
import { type Bounds, boundsAfter, itemsOf, type Page, pageInSteps } from './steps.ts';
import { type Item, LIST_ITEMS_MAX, LIST_UNITS_MAX, type Range, type Table } from './table.ts';

interface Entity {
  readonly id: number;
}

/** The entities of one kind, and what reading them costs. */
export interface Collection<E> {
  readonly kind: Kind;
  readonly entityOf: (item: Item) => E;
  /** The average cost of reading an entity, in read units of 4 KB. */
  readonly unitsPerEntity: number;
  /** The failure of a list beyond the bounds; `list-too-long` by default. */
  readonly tooLong?: TooLong;
  /** The part that filters confine a list to; undefined if they can select any entity. */
  readonly partOf?: (filters: readonly Filter[]) => Part | undefined;
  /**
   * For filters other than those by id: the keys of a few items, of which one has the `id` of any
   * entity that the filters select; undefined if there are no such keys.
   */
  readonly keysToIds?: (filters: readonly Filter[]) => readonly Key[] | undefined;
}

/** A part of a collection, which is small: it is charged after it is read, for what it costs. */
interface Part {
  /** Its keys; undefined if there can be none. */
  readonly range: Bounds | undefined;
}

/** A collection in a table, and the budget of the caller who reads it. */
interface OpenCollection<E> extends Collection<E> {
  readonly table: Table;
  readonly budget: ReadBudget;
}

/**
 * Reads one page and charges it. In id order, the first page and a page after a cursor cost only
 * that page; any other page is read from the nearer end of the collection. Any other order and any
 * filter read the whole collection, the part that the filters name, or the few entities that keys
 * lead to; in id order, what is left after a cursor and a collection of more than 10,000 are read
 * in steps. Fails as the budget does, and beyond 10,000 items or 16 MB with page-too-deep or the
 * collection's `tooLong`.
 */
export async function listPage<E extends Entity>(
  collection: OpenCollection<E>,
  query: ListQuery,
): Promise<Page<E>> {
  const [{ field, descending } = { field: 'id', descending: false }] = query.sort;
  if (field === 'id' && query.filters.length === 0) {
    const readPage = query.page === 0 || query.after !== undefined ? pageAfter : pageByNumber;
    return readPage(collection, query, descending);
  }
  if (query.after !== undefined) {
    await collection.budget.requireUnspent();
    return filteredPage(collection, query, descending);
  }
  const selected = await select(collection, query.filters);
  if (!selected && field === 'id') return filteredPage(collection, query, descending);
  const entities = sorted(selected ?? rejected(collection), query.sort);
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
  collection: OpenCollection<E>,
  query: ListQuery,
): Promise<number> {
  if (query.filters.length === 0) return readTotal(collection);
  return ((await select(collection, query.filters)) ?? rejected(collection)).length;
}

function rejected<E>({ tooLong = 'list-too-long' }: Collection<E>): never {
  throw new Failure(tooLong);
}

/** The first page, or the page after a cursor. */
async function pageAfter<E extends Entity>(
  collection: OpenCollection<E>,
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
  collection: OpenCollection<E>,
  { page, size }: ListQuery,
  backwards: boolean,
): Promise<Page<E>> {
  const total = await readTotal(collection);
  const [start, end] = [page * size, (page + 1) * size];
  if (start >= total) return pageOf(collection, [], total, false);
  const fromStart = end <= total - start;
  const limit = fromStart ? end : total - start;
  const tooLong = 'page-too-deep';
  if (limit > LIST_ITEMS_MAX) throw new Failure(tooLong);
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
  { entityOf }: OpenCollection<E>,
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
async function readTotal<E>({ budget, kind }: OpenCollection<E>): Promise<number> {
  const [total] = await budget.requireUnspent([totalKey(kind)]);
  return (total?.n as number | undefined) ?? 0;
}

/** Reads a range that is expected to have this many entities. */
const readItems = <E>(
  collection: OpenCollection<E>,
  range: Range,
  entities: number,
): Promise<Item[]> => chargedQuery(collection, range, entities * collection.unitsPerEntity);

/**
 * Reads a range and charges it: the expected units before the read, at most those after which it
 * would be rejected, and what it costs beyond them afterwards.
 */
async function chargedQuery<E>(
  { table, kind, budget }: OpenCollection<E>,
  range: Range,
  expectedUnits: number,
): Promise<Item[]> {
  const charged = await budget.spend(Math.min(expectedUnits, LIST_UNITS_MAX));
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

const ALL_IDS: Bounds = { from: idText(0), to: idText(Number.MAX_SAFE_INTEGER) };

/** A page of the entities that match the filters in the order of ids, read in steps. */
async function filteredPage<E extends Entity>(
  { kind, partOf, unitsPerEntity, ...collection }: OpenCollection<E>,
  query: ListQuery,
  backwards: boolean,
): Promise<Page<E>> {
  const part = partOf?.(query.filters);
  if (part && !part.range) return { total: 0, entities: [], more: false, cursor: undefined };
  const after = query.after === undefined ? undefined : idText(query.after);
  const bounds = boundsAfter(after, part?.range ?? ALL_IDS, backwards);
  return pageInSteps(
    {
      ...collection,
      unitsPerItem: unitsPerEntity,
      tooLong: 'page-too-deep',
      itemsBy: (reader) => itemsOf(reader, [kind], bounds, { backwards, after }),
    },
    query,
  );
}

/** All entities that match the filters; undefined if they are too many to be read. */
async function select<E extends Entity>(
  collection: OpenCollection<E>,
  filters: readonly Filter[],
): Promise<E[] | undefined> {
  const items = await selectedItems(collection, filters);
  return items?.map(collection.entityOf).filter(matcherOf(filters));
}

async function selectedItems<E>(
  collection: OpenCollection<E>,
  filters: readonly Filter[],
): Promise<Item[] | undefined> {
  const ids = idsIn(filters);
  const keys = ids ? [] : collection.keysToIds?.(filters);
  if (!keys) return partOrAll(collection, filters);
  const holders = await collection.budget.requireUnspent(keys);
  const held = holders.flatMap((holder) => (holder ? [holder.id as number] : []));
  return itemsByIds(collection, ids ?? [...new Set(held)]);
}

/** The most items that one call reads by their keys. */
const KEYS_MAX = 100;

/** The few ids that the filters name; undefined if they can select others. */
export function idsIn(filters: readonly Filter[]): readonly number[] | undefined {
  const byId = filters.find(
    ({ field, operator, operands }) =>
      field === 'id' && ['equals', 'in'].includes(operator) && operands.length <= KEYS_MAX,
  );
  return byId && [...new Set(byId.operands as readonly number[])];
}

async function itemsByIds<E>(
  { table, kind, budget, unitsPerEntity }: OpenCollection<E>,
  ids: readonly number[],
): Promise<Item[]> {
  const charged = await budget.spend(ids.length * unitsPerEntity);
  let consumed = 0;
  const items = await table.getAll(
    ids.map((id) => entityKey(kind, id)),
    (units) => {
      consumed += units;
    },
  );
  await budget.settle(consumed - charged);
  return items.filter((item) => item !== undefined);
}

/** The items of the part that the filters name, or all; undefined if all are too many. */
async function partOrAll<E>(
  collection: OpenCollection<E>,
  filters: readonly Filter[],
): Promise<Item[] | undefined> {
  const { unitsPerEntity, tooLong = 'list-too-long', partOf } = collection;
  const part = partOf?.(filters);
  if (part && !part.range) return [];
  const total = await readTotal(collection);
  // The query would be rejected after 10,000 entities, so it is not started.
  if (!part && total > LIST_ITEMS_MAX) return undefined;
  const units = part ? 0 : total * unitsPerEntity;
  return chargedQuery(collection, { ...part?.range, tooLong }, units);
}
