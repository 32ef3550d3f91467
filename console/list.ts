/* The query of a page is the query of the API, so a `next` link is the address of the next page. */

export type Query = Readonly<Record<string, string>>;
export type Links = Readonly<Partial<Record<'first' | 'prev' | 'next' | 'last', Query>>>;
export type Sort = { readonly field: string; readonly descending: boolean };

/** The queries of the header Link, by relation. */
export function linksOf(header: string | null): Links {
  const links: [string, Query][] = [];
  for (const [, url = '', relation = ''] of (header ?? '').matchAll(/<([^>]*)>;\s*rel="(\w+)"/g))
    links.push([relation, queryOf(url.split('?')[1] ?? '')]);
  return Object.fromEntries(links);
}

export const queryOf = (search: string): Query => Object.fromEntries(new URLSearchParams(search));

const POSITION = ['page', 'cursor'];

/** The query with other parameters, which starts at the first page. */
export function withChanges(query: Query, changes: Query): Query {
  const merged = { ...query, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter(([name, value]) => value !== '' && !POSITION.includes(name)),
  );
}

export function sortOf(query: Query, byDefault: Sort): Sort {
  const [field = '', direction] = (query.sort ?? '').split(',');
  return field === '' ? byDefault : { field, descending: direction === 'desc' };
}

/** The query after a click on the head of a column: ascending first, then descending. */
export function sortedBy(query: Query, field: string, byDefault: Sort): Query {
  const sort = sortOf(query, byDefault);
  const descending = sort.field === field && !sort.descending;
  return withChanges(query, { sort: `${field},${descending ? 'desc' : 'asc'}` });
}

export const filtersOf = (query: Query): [string, string][] =>
  Object.entries(query).filter(
    ([name, value]) => value !== '' && ![...POSITION, 'size', 'sort'].includes(name),
  );

/** The numbers of the first and the last entry of a page, from 1, if its position tells them. */
export function rangeOf(query: Query, count: number, size: number): [number, number] | undefined {
  if (count === 0) return undefined;
  const page = Number(query.page ?? 0);
  if (!Number.isInteger(page) || page < 0 || (query.cursor && !query.page)) return undefined;
  return [page * size + 1, page * size + count];
}
