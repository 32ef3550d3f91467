import { setTimeout as sleep } from 'node:timers/promises';
import type { Interceptor } from '../../../infra/local/calls/aws-call.ts';
import {
  CHANGES,
  type Change,
  CREATION_WITH_PASSWORD,
  type Prepared,
  type Setup,
} from '../instance/changes.ts';
import { readsOf } from '../instance/reads.ts';
import { roundsOf } from './rounds.ts';

interface Call {
  readonly operation: string;
  readonly reads: number;
  readonly writes: number;
  readonly startedAt: number;
  endedAt: number;
}

/** What a request cost; capacity units are for items of up to 1 KB. */
interface RequestCalls {
  /** How many of the calls follow each other, which a user waits for. */
  readonly roundTrips: number;
  readonly reads: number;
  readonly writes: number;
  /** The operations with their numbers above 1, sorted as text: `2 GetItem, Query`. */
  readonly calls: string;
}

/** Observes the calls to AWS of the functions of an instance, whose interceptor it is. */
interface CallObserver {
  readonly intercept: Interceptor;
  /**
   * Sends a request to a function that is warm for it. Fails if the request does not succeed.
   * Responses are held back `factor` times as long as usual, for the case that concurrent calls did
   * not overlap.
   */
  callsOf(setup: Setup, change: Change, factor?: number): Promise<RequestCalls>;
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
    async callsOf(setup, change, factor = 1) {
      const first = await change.prepare(setup);
      await send(change, first);
      // A request that can be repeated finds the data key of its integration; the others need a new
      // prerequisite.
      const second =
        change.changesAgain && !change.hidesOutcome ? first : await change.prepare(setup);
      const calls: Call[] = [];
      const usual = HASHING.includes(change.route) ? OVERLAP_MS.hashing : OVERLAP_MS.usual;
      observed.set(change.route, { calls, overlapMs: usual * factor });
      await send(change, second);
      observed.delete(change.route);
      const counts = Map.groupBy(calls, ({ operation }) => operation);
      const names = [...counts].map(([operation, { length }]) =>
        length > 1 ? `${length} ${operation}` : operation,
      );
      const sum = (unit: 'reads' | 'writes') =>
        calls.reduce((total, call) => total + call[unit], 0);
      return {
        roundTrips: roundsOf(calls).length,
        reads: sum('reads'),
        writes: sum('writes'),
        calls: names.sort().join(', '),
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

async function send(change: Change, prepared: Prepared): Promise<void> {
  const { status, text } = await prepared.send();
  if (status !== change.success)
    throw new Error(`${change.route} responds with ${status}: ${text}`);
}

/** A login without a rehash, which CHANGES counts. */
const LOGIN: Change = {
  route: 'POST /api/authenticate',
  success: 200,
  repeated: 200,
  async prepare({ gatehouse }) {
    const request = {
      method: 'POST',
      path: '/api/authenticate',
      body: { username: 'admin', password: 'admin' },
    };
    const { method, path, body } = request;
    return {
      item: '',
      request,
      send: () => gatehouse.call(method, path, { body }),
      countChanges: async () => 0,
    };
  },
};

/** The second request to the route of creations, by its name in the budgets. */
export const WITH_PASSWORD = 'POST /api/users with a password';

/** One request to each route, by the route; and the creation of a user with a password. */
export async function everyRequest(setup: Setup): Promise<ReadonlyMap<string, Change>> {
  const changes = CHANGES.map((change) => (change.route === LOGIN.route ? LOGIN : change));
  const all = [...changes, ...readsOf(await setup.openParameter())];
  return new Map([
    ...all.map((change): [string, Change] => [change.route, change]),
    [WITH_PASSWORD, CREATION_WITH_PASSWORD],
  ]);
}
