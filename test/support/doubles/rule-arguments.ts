import { Failure } from '../../../lib/contract/failure.ts';
import type { ListQuery } from '../../../lib/contract/list-query.ts';
import type { Write } from '../../../lib/table/write.ts';
import type { Found } from '../../../lib/throttle/attempt-counts.ts';
import type { Check } from '../../../lib/throttle/run-attempt.ts';

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

/** Makes an attempt that is not counted. */
export async function admitted<T, R>(
  { load, verify, keepsFailures }: Check<T, R>,
  items: Found = [],
  clearFailures: (now: number) => readonly Write[] = () => [],
): Promise<R> {
  const verdict = await verify((await load?.(items)) as T);
  if (typeof verdict !== 'function') throw new Failure(verdict.failure);
  return verdict(keepsFailures ? () => [] : clearFailures);
}
