import type { Problem } from './api/request.ts';

/* One action for many entities: a few at a time, with a result for each. */

/** What an action says, as the response of a request does. */
export type Outcome = { readonly ok: true } | { readonly ok: false; readonly problem: Problem };

export type Result = 'running' | 'done' | 'stopped' | Problem;

interface Run<T> {
  readonly items: readonly T[];
  readonly act: (item: T) => Promise<Outcome>;
  readonly onResult: (item: T, result: Result) => void;
  readonly signal?: AbortSignal;
  readonly wait: (seconds: number) => Promise<void>;
}

const AT_A_TIME = 4;

/**
 * As long as an edge asks to wait. A longer wait, such as for a limit of mails an hour, is left to
 * whoever sees the result.
 */
const WAIT_SECONDS_MAX = 300;

/**
 * Acts on every item. What is rejected because of a limit is tried again when the service says so,
 * unless that is later than in five minutes; after a stop, what is under way ends and the rest is
 * left.
 */
export async function runAll<T>({ items, act, onResult, signal, wait }: Run<T>): Promise<void> {
  const left = items.values();
  const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
  const work = async () => {
    for (const item of left) {
      if (signal?.aborted) onResult(item, 'stopped');
      else onResult(item, await resultOf(item));
    }
  };
  const resultOf = async (item: T): Promise<Result> => {
    onResult(item, 'running');
    for (;;) {
      const answer = await act(item);
      if (answer.ok) return 'done';
      const { status, retryAfterSeconds = 1 } = answer.problem;
      if (status !== 429 || retryAfterSeconds > WAIT_SECONDS_MAX) return answer.problem;
      await Promise.race([wait(retryAfterSeconds), aborted]);
      if (signal?.aborted) return 'stopped';
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
}
