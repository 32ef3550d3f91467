import { subscribe } from 'node:diagnostics_channel';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';

/*
 * The Lambda runtime in a worker thread: loads a function's bundle (cold start), then handles one
 * event at a time.
 */

export interface WorkerData {
  readonly file: string;
  readonly name: string;
  readonly memoryMb: string;
}

export interface Invocation {
  readonly event: unknown;
  readonly requestId: string;
  readonly timeoutMs: number;
}
export type Report =
  | { readonly ready: true }
  | { readonly result: unknown }
  | { readonly error: string };
/** What the function writes to standard output. */
export type Output = { readonly output: string };
/** An error that the function has logged, with its message, stack and causes. */
export type LoggedError = { readonly loggedError: string };

const { file, name, memoryMb } = workerData as WorkerData;
const port = parentPort as NonNullable<typeof parentPort>;
const send = (report: Report | Output | LoggedError): void => port.postMessage(report);

subscribe('gatehouse:error', (error) => send({ loggedError: inspect(error) }));

// The stream of a worker takes several messages for each line: 5 % of the CPU time of a local
// request.
process.stdout.write = (output: string | Uint8Array, ...rest: unknown[]): boolean => {
  send({ output: typeof output === 'string' ? output : Buffer.from(output).toString() });
  const done = rest.at(-1);
  if (typeof done === 'function') queueMicrotask(done as () => void);
  return true;
};

// All instances of a function share the cache, which is deleted with the cloud assembly. Workers
// are terminated, so Node would never write it at their exit.
enableCompileCache(join(dirname(file), '../../compiled'));
const { handler } = await import(pathToFileURL(file).href);
flushCompileCache();

port.on('message', async ({ event, requestId, timeoutMs }: Invocation) => {
  const deadline = Date.now() + timeoutMs;
  const context = {
    functionName: name,
    functionVersion: '$LATEST',
    memoryLimitInMB: memoryMb,
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
  try {
    send({ result: await handler(event, context) });
  } catch (error) {
    send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});

send({ ready: true });
