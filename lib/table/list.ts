import type { ListQuery, Order } from '../list-query.ts';
import type { Kind } from './keys.ts';
import type { Item, Table } from './table.ts';

/** A page of entities, and how many there are in all. */
export interface Page<E> {
  readonly entities: readonly E[];
  readonly total: number;
}

/**
 * One page of a kind. In the order of ids it reads from the nearer end, so that the first and the last page cost a page;
 * any other order reads the kind. Fails with list-too-long where that goes beyond the bound.
 */
export async function listPage<E>(
  table: Table,
  kind: Kind,
  query: ListQuery,
  read: (item: Item) => E,
): Promise<Page<E>> {
  const [first] = query.sort;
  if (first && first.field !== 'id') {
    const [total, items] = await Promise.all([table.total(kind), table.query(kind)]);
    const start = query.page * query.size;
    return {
      total,
      entities: items
        .sort(by(query.sort))
        .slice(start, start + query.size)
        .map(read),
    };
  }
  const { total, items } = await pageById(table, kind, query, first?.descending ?? false);
  return { total, entities: items.map(read) };
}

async function pageById(table: Table, kind: Kind, { page, size }: ListQuery, backwards: boolean) {
  if (page === 0) {
    const [total, items] = await Promise.all([table.total(kind), table.query(kind, { backwards, limit: size })]);
    return { total, items };
  }
  const total = await table.total(kind);
  const before = page * size;
  const after = total - before - size;
  if (before >= total) return { total, items: [] };
  if (before <= after) {
    const items = await table.query(kind, { backwards, limit: before + size });
    return { total, items: items.slice(before) };
  }
  const items = await table.query(kind, { backwards: !backwards, limit: total - before });
  return { total, items: items.reverse().slice(0, size) };
}

/** Compares by one field after the other, then by id; what has no value comes last, either way. */
function by(sort: readonly Order[]): (a: Item, b: Item) => number {
  return (a, b) => {
    for (const { field, descending } of sort) {
      const order = compare(a[field], b[field], descending);
      if (order !== 0) return order;
    }
    return a.sk < b.sk ? -1 : 1;
  };
}

function compare(a: unknown, b: unknown, descending: boolean): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const less = (a as string | number | boolean) < (b as string | number | boolean);
  return less === descending ? 1 : -1;
}
