import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { PreparedRequest } from '../support/instance/example-requests.ts';

/*
 * A process that sends requests over some connections, each waiting for its response before its
 * next request. Reads a load from standard input and writes its outcome to standard output.
 */

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly durationMs: number;
  /** Each connection sends every n-th of these, n being the number of connections. */
  readonly requests: readonly PreparedRequest[];
}

export interface Outcome {
  readonly statuses: Readonly<Record<number, number>>;
  readonly durationMs: number;
  /** The latencies of all responses, ascending. */
  readonly latenciesMs: readonly number[];
}

const { url, connections, durationMs, requests }: Load = JSON.parse(await text(process.stdin));
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const statuses: Record<number, number> = {};
const latenciesMs: number[] = [];

function send({ method, path, token, body }: PreparedRequest): Promise<number> {
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    ...(bytes !== undefined && {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(bytes),
    }),
  };
  return new Promise((resolve, reject) => {
    request(url + path, { agent, method, headers }, (response) => {
      response.on('end', () => resolve(response.statusCode ?? 0)).on('error', reject);
      response.resume();
    })
      .on('error', reject)
      .end(bytes);
  });
}

const started = performance.now();
const connection = async (_: unknown, first: number) => {
  for (let index = first; performance.now() - started < durationMs; index += connections) {
    const sent = performance.now();
    const status = await send(requests[index % requests.length] as PreparedRequest);
    latenciesMs.push(performance.now() - sent);
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
};
await Promise.all(Array.from({ length: connections }, connection));
const outcome: Outcome = {
  statuses,
  durationMs: performance.now() - started,
  latenciesMs: latenciesMs.sort((a, b) => a - b),
};
agent.destroy();
process.stdout.write(JSON.stringify(outcome));
