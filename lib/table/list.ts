import { Failure } from '../contract/failure.ts';
import { cursorAfter, fulfils, type ListQuery, type Order } from '../contract/list-query.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { canOwnParameters, idText, type Kind, parametersRange } from './keys.ts';
import { FREE_UNITS, type Spend } from './read-budget.ts';
import { type Item, LONGEST_READ, type Range, type Table } from './table.ts';

/** A page of entities, how many there are in all if that is known, and whether more follow: after this cursor, in the order of ids. */
export interface Page<E> {
  readonly entities: readonly E[];
  readonly total: number | undefined;
  readonly more: boolean;
  readonly cursor: string | undefined;
}

interface Entity {
  readonly id: number;
}
type Read<E> = (item: Item) => E;

/** What reading an entity costs on average, in read units of 4 KB: measured for users, with room for large values of parameters. */
const UNITS_PER_ENTITY: Record<Kind, number> = { USER: 0.11, INTEGRATION: 0.2, CONF: 1.5 };
/** What reading all parameters of one integration costs at most: 192 KiB, and what stands beside them in 90 items. */
const UNITS_PER_INTEGRATION = 60;

/**
 * One page of a kind, which `spend` pays for. In the order of ids, the first page and what comes after a cursor cost a
 * page; another page reads from the nearer end. Any other order and all filters read the kind. Fails as `spend` does, and
 * beyond the bound with page-too-deep, or with list-too-long, or parameter-list-too-long for parameters.
 */
export async function listPage<E extends Entity>(
  table: Table,
  kind: Kind,
  query: ListQuery,
  read: Read<E>,
  spend: Spend,
): Promise<Page<E>> {
  const [first] = query.sort;
  if (query.filters.length === 0 && (!first || first.field === 'id')) {
    return pageById(table, kind, query, read, spend, first?.descending ?? false);
  }
  const entities = (await select(table, kind, query, read, spend)).sort(by(query.sort));
  const start = query.page * query.size;
  const end = start + query.size;
  return {
    total: entities.length,
    entities: entities.slice(start, end),
    more: entities.length > end,
    cursor: undefined,
  };
}

/** How many entities a list with these filters has; `spend` pays for it. */
export async function countEntities<E>(
  table: Table,
  kind: Kind,
  query: ListQuery,
  read: Read<E>,
  spend: Spend,
): Promise<number> {
  return query.filters.length === 0 ? table.total(kind) : (await select(table, kind, query, read, spend)).length;
}

async function pageById<E extends Entity>(
  table: Table,
  kind: Kind,
  { page, size, after }: ListQuery,
  read: Read<E>,
  spend: Spend,
  backwards: boolean,
): Promise<Page<E>> {
  const pay = (entities: number) => spend(entities * UNITS_PER_ENTITY[kind]);
  const pageOf = (total: number, items: readonly Item[], more: boolean): Page<E> => {
    const entities = items.map(read);
    const last = entities.at(-1);
    return { total, entities, more, cursor: more && last ? cursorAfter(last.id) : undefined };
  };
  if (page === 0 || after !== undefined) {
    const range = after === undefined ? {} : beyond(after, backwards);
    // A short page costs nothing to speak of, so it is read beside the total.
    const isShort = (size + 1) * UNITS_PER_ENTITY[kind] <= FREE_UNITS;
    const counted = isShort ? undefined : await table.total(kind);
    if (counted !== undefined) await pay(Math.min(size + 1, counted));
    // One more than wanted tells whether there are more, whatever the total is by now.
    const reading = table.query(kind, { ...range, backwards, limit: size + 1 });
    const [total, items] = await settleAll([
      counted === undefined ? table.total(kind) : Promise.resolve(counted),
      reading,
    ]);
    return pageOf(total, items.slice(0, size), items.length > size);
  }
  const total = await table.total(kind);
  const before = page * size;
  const behind = total - before - size;
  if (before >= total) return pageOf(total, [], false);
  const fromStart = before <= behind;
  const limit = fromStart ? before + size : total - before;
  if (limit > LONGEST_READ) throw new Failure('page-too-deep');
  await pay(limit);
  if (fromStart) {
    const items = await table.query(kind, { backwards, limit });
    return pageOf(total, items.slice(before), behind > 0);
  }
  const items = await table.query(kind, { backwards: !backwards, limit });
  return pageOf(total, items.reverse().slice(0, size), behind > 0);
}

function beyond(id: number, backwards: boolean): Range {
  return backwards
    ? { from: idText(0), to: idText(Math.max(0, id - 1)) }
    : { from: idText(id + 1), to: idText(Number.MAX_SAFE_INTEGER) };
}

/** All entities that fulfil the filters; of one integration's parameters only its own are read. */
async function select<E>(table: Table, kind: Kind, { filters }: ListQuery, read: Read<E>, spend: Spend): Promise<E[]> {
  const owner = filters.find(({ field, operator }) => field === 'integrationId' && operator === 'equals')?.operands[0];
  const ofOne = kind === 'CONF' && typeof owner === 'number';
  if (ofOne && !canOwnParameters(owner)) return [];
  const range = ofOne ? parametersRange(owner) : {};
  const tooLong = kind === 'CONF' ? 'parameter-list-too-long' : 'list-too-long';
  const total = await table.total(kind);
  // What would be rejected after 10,000 entities need not be begun.
  if (!ofOne && total > LONGEST_READ) throw new Failure(tooLong);
  await spend(Math.min(total * UNITS_PER_ENTITY[kind], ofOne ? UNITS_PER_INTEGRATION : Number.POSITIVE_INFINITY));
  const entities = (await table.query(kind, { ...range, tooLong })).map(read);
  return entities.filter((entity) => filters.every((filter) => fulfils(entity as Record<string, unknown>, filter)));
}

/** Compares by one field after the other, then by id; what has no value comes last, either way. */
function by(sort: readonly Order[]): (a: Entity, b: Entity) => number {
  return (a, b) => {
    for (const { field, descending } of sort) {
      const order = compare(a[field as keyof Entity], b[field as keyof Entity], descending);
      if (order !== 0) return order;
    }
    return a.id - b.id;
  };
}

function compare(a: unknown, b: unknown, descending: boolean): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const less = (a as string | number | boolean) < (b as string | number | boolean);
  return less === descending ? 1 : -1;
}
