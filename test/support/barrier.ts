import type { Interceptor } from '../../infra/local/calls/aws-call.ts';

/** Stands between load and commit: holds the functions' transactions until so many have arrived, each decided on what it read. */
export interface Barrier {
  /** Goes around the calls of a local cloud. */
  readonly intercept: Interceptor;
  /** The next so many transactions wait for one another. In turn, each is made when the one before it has been. */
  raise(count: number, inTurn: boolean): void;
  /** Nobody waits any more: a request that ended without a transaction would be waited for in vain. */
  lift(): void;
}

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
    raise(count, oneAfterTheOther) {
      missing = count;
      inTurn = oneAfterTheOther;
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
