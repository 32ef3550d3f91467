import type { PreparedRequest } from '../support/instance/example-requests.ts';
import { fillUsers } from '../support/instance/fill-users.ts';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import type { Series } from './line-chart.ts';
import { median } from './statistics.ts';

/** Requests per measurement, after one that is not measured. */
const REPETITIONS = 9;

/** Measures requests as the number of users grows: their milliseconds by the number of users. */
export async function measureGrowth(
  assembly: string,
  sizes: readonly number[],
): Promise<readonly Series[]> {
  const gatehouse = await launch({ assembly, breaksData: true });
  try {
    const requests = Object.entries(await prepare(gatehouse));
    const series = requests.map(([name, requestFor]) => ({
      name,
      requestFor,
      points: [] as [size: number, ms: number][],
    }));
    for (const size of sizes) {
      process.stderr.write(`growth: ${size} users\n`);
      await fillUsers(gatehouse, size);
      // The functions and the local cloud are slow until their code has been compiled.
      if (size === sizes[0])
        for (const { requestFor } of series) await measure(gatehouse, requestFor);
      for (const { requestFor, points } of series) {
        const ms = await measure(gatehouse, requestFor);
        if (ms !== undefined) points.push([size, ms]);
      }
    }
    return series.map(({ name, points }) => ({ name, points }));
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

/** The median duration of a request; undefined if it is rejected because the list is too long. */
async function measure(gatehouse: Gatehouse, requestFor: RequestFor): Promise<number | undefined> {
  const durationsMs: number[] = [];
  for (let repetition = 0; repetition <= REPETITIONS; repetition++) {
    const { method, path, token, body } = await requestFor(repetition);
    const started = performance.now();
    const { status, text } = await gatehouse.call(method, path, { token, body });
    durationsMs.push(performance.now() - started);
    if (status === 400) return undefined;
    if (status !== 200) throw new Error(`${method} ${path} responded ${status}: ${text}`);
  }
  return median(durationsMs.slice(1));
}
