import { type CloudProcess, load } from './loads.ts';
import { percentile } from './statistics.ts';
import { digits, table } from './tables.ts';

const CONNECTIONS = 16;
const WARM_UP_MS = 1000;

/** Measures changes that conflict on one item against changes that do not. */
export async function measureHotKeys(cloud: CloudProcess, durationMs: number): Promise<string> {
  const kinds = {
    'PUT /api/users, on one user': cloud.putOneUser,
    'PUT /api/users, on many users': cloud.putUsers,
    'POST /api/authenticate, from one source': cloud.logIn,
  };
  const rows: string[][] = [];
  for (const [title, requests] of Object.entries(kinds)) {
    process.stderr.write(`hot: ${title}\n`);
    await load(cloud, requests, { connections: CONNECTIONS, durationMs: WARM_UP_MS });
    const before = await cloud.transactions();
    const {
      successes,
      statuses,
      responses,
      durationMs: actualMs,
      latenciesMs,
    } = await load(cloud, requests, {
      connections: CONNECTIONS,
      durationMs,
    });
    const transactions = (await cloud.transactions()) - before;
    const unavailable = statuses[503] ?? 0;
    rows.push([
      title,
      digits((1000 * successes) / actualMs),
      digits(transactions / successes),
      digits(percentile(latenciesMs, 0.5)),
      digits(percentile(latenciesMs, 0.99)),
      String(unavailable),
      String(responses - successes - unavailable),
    ]);
  }
  return table(
    [
      '',
      'successes per second',
      'transactions per success',
      'p50 ms',
      'p99 ms',
      '503',
      'other failures',
    ],
    rows,
  );
}
