import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { transformSync } from 'esbuild';
import type { Invocation, LoggedError, Output, Report, WorkerData } from './function-worker.ts';
import { readableError } from './readable-error.ts';

/** A function as the template describes it. */
export interface FunctionConfig {
  readonly name: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

/** The caller of an AWS API: a function, and the state of its instance. */
export interface Identity {
  readonly name: string;
  readonly state: InstanceState;
}

type InstanceState = 'starting' | 'busy' | 'idle' | 'ended';

interface Instance {
  readonly config: FunctionConfig;
  readonly worker: Worker;
  readonly accessKey: string;
  state: InstanceState;
  lastUsed: number;
  /** Runs outdated code, so it must not handle further requests. */
  stale: boolean;
  /** Receives the next report of the worker. */
  listener: ((report: Report) => void) | undefined;
}

let runtime: URL | undefined;
/**
 * The runtime as JavaScript: stripping its types in each worker would take a third of a cold start.
 */
function runtimeUrl(): URL {
  if (runtime) return runtime;
  const source = readFileSync(new URL('./function-worker.ts', import.meta.url), 'utf8');
  const { code } = transformSync(source, { loader: 'ts' });
  // Stack traces show the source URL; without one, they would contain the whole code.
  runtime = new URL(
    `data:text/javascript,${encodeURIComponent(`${code}//# sourceURL=local-lambda-runtime.mjs`)}`,
  );
  return runtime;
}

/**
 * Exceeds the number of functions. At the limit, a new instance replaces the least recently used
 * idle one.
 */
const MAX_INSTANCES = 48;

/** Lambda's limit for the init phase. */
const INIT_TIMEOUT_MS = 10_000;

/**
 * Runs functions as Lambda does: each instance handles one request at a time and has its own
 * environment.
 */
export interface Functions {
  /**
   * Rejects if the function throws or exceeds its timeout. While all instances are busy, an event
   * waits for one; when the signal aborts meanwhile, it rejects, and no instance handles the event.
   */
  invoke(name: string, event: unknown, requestId: string, signal?: AbortSignal): Promise<unknown>;
  /** The function that an access key belongs to; every instance has its own key. */
  identify(accessKey: string): Identity | undefined;
  /** Terminates the instance with this access key immediately. */
  kill(accessKey: string): void;
  /**
   * Terminates each instance as soon as it is idle, so that the next requests run the current
   * bundles.
   */
  recycle(): void;
  /** Replaces all functions; requests in flight finish on their old instances. */
  replace(configs: readonly FunctionConfig[]): void;
  stop(): Promise<void>;
}

/** Where instances run and how many. */
interface RunOptions {
  /** The URL of the AWS APIs. */
  readonly endpoint: string;
  readonly region: string;
  readonly maxInstancesPerFunction: number;
  /** Receives each line of their output. */
  readonly onLine: (line: string) => void;
  /** Receives each error that a function logs, with its message and its stack in the bundle. */
  readonly onError?: ((functionName: string, error: string) => void) | undefined;
  /** Replaces all timeouts, in milliseconds, so that a function can pause at a breakpoint. */
  readonly timeoutMs?: number | undefined;
}

/** Starts instances on demand. */
export function runFunctions(
  configs: readonly FunctionConfig[],
  {
    endpoint,
    region,
    maxInstancesPerFunction,
    onLine,
    onError,
    timeoutMs: commonTimeoutMs,
  }: RunOptions,
): Functions {
  const instances = new Set<Instance>();
  /** By access key. Calls of a killed instance may still arrive for a moment. */
  const killed = new Map<string, Identity>();
  const queue: { name: string; resolve: (instance: Instance | undefined) => void }[] = [];
  let byName = new Map(configs.map((config) => [config.name, config]));
  let stopped = false;

  function start(config: FunctionConfig): Instance {
    const accessKey = `LOCAL${randomBytes(8).toString('hex').toUpperCase()}`;
    const worker = new Worker(runtimeUrl(), {
      workerData: {
        file: config.file,
        name: config.name,
        memoryMb: String(config.memoryMb),
      } satisfies WorkerData,
      env: environmentOf(config, { region, endpoint, accessKey }),
      stderr: true,
    });
    createInterface(worker.stderr).on('line', onLine);
    const instance: Instance = {
      config,
      worker,
      accessKey,
      state: 'starting',
      lastUsed: 0,
      stale: false,
      listener: undefined,
    };
    instances.add(instance);
    worker.on('message', (report: Report | Output | LoggedError) => {
      if ('output' in report) report.output.replace(/\n$/, '').split('\n').forEach(onLine);
      else if ('loggedError' in report) onError?.(config.name, report.loggedError);
      else instance.listener?.(report);
    });
    worker.on('error', (error) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      if (instance.state === 'idle')
        onLine(`${config.name} failed after it had responded: ${readableError(text)}`);
      fail(instance, text);
    });
    worker.on('exit', () => fail(instance, `${config.name} has exited`));
    return instance;
  }

  function fail(instance: Instance, error: string): void {
    instances.delete(instance);
    instance.listener?.({ error });
    dispatchQueue();
  }

  function terminate(instance: Instance, error = `${instance.config.name} was terminated`): void {
    fail(instance, error);
    void instance.worker.terminate();
  }

  /** Reserves an instance for one request; undefined if all are busy and no more may start. */
  function acquire(name: string): Instance | undefined {
    const config = byName.get(name);
    if (!config) throw new Error(`There is no function ${name}`);
    const candidates = [...instances].filter(
      (instance) => instance.config.name === name && !instance.stale,
    );
    const idle = candidates.find(({ state }) => state === 'idle');
    if (idle) {
      idle.state = 'busy';
      return idle;
    }
    if (candidates.length >= maxInstancesPerFunction) return undefined;
    if (instances.size >= MAX_INSTANCES) {
      const [oldest] = [...instances]
        .filter(({ state }) => state === 'idle')
        .sort((a, b) => a.lastUsed - b.lastUsed);
      if (!oldest) return undefined;
      instances.delete(oldest);
      void oldest.worker.terminate();
    }
    return start(config);
  }

  function dispatchQueue(): void {
    for (const entry of [...queue]) {
      const instance = stopped || !byName.has(entry.name) ? undefined : acquire(entry.name);
      if (!instance && !stopped) continue;
      queue.splice(queue.indexOf(entry), 1);
      entry.resolve(instance);
    }
  }

  function nextReport(instance: Instance, invocation?: Invocation): Promise<Report> {
    return new Promise((resolve) => {
      if (!instances.has(instance)) return resolve({ error: `${instance.config.name} has exited` });
      instance.listener = resolve;
      if (invocation) instance.worker.postMessage(invocation);
    });
  }

  /** Terminates an instance that does not report in time. */
  async function withTimeout(
    timeoutMs: number,
    instance: Instance,
    report: Promise<Report>,
  ): Promise<Report> {
    const timedOut = `${instance.config.name} timed out after ${timeoutMs / 1000} seconds`;
    const timer = setTimeout(() => terminate(instance, timedOut), timeoutMs);
    return report.finally(() => clearTimeout(timer));
  }

  const instanceWith = (accessKey: string): Instance | undefined =>
    [...instances].find((candidate) => candidate.accessKey === accessKey);

  return {
    async invoke(name, event, requestId, signal) {
      const queued = () =>
        new Promise<Instance | undefined>((resolve) => {
          const entry = { name, resolve };
          queue.push(entry);
          signal?.addEventListener('abort', () => {
            if (queue.includes(entry)) queue.splice(queue.indexOf(entry), 1);
            resolve(undefined);
          });
        });
      const instance = acquire(name) ?? (await queued());
      if (!instance)
        throw new Error(
          `${name} was stopped, or busy for too long, before it could handle the request`,
        );
      if (instance.state === 'starting') {
        const started = await withTimeout(
          commonTimeoutMs ?? INIT_TIMEOUT_MS,
          instance,
          nextReport(instance),
        );
        if ('error' in started) throw new Error(started.error);
        instance.state = 'busy';
      }

      const timeoutMs = commonTimeoutMs ?? instance.config.timeoutMs;
      const report = await withTimeout(
        timeoutMs,
        instance,
        nextReport(instance, { event, requestId, timeoutMs }),
      );

      instance.state = 'idle';
      instance.lastUsed = Date.now();
      if (instance.stale) terminate(instance);
      dispatchQueue();
      if ('result' in report) return report.result;
      throw new Error('error' in report ? report.error : `${name} did not respond`);
    },

    identify(accessKey) {
      const instance = instanceWith(accessKey);
      return instance
        ? { name: instance.config.name, state: instance.state }
        : killed.get(accessKey);
    },

    kill(accessKey) {
      const instance = instanceWith(accessKey);
      if (!instance) return;
      killed.set(accessKey, { name: instance.config.name, state: 'ended' });
      terminate(instance, `${instance.config.name} was killed`);
    },

    recycle() {
      for (const instance of instances) {
        instance.stale = true;
        if (instance.state === 'idle') terminate(instance);
      }
    },

    replace(changed) {
      byName = new Map(changed.map((config) => [config.name, config]));
      this.recycle();
    },

    async stop() {
      stopped = true;
      dispatchQueue();
      await Promise.all([...instances].map(({ worker }) => worker.terminate()));
    },
  };
}

/**
 * The environment variables of an instance: those of the Lambda runtime and those of the template.
 */
export function environmentOf(
  { name, memoryMb, environment }: FunctionConfig,
  { region, endpoint, accessKey }: { region: string; endpoint: string; accessKey: string },
): Record<string, string> {
  return {
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
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
    AWS_ENDPOINT_URL: endpoint,
  };
}
