import { enableCompileCache, flushCompileCache } from 'node:module';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

/* The runtime inside a worker: it loads a function's bundle, as Lambda does in a cold start, and then serves one event at a time. */

export interface WorkerData {
  readonly file: string;
  readonly name: string;
  readonly memory: string;
}

/** What the worker is told, and what it says. */
export interface Invocation {
  readonly event: unknown;
  readonly requestId: string;
  readonly timeout: number;
}
export type Report = { readonly ready: true } | { readonly result: unknown } | { readonly error: string };

const { file, name, memory } = workerData as WorkerData;
const port = parentPort as NonNullable<typeof parentPort>;
const say = (report: Report): void => port.postMessage(report);

// Every instance compiles the same bundle; and an instance is ended, and never gets to write its cache at the end.
enableCompileCache();
const { handler } = await import(pathToFileURL(file).href);
flushCompileCache();

port.on('message', async ({ event, requestId, timeout }: Invocation) => {
  const deadline = Date.now() + timeout;
  const context = {
    functionName: name,
    functionVersion: '$LATEST',
    memoryLimitInMB: memory,
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
  try {
    say({ result: await handler(event, context) });
  } catch (error) {
    say({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

say({ ready: true });
