import type { ListQuery } from '../../../lib/contract/list-query.ts';

/** The query of a first page of 20 entities by id, with other parts. */
export const queryOf = <P = number>(parts: Partial<ListQuery<P>> = {}): ListQuery<P> => ({
  page: 0,
  size: 20,
  sort: [],
  filters: [],
  parameters: [],
  after: undefined,
  ...parts,
});
