import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { actionsOf } from '../../infra/local/calls/actions.ts';
import type { AwsCall } from '../../infra/local/calls/aws-call.ts';
import { auditPartition } from '../../lib/audit/audit-entry.ts';
import { mapConcurrently } from '../../lib/runtime/waiting.ts';
import { routes } from '../../routes.ts';
import { type Budget, budgetDocument, isDocumented } from '../support/costs/call-budgets.ts';
import {
  CREATION_WITH_PASSWORD,
  type ExampleRequest,
  LOG_IN_WITH_ID_TOKEN,
  type Prepared,
  REQUESTS,
} from '../support/instance/example-requests.ts';
import { useGatehouse } from '../support/instance/gatehouse.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';

/* What a request costs in a warm function. docs/calls.md shows what has changed. */

interface Call {
  readonly operation: string;
  readonly reads: number;
  readonly writes: number;
  readonly startedAt: number;
  endedAt: number;
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

/** The calls of the routes that are being observed. */
const observed = new Map<string, { readonly calls: Call[]; readonly overlapMs: number }>();

const gatehouse = await useGatehouse({
  async intercept(call, forward) {
    const { functionName, operation, input } = call;
    if (!functionName || isOfEarlierMonth(call)) return forward();
    const times = { startedAt: performance.now(), endedAt: Number.POSITIVE_INFINITY };
    const made = { operation, ...unitsOf(operation, input), ...times };
    const observation = observed.get(functionName);
    observation?.calls.push(made);
    const response = await forward();
    if (observation) await sleep(observation.overlapMs);
    made.endedAt = performance.now();
    return response;
  },
});

/** Whether a call reads what the trail has of an earlier month, as only the days after it do. */
function isOfEarlierMonth(call: AwsCall): boolean {
  const present = auditPartition(new Date().toISOString().slice(0, 7));
  return actionsOf(call).some(({ pk }) => /^AUDIT#\d/.test(pk) && pk < present);
}

/**
 * Sends a request to a function that is warm for it. Responses are held back `factor` times as long
 * as usual, for the case that concurrent calls did not overlap.
 */
async function budgetOf(setup: Setup, request: ExampleRequest, factor: number): Promise<Budget> {
  const { route } = request;
  const first = await request.prepare(setup);
  await send(request, first);
  // A function that is warm has the data key of the integration, and users log in again from where
  // they have logged in before. A module exchanges its credential when its token has expired, which
  // is then no longer given out again: as one that is unknown.
  const { permissions } = routes.find((each) => each.route === route) ?? {};
  const isKnown = permissions?.keys?.includes('seal') || route === 'POST /api/authenticate';
  const second = isKnown ? first : await request.prepare(setup);
  const calls: Call[] = [];
  const usual = HASHING.includes(route) ? OVERLAP_MS.hashing : OVERLAP_MS.usual;
  observed.set(route, { calls, overlapMs: usual * factor });
  await send(request, second);
  observed.delete(route);
  const byOperation = Map.groupBy(calls, ({ operation }) => operation);
  const counts = [...byOperation].map(([operation, { length }]) => [operation, length]);
  const sum = (unit: 'reads' | 'writes') => calls.reduce((total, call) => total + call[unit], 0);
  return {
    roundTrips: roundTripsOf(calls),
    reads: sum('reads'),
    writes: sum('writes'),
    calls: Object.fromEntries(counts),
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

/** A round trip begins after every call of an earlier one has ended. */
function roundTripsOf(calls: readonly Call[]): number {
  const roundOf = new Map<Call, number>();
  for (const call of calls.toSorted((a, b) => a.startedAt - b.startedAt)) {
    const earlier = [...roundOf].filter(([{ endedAt }]) => endedAt < call.startedAt);
    roundOf.set(call, Math.max(0, ...earlier.map(([, round]) => round)) + 1);
  }
  return Math.max(0, ...roundOf.values());
}

it('every request makes exactly the calls in docs/calls.md; -u updates it', async () => {
  const setup = await openSetup(gatehouse);
  const measure = async (request: ExampleRequest, name: string = request.route) => {
    const trials: Budget[] = [];
    // On a busy machine, concurrent calls may not overlap, and the other requests can conflict.
    for (const factor of [1, 2, 4]) {
      const budget = await budgetOf(setup, request, factor);
      if (isDocumented(name, budget)) return [name, budget] as const;
      trials.push(budget);
    }
    const cheapest = trials.toSorted(
      (a, b) => a.writes + a.reads - b.writes - b.reads || a.roundTrips - b.roundTrips,
    );
    return [name, cheapest[0] as Budget] as const;
  };
  // The other requests create integrations, and a list of more than 20 is charged.
  const listed = REQUESTS.find(({ route }) => route === 'GET /api/modules') as ExampleRequest;
  const listedBudget = await measure(listed);
  // The calls of concurrent requests are told apart by their routes.
  const measured = await mapConcurrently(REQUESTS, 6, async (request) =>
    request === listed ? listedBudget : measure(request),
  );
  measured.push(
    await measure(CREATION_WITH_PASSWORD, `${CREATION_WITH_PASSWORD.route} with a password`),
    await measure(LOG_IN_WITH_ID_TOKEN, `${LOG_IN_WITH_ID_TOKEN.route} with an ID token`),
  );

  const budgets = new Map<string, Budget>(measured);
  await expect(budgetDocument(budgets)).toMatchFileSnapshot('../../docs/calls.md');
});
