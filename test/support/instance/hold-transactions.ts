import type { AwsCall, Interceptor } from '../../../infra/local/calls/aws-call.ts';

/** Holds transactions between load and commit until a number of them have arrived. */
export interface Barrier {
  /** The interceptor for the calls of a local cloud. */
  readonly intercept: Interceptor;
  /** Makes the next transactions wait for one another; `sequentially` commits them in turn. */
  raise(count: number, sequentially: boolean): void;
  /** Releases all. Call it when a request ends, which may have no transaction. */
  lift(): void;
}

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

type Act = () => Promise<unknown>;

/** What happens between the load and the commit of a change. */
export interface Meanwhile {
  /**
   * Makes a request, and does `act` when its transaction, which `concerns` selects, is about to
   * reach the table. On a slow machine, the function may give up until then and respond with 503:
   * the request is made again.
   */
  during<T extends { readonly status: number }>(
    request: () => Promise<T>,
    act: Act,
    concerns?: (call: AwsCall) => boolean,
  ): Promise<T>;
  /** For the interceptor of a local cloud. */
  before(call: AwsCall): Promise<void>;
}

/** Selects by `always` unless a request says otherwise. */
export function openMeanwhile(always: (call: AwsCall) => boolean = () => true): Meanwhile {
  let next: { act: Act; concerns: (call: AwsCall) => boolean } | undefined;
  let held: { token: unknown; done: Promise<unknown> } | undefined;
  return {
    async during(request, act, concerns = always) {
      next = { act, concerns };
      held = undefined;
      const response = await request();
      next = undefined;
      await (held as { done: Promise<unknown> } | undefined)?.done;
      return response.status === 503 ? request() : response;
    },
    async before(call) {
      const { ClientRequestToken: token } = call.input;
      if (next && call.operation === 'TransactWriteItems' && next.concerns(call)) {
        const { act } = next;
        next = undefined;
        held = { token, done: act() };
      }
      // A transaction that is sent again has the token of its first try.
      if (token !== undefined && held?.token === token) await held.done;
    },
  };
}
