import { type CloudProcess, load } from './loads.ts';
import { percentile } from './statistics.ts';
import { digits, table } from './tables.ts';

const CONNECTIONS = [1, 64];

/**
 * Measures the local cloud under load, from the gateway to the engine. Durations are in
 * milliseconds.
 */
export async function measureGateway(
  cloud: CloudProcess,
  { warmUpMs, durationMs }: { warmUpMs: number; durationMs: number },
): Promise<string> {
  const kinds = { 'GET /api/users/{login}': cloud.getUser, 'PUT /api/users': cloud.putUsers };
  const rows: string[][] = [];
  for (const [route, requests] of Object.entries(kinds)) {
    await load(cloud, requests, { connections: 64, durationMs: warmUpMs });
    for (const connections of CONNECTIONS) {
      process.stderr.write(`gateway: ${route} with ${connections} connections\n`);
      const loaded = await load(cloud, requests, { connections, durationMs });
      const { cpuMs, responses, successes, latenciesMs, rssBytes } = loaded;
      rows.push([
        route,
        String(connections),
        digits(cpuMs / responses),
        digits((1000 * responses) / loaded.durationMs),
        digits(percentile(latenciesMs, 0.5)),
        digits(percentile(latenciesMs, 0.99)),
        digits(rssBytes / 2 ** 20),
        String(responses - successes),
      ]);
    }
  }
  return table(
    [
      '',
      'connections',
      'CPU ms per request',
      'requests per second',
      'p50 ms',
      'p99 ms',
      'RSS MiB',
      'failures',
    ],
    rows,
  );
}
