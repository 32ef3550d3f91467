import type { AwsCall, AwsResponse } from '../../infra/local/calls/aws-call.ts';
import { type Item, itemBytes, readUnits } from '../../infra/local/capacity/item-size.ts';
import { openSetup, type PreparedRequest, type Setup } from '../support/instance/changes.ts';
import { fillUsers } from '../support/instance/fill-users.ts';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import type { Series } from './line-chart.ts';
import { median } from './statistics.ts';
import { digits, table } from './tables.ts';

/** The cost of one request. Read units are those of strongly consistent reads, of 4 KB each. */
interface Cost {
  readonly calls: number;
  readonly units: number;
  readonly ms: number;
}

interface Growth {
  readonly text: string;
  /** The milliseconds of each request by the number of users. */
  readonly series: readonly Series[];
}

/** Requests per measurement, after one that is not measured. */
const REPETITIONS = 9;

/** Measures requests as the number of users grows. */
export async function measureGrowth(assembly: string, sizes: readonly number[]): Promise<Growth> {
  const counter = { calls: 0, units: 0 };
  const gatehouse = await launch({
    assembly,
    breaksData: true,
    async intercept(call, forward) {
      const response = await forward();
      if (call.functionName !== undefined) {
        counter.calls++;
        counter.units += readUnitsOf(call, response);
      }
      return response;
    },
  });
  try {
    const requests = await prepare(gatehouse);
    const costs = new Map(Object.keys(requests).map((title) => [title, new Map<number, Cost>()]));
    for (const size of sizes) {
      process.stderr.write(`growth: ${size} users\n`);
      await fillUsers(gatehouse, size);
      // The functions and the local cloud are slow until their code has been compiled.
      if (size === sizes[0])
        for (const requestFor of Object.values(requests))
          await measure(gatehouse, counter, requestFor);
      for (const [title, requestFor] of Object.entries(requests)) {
        const cost = await measure(gatehouse, counter, requestFor);
        if (cost) costs.get(title)?.set(size, cost);
      }
    }
    return { text: tableOf(costs, sizes), series: seriesOf(costs) };
  } finally {
    await gatehouse.stop();
  }
}

type RequestFor = (repetition: number) => PreparedRequest | Promise<PreparedRequest>;

async function prepare(gatehouse: Gatehouse): Promise<Record<string, RequestFor>> {
  const setup = await openSetup(gatehouse);
  const { user: target } = await setup.account({ authorities: ['ROLE_USER'] });
  const callers = await callersOf(setup);
  const tokenOf = (repetition: number) => callers[repetition];
  const { id, login, email } = target;
  const fields = { id, login, email, authorities: ['ROLE_USER'] };
  const get = (path: string, repetition: number) => ({
    method: 'GET',
    path,
    token: tokenOf(repetition),
  });
  return {
    'GET by login': (repetition) => get(`/api/users/${login}`, repetition),
    login: () => ({
      method: 'POST',
      path: '/api/authenticate',
      body: { username: login, password: 'pass' },
    }),
    PUT: (repetition) => ({
      method: 'PUT',
      path: '/api/users',
      token: tokenOf(repetition),
      body: { ...fields, firstName: `Name ${repetition}` },
    }),
    'first page': (repetition) => get('/api/users', repetition),
    'page after a cursor': async (repetition) => {
      const { headers } = await gatehouse.call('GET', '/api/users', {
        token: tokenOf(repetition) ?? '',
      });
      return get(/<([^>]*)>; rel="next"/.exec(headers.link ?? '')?.[1] ?? '', repetition);
    },
    filter: (repetition) => get('/api/users?lastName.contains=frau-1', repetition),
  };
}

/**
 * A token for each repetition, because every caller has a budget for lists. They precede those of
 * the table.
 */
async function callersOf(setup: Setup): Promise<string[]> {
  const tokens: string[] = [];
  for (let n = 0; n <= REPETITIONS; n++) tokens.push((await setup.account()).token);
  return tokens;
}

/** The median cost of a request; undefined if it is rejected because the list is too long. */
async function measure(
  gatehouse: Gatehouse,
  counter: { calls: number; units: number },
  requestFor: RequestFor,
): Promise<Cost | undefined> {
  const costs: Cost[] = [];
  for (let repetition = 0; repetition <= REPETITIONS; repetition++) {
    const { method, path, token, body } = await requestFor(repetition);
    const before = { ...counter };
    const started = performance.now();
    const { status, text } = await gatehouse.call(method, path, { token, body });
    const ms = performance.now() - started;
    if (status === 400) return undefined;
    if (status !== 200) throw new Error(`${method} ${path} responded ${status}: ${text}`);
    if (repetition === 0) continue;
    costs.push({ calls: counter.calls - before.calls, units: counter.units - before.units, ms });
  }
  const medianOf = (value: (cost: Cost) => number) => median(costs.map(value));
  return {
    calls: medianOf(({ calls }) => calls),
    units: medianOf(({ units }) => units),
    ms: medianOf(({ ms }) => ms),
  };
}

/** The read units that a call of a function consumed. */
function readUnitsOf({ operation, input }: AwsCall, { status, body }: AwsResponse): number {
  if (status !== 200) return 0;
  const parsed = (typeof body === 'string' ? JSON.parse(body) : body) as Record<string, unknown>;
  const unitsOf = (item: unknown) => readUnits(itemBytes(item as Item | undefined), 'strong');
  switch (operation) {
    case 'GetItem':
      return unitsOf(parsed.Item);
    case 'BatchGetItem': {
      const requested = Object.values(input.RequestItems as Record<string, { Keys: unknown[] }>);
      const items = Object.values(parsed.Responses as Record<string, unknown[]>).flat();
      const missing = requested.flatMap(({ Keys }) => Keys).length - items.length;
      return missing + items.reduce<number>((total, item) => total + unitsOf(item), 0);
    }
    case 'Query':
      return (parsed.ConsumedCapacity as { CapacityUnits: number } | undefined)?.CapacityUnits ?? 0;
    default:
      return 0;
  }
}

type Costs = ReadonlyMap<string, ReadonlyMap<number, Cost>>;

function tableOf(costs: Costs, sizes: readonly number[]): string {
  const cell = (cost: Cost | undefined) =>
    cost
      ? `${cost.calls} calls, ${cost.units.toLocaleString('en')} units, ${digits(cost.ms)} ms`
      : 'rejected';
  return table(
    ['users', ...sizes.map((size) => size.toLocaleString('en'))],
    [...costs].map(([title, bySize]) => [title, ...sizes.map((size) => cell(bySize.get(size)))]),
  );
}

const seriesOf = (costs: Costs): Series[] =>
  [...costs].map(([name, bySize]) => ({
    name,
    points: [...bySize].map(([size, { ms }]) => [size, ms] as const),
  }));
