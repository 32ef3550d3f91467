import { randomInt } from 'node:crypto';

/**
 * Waits until all promises have settled, even if one rejects: Lambda would freeze pending work
 * after the response and resume it during the next request. Then rejects with the reason of the
 * first rejected promise in argument order.
 */
export async function settleAll<T extends readonly unknown[]>(
  work: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  const outcomes = await Promise.allSettled(work);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return outcomes.map(
    (outcome) => (outcome as PromiseFulfilledResult<unknown>).value,
  ) as unknown as T;
}

/**
 * Maps items in order, at most `limit` of them at a time. Rejects like `settleAll`, after all have
 * settled.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  limit: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: Promise<R>[] = [];
  const waiting = items.entries();
  const work = async () => {
    for (const [index, item] of waiting) {
      const result = map(item);
      results[index] = result;
      await result.catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: limit }, work));
  return settleAll(results) as Promise<R[]>;
}

/** Runs `work` for the first caller and those meanwhile, and again only after a failure. */
export function untilItSucceeds<A extends unknown[], T>(
  work: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let result: Promise<T> | undefined;
  return (...args) => {
    result ??= work(...args).catch((error) => {
      result = undefined;
      throw error;
    });
    return result;
  };
}

/** Waits for a random time up to `maxMs`, so that competitors do not try again at once. */
export function sleepJittered(maxMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, randomInt(maxMs)));
}
