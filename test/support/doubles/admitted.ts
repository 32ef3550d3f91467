import { Failure } from '../../../lib/contract/failure.ts';
import type { Write } from '../../../lib/table/write.ts';
import type { Found } from '../../../lib/throttle/attempt-counts.ts';
import type { Check } from '../../../lib/throttle/run-attempt.ts';

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
