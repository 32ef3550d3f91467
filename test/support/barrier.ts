import type { Interceptor } from '../../infra/local/calls/aws-call.ts';

/** Holds the transactions of functions between load and commit until a given number of them have arrived. */
export interface Barrier {
  /** The interceptor for the calls of a local cloud. */
  readonly intercept: Interceptor;
  /** Makes the next `count` transactions wait for one another; in turn, each starts when the previous one has ended. */
  raise(count: number, inTurn: boolean): void;
  /** Releases all waiting transactions: a request that ends without one would never arrive. */
  lift(): void;
}

/** Opens a barrier that is not raised. */
export function barrier(): Barrier {
  let missing = 0;
  let inTurn = false;
  let waiting: (() => void)[] = [];
  let turn: Promise<unknown> = Promise.resolve();

  const lift = () => {
    missing = 0;
    for (const release of waiting.splice(0)) release();
  };
  return {
    raise(count, sequential) {
      missing = count;
      inTurn = sequential;
      waiting = [];
      turn = Promise.resolve();
    },
    lift,
    async intercept({ operation, functionName }, forward) {
      if (operation !== 'TransactWriteItems' || functionName === undefined || missing === 0) return forward();
      missing--;
      if (missing === 0) setImmediate(lift);
      await new Promise<void>((release) => waiting.push(release));
      if (!inTurn) return forward();
      const response = turn.then(forward);
      turn = response.catch(() => undefined);
      return response;
    },
  };
}
