import { subscribe } from 'node:diagnostics_channel';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';

/*
 * The Lambda runtime in a thread. No TypeScript: stripping types would slow cold starts.
 * instance.ts has the types of its messages.
 */

const { file } = workerData;
const send = (report) => parentPort.postMessage(report);

subscribe('gatehouse:error', (error) => send({ loggedError: inspect(error) }));

// The stream of a worker takes several messages for each line.
process.stdout.write = (output, ...rest) => {
  send({ output: typeof output === 'string' ? output : Buffer.from(output).toString() });
  const done = rest.at(-1);
  if (typeof done === 'function') queueMicrotask(done);
  return true;
};

// Deleted with the cloud assembly. Terminated workers would never write it at their exit.
enableCompileCache(join(dirname(file), '../../compiled'));
const { handler } = await import(pathToFileURL(file).href);
flushCompileCache();

parentPort.on('message', async ({ event, requestId, timeoutMs }) => {
  const deadline = Date.now() + timeoutMs;
  const context = {
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: '$LATEST',
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  };
  try {
    send({ result: await handler(event, context) });
  } catch (error) {
    send({ error: String(error?.stack ?? error) });
  }
});

send({ result: undefined });
