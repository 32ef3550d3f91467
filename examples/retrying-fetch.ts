import { setTimeout as wait } from 'node:timers/promises';

/**
 * A fetch that repeats a request that is rejected with 429, after the seconds in `Retry-After` or,
 * without it, after longer and longer waits. It also repeats a GET after 503, but no change,
 * because the change may have been made. Responds with the last rejection after `attemptsMax`, or
 * if it would have to wait for more than `waitMaxMs`.
 */
export function retryingFetch({
  attemptsMax = 5,
  waitMaxMs = 60_000,
  firstWaitMs = 1_000,
} = {}): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(request.clone());
      const waitMs = retryAfterMs(response) ?? backoffMs(firstWaitMs, attempt);
      if (!isRepeatable(request, response) || attempt >= attemptsMax || waitMs > waitMaxMs)
        return response;
      await response.body?.cancel();
      await wait(waitMs, undefined, { signal: request.signal });
    }
  };
}

const isRepeatable = ({ method }: Request, { status }: Response): boolean =>
  status === 429 || (status === 503 && method === 'GET');

function retryAfterMs({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('Retry-After'));
  return seconds > 0 ? seconds * 1_000 : undefined;
}

/** Doubles with each attempt; random, so that rejected clients do not return together. */
const backoffMs = (firstWaitMs: number, attempt: number): number =>
  firstWaitMs * 2 ** (attempt - 1) * (1 + Math.random());
