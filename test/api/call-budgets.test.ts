import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { mapConcurrently } from '../../lib/runtime/settle-all.ts';
import { routes } from '../../routes.ts';
import { BUDGETS } from '../support/call-budgets.ts';
import { CHANGES, type Change, CREATION_WITH_PASSWORD, openSetup, type Prepared } from '../support/changes.ts';
import { useGatehouse } from '../support/gatehouse.ts';
import { readsOf } from '../support/reads.ts';

/*
 * What a request costs in a warm function: the AWS calls, how many of them follow each other (sequential round trips,
 * which a user waits for), and the capacity units for items of up to 1 KB. A change that costs more, or less, shows the
 * row before and after.
 */

interface Call {
  readonly operation: string;
  readonly reads: number;
  readonly writes: number;
  readonly start: number;
  end: number;
}

/**
 * How long each response is held back, so that concurrent calls overlap even on a busy machine: longer than it takes to
 * compute a password hash, where KMS is called with one.
 */
const OVERLAP_MS = { usual: 15, hashing: 250 };
const HASHING: readonly string[] = [
  'POST /api/authenticate',
  'POST /api/account/change-password',
  'POST /api/account/reset-password/finish',
  'POST /api/users',
];

/** The calls of the routes that are being measured. */
const measured = new Map<string, Call[]>();
const gatehouse = await useGatehouse({
  async intercept({ functionName, operation, input }, forward) {
    if (!functionName) return forward();
    const call = { operation, ...unitsOf(operation, input), start: performance.now(), end: Number.POSITIVE_INFINITY };
    const calls = measured.get(functionName);
    calls?.push(call);
    const response = await forward();
    if (calls) await sleep(HASHING.includes(functionName) ? OVERLAP_MS.hashing : OVERLAP_MS.usual);
    call.end = performance.now();
    return response;
  },
});
const setup = await openSetup(gatehouse);

/** Capacity units by operation: a strongly consistent read costs 1, a write 1, and an action of a transaction 2. */
// biome-ignore lint/suspicious/noExplicitAny: inputs differ by operation
function unitsOf(operation: string, input: any): { reads: number; writes: number } {
  if (operation === 'GetItem' || operation === 'Query') return { reads: 1, writes: 0 };
  if (operation === 'BatchGetItem') {
    const [{ Keys }] = Object.values(input.RequestItems) as [{ Keys: unknown[] }];
    return { reads: Keys.length, writes: 0 };
  }
  if (operation === 'UpdateItem') return { reads: 0, writes: 1 };
  if (operation === 'TransactWriteItems') return { reads: 0, writes: 2 * input.TransactItems.length };
  return { reads: 0, writes: 0 };
}

/** The length of the longest chain of calls, each of which started after the previous one had ended. */
function roundTrips(calls: readonly Call[]): number {
  const depths: number[] = [];
  for (const [index, { start }] of calls.entries()) {
    const earlier = depths.filter((_, other) => other < index && (calls[other] as Call).end <= start);
    depths.push(1 + Math.max(0, ...earlier));
  }
  return Math.max(0, ...depths);
}

/** Sends a request to a function that is warm for it, and describes its calls. */
async function measure(change: Change, name: string = change.route): Promise<string> {
  let described = await measureOnce(change);
  // On a busy machine, concurrent calls may still not overlap.
  for (let tries = 1; tries < 3 && described !== BUDGETS[name]; tries++) described = await measureOnce(change);
  return described;
}

async function measureOnce(change: Change): Promise<string> {
  const first = await change.prepare(setup);
  await send(change, first);
  // A request that can be repeated finds the data key of its integration; the others need a new prerequisite.
  const second = change.changesAgain && !change.hidesOutcome ? first : await change.prepare(setup);
  const calls: Call[] = [];
  measured.set(change.route, calls);
  await send(change, second);
  measured.delete(change.route);
  const counts = Map.groupBy(calls, ({ operation }) => operation);
  const names = [...counts].map(([operation, { length }]) => (length > 1 ? `${length} ${operation}` : operation));
  const sum = (unit: 'reads' | 'writes') => calls.reduce((total, call) => total + call[unit], 0);
  return `${roundTrips(calls)} | ${sum('reads')} + ${sum('writes')} | ${names.sort().join(', ')}`;
}

async function send(change: Change, prepared: Prepared): Promise<void> {
  const { status } = await prepared.send();
  expect([change.route, status]).toEqual([change.route, change.success]);
}

/** A login without a rehash, which CHANGES counts. */
const LOGIN: Change = {
  route: 'POST /api/authenticate',
  success: 200,
  repeated: 200,
  async prepare() {
    const request = { method: 'POST', path: '/api/authenticate', body: { username: 'admin', password: 'admin' } };
    const { method, path, body } = request;
    return { item: '', request, send: () => gatehouse.call(method, path, { body }), countChanges: async () => 0 };
  },
};

it('every route makes exactly its calls', { timeout: 60_000 }, async () => {
  const parameter = await setup.openParameter();
  const login = CHANGES.findIndex(({ route }) => route === LOGIN.route);
  const changes = [...CHANGES.with(login, LOGIN), ...readsOf(parameter)];
  const costs = await mapConcurrently(changes, 6, async (change) => [change.route, await measure(change)]);
  const created = 'POST /api/users with a password';
  costs.push([created, await measure(CREATION_WITH_PASSWORD, created)]);

  expect(Object.fromEntries(costs)).toEqual(BUDGETS);
  expect(Object.keys(BUDGETS)).toEqual(expect.arrayContaining(routes.map(({ route }) => route)));
});
