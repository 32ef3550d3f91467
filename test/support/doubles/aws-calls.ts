/* How calls to AWS fail, and that they take time. */

/** An error as the SDK throws it, with these further fields. */
export function awsError(name: string, fields: object = {}): Error {
  return Object.assign(new Error(name), { name, ...fields });
}

/** The error of a transaction that DynamoDB cancels, with one reason code per write. */
export function cancelledBy(...codes: string[]): Error {
  return awsError('TransactionCanceledException', {
    CancellationReasons: codes.map((Code) => ({ Code })),
  });
}

/**
 * Takes several microtask turns, as a call to AWS takes time: work that is not awaited is
 * unfinished when the function responds, and Lambda then freezes it. A test of the results thus
 * detects a missing `await`.
 */
export async function waitMicrotasks(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await undefined;
}

interface OverlapCounter {
  readonly most: number;
  /** Runs one call, which takes several microtask turns longer than its work. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function overlapCounter(): OverlapCounter {
  let running = 0;
  let most = 0;
  return {
    get most() {
      return most;
    },
    async run(work) {
      running++;
      most = Math.max(most, running);
      try {
        await waitMicrotasks();
        return await work();
      } finally {
        running--;
      }
    },
  };
}
