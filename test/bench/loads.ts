import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { PreparedRequest } from '../support/instance/example-requests.ts';
import { CHILD_TIMEOUT_MS, endWithThis, nextMessage } from './children.ts';
import type { Load, Outcome } from './load.ts';
import type { LoadedCloud } from './local-cloud.ts';
import { type Usage, usageOfTree } from './process-tree.ts';

export interface CloudProcess extends LoadedCloud {
  readonly pid: number;
  /** The number of transactions that were sent to the table so far, including rejected ones. */
  transactions(): Promise<number>;
  stop(): Promise<void>;
}

export async function startCloudProcess(assembly: string): Promise<CloudProcess> {
  // As `npm start` does.
  const child = fork(join(import.meta.dirname, 'local-cloud.ts'), [assembly], {
    execArgv: ['--max-semi-space-size=2', '--heap-growing-percent=30'],
    env: { ...process.env, MALLOC_ARENA_MAX: '2' },
  });
  const cloud = (await nextMessage(child)) as LoadedCloud;
  return {
    ...cloud,
    pid: child.pid as number,
    async transactions() {
      child.send('transactions');
      return (await nextMessage(child)) as number;
    },
    async stop() {
      if (!child.connected) return;
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

interface Loaded extends Outcome {
  readonly responses: number;
  readonly successes: number;
  readonly cpuMs: number;
  /** The largest memory during the load. */
  readonly rssBytes: number;
}

const SAMPLE_EVERY_MS = 250;

export async function load(
  { pid, url }: CloudProcess,
  requests: readonly PreparedRequest[],
  options: Pick<Load, 'connections' | 'durationMs'>,
): Promise<Loaded> {
  const before = usageOfTree(pid);
  const samples: Usage[] = [before];
  const timer = setInterval(() => samples.push(usageOfTree(pid)), SAMPLE_EVERY_MS);
  try {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'load.ts')], {
      stdio: ['pipe', 'pipe', 'inherit'],
      timeout: options.durationMs + CHILD_TIMEOUT_MS,
    });
    endWithThis(child);
    child.stdin.end(JSON.stringify({ url, requests, ...options } satisfies Load));
    const output = await text(child.stdout);
    if (output === '') throw new Error('The load could not be sent');
    const outcome: Outcome = JSON.parse(output);
    const after = usageOfTree(pid);
    const counts = Object.entries(outcome.statuses);
    const sum = (some: typeof counts) => some.reduce((total, [, count]) => total + count, 0);
    return {
      ...outcome,
      responses: sum(counts),
      successes: sum(counts.filter(([status]) => status.startsWith('2'))),
      cpuMs: after.cpuMs - before.cpuMs,
      rssBytes: Math.max(...[...samples, after].map(({ rssBytes }) => rssBytes)),
    };
  } finally {
    clearInterval(timer);
  }
}
