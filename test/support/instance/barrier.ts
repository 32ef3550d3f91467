import type { Interceptor } from '../../../infra/local/calls/aws-call.ts';

/**
 * Holds the transactions of functions between load and commit until a given number of them have
 * arrived.
 */
export interface Barrier {
  /** The interceptor for the calls of a local cloud. */
  readonly intercept: Interceptor;
  /**
   * Makes the next `count` transactions wait for one another. With `sequentially`, each starts when
   * the previous one has ended.
   */
  raise(count: number, sequentially: boolean): void;
  /**
   * Releases all waiting transactions. Call it when a request ends: a request without a transaction
   * never reaches the barrier.
   */
  lift(): void;
}

/** Opens a barrier that is not raised. */
export function openBarrier(): Barrier {
  let missing = 0;
  let waiting: (() => void)[] = [];
  /** The end of the previous transaction; undefined unless they run sequentially. */
  let previous: Promise<unknown> | undefined;

  const lift = () => {
    missing = 0;
    for (const release of waiting.splice(0)) release();
  };
  return {
    raise(count, sequentially) {
      missing = count;
      waiting = [];
      previous = sequentially ? Promise.resolve() : undefined;
    },
    lift,
    async intercept({ operation, functionName }, forward) {
      if (operation !== 'TransactWriteItems' || functionName === undefined || missing === 0)
        return forward();
      missing--;
      if (missing === 0) setImmediate(lift);
      await new Promise<void>((release) => waiting.push(release));
      if (!previous) return forward();
      const response = previous.then(forward);
      previous = response.catch(() => undefined);
      return response;
    },
  };
}
