import type { PreparedRequest } from '../support/instance/example-requests.ts';
import { fillUsers } from '../support/instance/fill-users.ts';
import { type Gatehouse, launch } from '../support/instance/launch.ts';
import { openSetup, type Setup } from '../support/instance/setup.ts';
import { median } from './statistics.ts';
import { digits, table } from './tables.ts';

const REPETITIONS = 9;

export async function measureGrowth(assembly: string, sizes: readonly number[]): Promise<string> {
  const gatehouse = await launch({ assembly, breaksData: true });
  try {
    const rows = Object.entries(await prepare(gatehouse)).map(([name, requestFor]) => ({
      requestFor,
      cells: [name],
    }));
    for (const size of sizes) {
      process.stderr.write(`growth: ${size} users\n`);
      await fillUsers(gatehouse, size);
      // The functions and the local cloud are slow until their code has been compiled.
      if (size === sizes[0])
        for (const { requestFor } of rows) await measure(gatehouse, requestFor);
      for (const { requestFor, cells } of rows)
        cells.push(digits(await measure(gatehouse, requestFor)));
    }
    const head = ['ms by the number of users', ...sizes.map((size) => size.toLocaleString('en'))];
    return table(
      head,
      rows.map(({ cells }) => cells),
    );
  } finally {
    await gatehouse.stop();
  }
}

type RequestFor = (repetition: number) => PreparedRequest | Promise<PreparedRequest>;

async function prepare(gatehouse: Gatehouse): Promise<Record<string, RequestFor>> {
  const setup = await openSetup(gatehouse);
  const { user: target } = await setup.account({ authorities: ['ROLE_USER'] });
  const callers = await callersOf(setup);
  const { id, login, email } = target;
  const fields = { id, login, email, authorities: ['ROLE_USER'] };
  const get =
    (path: string): RequestFor =>
    (repetition) => ({
      method: 'GET',
      path,
      token: callers[repetition],
    });
  return {
    'GET by login': get(`/api/users/${login}`),
    login: () => ({
      method: 'POST',
      path: '/api/authenticate',
      body: { username: login, password: 'pass' },
    }),
    PUT: (repetition) => ({
      method: 'PUT',
      path: '/api/users',
      token: callers[repetition],
      body: { ...fields, firstName: `Name ${repetition}` },
    }),
    'first page': get('/api/users'),
    'page after a cursor': async (repetition) => {
      const { headers } = await gatehouse.call('GET', '/api/users', {
        token: callers[repetition] ?? '',
      });
      return get(/<([^>]*)>; rel="next"/.exec(headers.link ?? '')?.[1] ?? '')(repetition);
    },
    filter: get('/api/users?lastName.contains=frau-1'),
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

/** The median duration of a request; NaN if it is rejected because the list is too long. */
async function measure(gatehouse: Gatehouse, requestFor: RequestFor): Promise<number> {
  const durationsMs: number[] = [];
  for (let repetition = 0; repetition <= REPETITIONS; repetition++) {
    const { method, path, token, body } = await requestFor(repetition);
    const started = performance.now();
    const { status, text } = await gatehouse.call(method, path, { token, body });
    durationsMs.push(performance.now() - started);
    if (status === 400) return Number.NaN;
    if (status !== 200) throw new Error(`${method} ${path} responded ${status}: ${text}`);
  }
  return median(durationsMs.slice(1));
}
