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
    for (const go of waiting.splice(0)) go();
  };
  return {
    raise(count, sequential) {
      missing = count;
      inTurn = sequential;
      waiting = [];
      turn = Promise.resolve();
    },
    lift,
    async intercept({ operation, functionName }, make) {
      if (operation !== 'TransactWriteItems' || functionName === undefined || missing === 0) return make();
      missing--;
      if (missing === 0) setImmediate(lift);
      await new Promise<void>((go) => waiting.push(go));
      if (!inTurn) return make();
      const made = turn.then(make);
      turn = made.catch(() => undefined);
      return made;
    },
  };
}
