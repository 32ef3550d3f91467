import type { PreparedRequest } from '../support/instance/example-requests.ts';
import { type CloudProcess, load, startCloudProcess } from './loads.ts';
import { percentile } from './statistics.ts';
import { digits, table } from './tables.ts';

export async function measureLoads(assembly: string, options: Durations): Promise<string> {
  const cloud = await startCloudProcess(assembly);
  return measure(cloud, options).finally(cloud.stop);
}

interface Durations {
  readonly warmUpMs: number;
  readonly durationMs: number;
}

async function measure(cloud: CloudProcess, { warmUpMs, durationMs }: Durations): Promise<string> {
  const kinds: [title: string, requests: readonly PreparedRequest[], connections: number[]][] = [
    ['GET /api/users/{login}', cloud.getUser, [1, 64]],
    ['PUT /api/users, on many users', cloud.putUsers, [1, 64]],
    ['PUT /api/users, on one user', cloud.putOneUser, [16]],
    ['POST /api/authenticate, from one source', cloud.logIn, [16]],
  ];
  const rows: string[][] = [];
  for (const [title, requests, allConnections] of kinds) {
    await load(cloud, requests, { connections: 64, durationMs: warmUpMs });
    for (const connections of allConnections) {
      process.stderr.write(`load: ${title} with ${connections} connections\n`);
      const before = await cloud.transactions();
      const loaded = await load(cloud, requests, { connections, durationMs });
      const transactions = (await cloud.transactions()) - before;
      const { responses, successes, latenciesMs } = loaded;
      rows.push([
        title,
        String(connections),
        digits((1000 * successes) / loaded.durationMs),
        digits(loaded.cpuMs / responses),
        digits(percentile(latenciesMs, 0.5)),
        digits(percentile(latenciesMs, 0.99)),
        digits(transactions / successes),
        digits(loaded.rssBytes / 2 ** 20),
        String(responses - successes),
      ]);
    }
  }
  const costs = ['CPU ms per request', 'p50 ms', 'p99 ms', 'transactions per success', 'RSS MiB'];
  return table(['', 'connections', 'successes per second', ...costs, 'failures'], rows);
}
