import { setTimeout as sleep } from 'node:timers/promises';
import type { Interceptor } from '../../../infra/local/calls/aws-call.ts';
import { routes } from '../../../routes.ts';
import type { ExampleRequest, Prepared } from '../instance/example-requests.ts';
import type { Setup } from '../instance/setup.ts';
import type { Budget } from './call-budgets.ts';

interface Call {
  readonly operation: string;
  readonly reads: number;
  readonly writes: number;
  readonly startedAt: number;
  endedAt: number;
}

/** Observes the calls to AWS of the functions of an instance, whose interceptor it is. */
interface CallObserver {
  readonly intercept: Interceptor;
  /**
   * Sends a request to a function that is warm for it. Fails if the request does not succeed.
   * Responses are held back `factor` times as long as usual, for the case that concurrent calls did
   * not overlap.
   */
  callsOf(setup: Setup, request: ExampleRequest, factor?: number): Promise<Budget>;
}

/**
 * How long each response is held back, so that concurrent calls overlap even on a busy machine:
 * longer than it takes to compute a password hash, where KMS is called with one.
 */
const OVERLAP_MS = { usual: 15, hashing: 250 };
const HASHING: readonly string[] = [
  'POST /api/authenticate',
  'POST /api/account/change-password',
  'POST /api/account/reset-password/finish',
  'POST /api/users',
];

/** Opens an observer for one instance. */
export function openCallObserver(): CallObserver {
  /** The calls of the routes that are being observed. */
  const observed = new Map<string, { readonly calls: Call[]; readonly overlapMs: number }>();
  return {
    async intercept({ functionName, operation, input }, forward) {
      if (!functionName) return forward();
      const times = { startedAt: performance.now(), endedAt: Number.POSITIVE_INFINITY };
      const call = { operation, ...unitsOf(operation, input), ...times };
      const observation = observed.get(functionName);
      observation?.calls.push(call);
      const response = await forward();
      if (observation) await sleep(observation.overlapMs);
      call.endedAt = performance.now();
      return response;
    },
    async callsOf(setup, request, factor = 1) {
      const first = await request.prepare(setup);
      await send(request, first);
      // A function that is warm has the data key of the integration, and users log in again from
      // where they have logged in before. A module exchanges its credential when its token has
      // expired, which is then no longer given out again: as one that is unknown.
      const { permissions } = routes.find(({ route }) => route === request.route) ?? {};
      const isKnown =
        permissions?.keys?.includes('seal') || request.route === 'POST /api/authenticate';
      const second = isKnown ? first : await request.prepare(setup);
      const calls: Call[] = [];
      const usual = HASHING.includes(request.route) ? OVERLAP_MS.hashing : OVERLAP_MS.usual;
      observed.set(request.route, { calls, overlapMs: usual * factor });
      await send(request, second);
      observed.delete(request.route);
      const byOperation = Map.groupBy(calls, ({ operation }) => operation);
      const counts = [...byOperation].map(([operation, { length }]) => [operation, length]);
      const sum = (unit: 'reads' | 'writes') =>
        calls.reduce((total, call) => total + call[unit], 0);
      return {
        roundTrips: roundsOf(calls).length,
        reads: sum('reads'),
        writes: sum('writes'),
        calls: Object.fromEntries(counts),
      };
    },
  };
}

/**
 * Capacity units by operation: a strongly consistent read costs 1, a write 1, and an action of a
 * transaction 2.
 */
// biome-ignore lint/suspicious/noExplicitAny: inputs differ by operation
function unitsOf(operation: string, input: any): { reads: number; writes: number } {
  if (operation === 'GetItem' || operation === 'Query') return { reads: 1, writes: 0 };
  if (operation === 'BatchGetItem') {
    const [{ Keys }] = Object.values(input.RequestItems) as [{ Keys: unknown[] }];
    return { reads: Keys.length, writes: 0 };
  }
  if (operation === 'TransactGetItems') return { reads: 2 * input.TransactItems.length, writes: 0 };
  if (operation === 'UpdateItem') return { reads: 0, writes: 1 };
  if (operation === 'TransactWriteItems')
    return { reads: 0, writes: 2 * input.TransactItems.length };
  return { reads: 0, writes: 0 };
}

async function send({ route, success }: ExampleRequest, prepared: Prepared): Promise<void> {
  const { status, text } = await prepared.send();
  if (status !== success) throw new Error(`${route} responds with ${status}: ${text}`);
}

interface TimedCall {
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * Groups calls into rounds: a call is in a later round than every call that had ended when it
 * started. There are as many rounds as sequential round trips.
 */
function roundsOf<Call extends TimedCall>(calls: readonly Call[]): Call[][] {
  const rounds: Call[][] = [];
  const roundOf = new Map<Call, number>();
  for (const call of calls.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const earlier = [...roundOf].filter(([{ endedAt }]) => endedAt < call.startedAt);
    const round = Math.max(-1, ...earlier.map(([, number]) => number)) + 1;
    roundOf.set(call, round);
    rounds[round] = [...(rounds[round] ?? []), call];
  }
  return rounds;
}
