import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { readableError } from './readable-error.ts';

export interface FunctionConfig {
  readonly name: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

type Message =
  | { result: unknown }
  | { error: string }
  | { output: string }
  | { loggedError: string };

/** A worker that handles one request at a time. */
export interface Instance {
  readonly config: FunctionConfig;
  readonly accessKey: string;
  state: 'starting' | 'busy' | 'idle' | 'ended';
  /** The next result, of the start or an invocation. Terminates an instance that takes longer. */
  result(timeoutMs: number, invocation?: object): Promise<unknown>;
  terminate(error?: string): Promise<unknown>;
}

export interface InstanceOptions {
  readonly onLine: (line: string) => void;
  /** Receives each error that a function logs, with its message and its stack in the bundle. */
  readonly onError?: ((functionName: string, error: string) => void) | undefined;
}

const RUNTIME = new URL('./function-worker.mjs', import.meta.url);

/** Starts an instance; `onEnd` is called when it can handle no further request. */
export function startInstance(
  config: FunctionConfig,
  { onLine, onError }: InstanceOptions,
  onEnd: () => void,
): Instance {
  const { name, file } = config;
  const accessKey = `LOCAL${randomBytes(8).toString('hex').toUpperCase()}`;
  const worker = new Worker(RUNTIME, {
    workerData: { file },
    env: environmentOf(config, accessKey),
    stderr: true,
  });
  let pending: PromiseWithResolvers<unknown> | undefined;

  const instance: Instance = {
    config,
    accessKey,
    state: 'starting',
    async result(timeoutMs, invocation) {
      if (instance.state === 'ended') throw new Error(`${name} has exited`);
      pending = Promise.withResolvers();
      if (invocation) worker.postMessage(invocation);
      const timedOut = `${name} timed out after ${timeoutMs / 1000} seconds`;
      const timer = setTimeout(() => void instance.terminate(timedOut), timeoutMs);
      return pending.promise.finally(() => clearTimeout(timer));
    },
    terminate(error = `${name} was terminated`) {
      fail(error);
      return worker.terminate();
    },
  };

  function fail(error: string): void {
    instance.state = 'ended';
    pending?.reject(new Error(error));
    onEnd();
  }

  createInterface(worker.stderr).on('line', onLine);
  worker.on('message', (message: Message) => {
    if ('output' in message) message.output.replace(/\n$/, '').split('\n').forEach(onLine);
    else if ('loggedError' in message) onError?.(name, message.loggedError);
    else if ('error' in message) pending?.reject(new Error(message.error));
    else pending?.resolve(message.result);
  });
  worker.on('error', (error) => {
    const text = String((error instanceof Error && error.stack) || error);
    if (instance.state === 'idle')
      onLine(`${name} failed after it had responded: ${readableError(text)}`);
    fail(text);
  });
  worker.on('exit', () => fail(`${name} has exited`));
  return instance;
}

export function environmentOf(
  { name, memoryMb, environment }: FunctionConfig,
  accessKey: string,
): Record<string, string> {
  return {
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: 'local',
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    // Lambda has neither file; the developer's own must not be read.
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    TZ: ':UTC',
    ...environment,
    AWS_ACCESS_KEY_ID: accessKey,
  };
}
