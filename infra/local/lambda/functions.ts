import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { transformSync } from 'esbuild';
import type { Invocation, Report, WorkerData } from './function-worker.ts';

/** A function as the template describes it. */
export interface FunctionConfig {
  readonly name: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly timeout: number;
  /** Megabytes. */
  readonly memory: number;
}

/** Who makes a call to AWS: the function, and whether it is serving a request. */
export interface Identity {
  readonly name: string;
  readonly state: State;
}

type State = 'starting' | 'busy' | 'idle' | 'ended';

interface Instance {
  readonly config: FunctionConfig;
  readonly worker: Worker;
  readonly accessKey: string;
  state: State;
  lastUsed: number;
  /** Runs older code than there is by now: it serves no further request. */
  stale: boolean;
  /** Who waits for what it says next. */
  listener: ((report: Report) => void) | undefined;
}

/** The runtime as JavaScript: to strip its types in each worker anew would be a third of a cold start. */
const RUNTIME = new URL(
  `data:text/javascript,${encodeURIComponent(
    transformSync(readFileSync(new URL('./function-worker.ts', import.meta.url), 'utf8'), { loader: 'ts' }).code,
  )}`,
);

const MOST_PER_FUNCTION = 8;
/** More than there are functions: an instance that is ended makes room, and the next request pays for a cold start. */
const MOST_IN_ALL = 48;

/** What Lambda gives a cold start, in milliseconds. */
const INIT_TIMEOUT = 10_000;

/** The functions of a stack, as Lambda runs them: each instance serves one request at a time, in its own environment. */
export interface Functions {
  /** Fails when the function does, or when it takes longer than its timeout. */
  invoke(name: string, event: unknown, requestId: string): Promise<unknown>;
  /** Who holds this access key; every instance has its own. */
  identify(accessKey: string): Identity | undefined;
  /** Ends the instance with this access key in the middle of what it does. */
  kill(accessKey: string): void;
  /** Lets go of all instances once they are idle, so that the next requests run the bundles as they are now. */
  recycle(): void;
  /** Runs these functions instead; requests that have begun end on the instance that they began on. */
  replace(configs: readonly FunctionConfig[]): void;
  stop(): Promise<void>;
}

/** Runs functions on first use; `endpoint` is where AWS is, `onLine` gets each line that they print. */
export function runFunctions(
  configs: readonly FunctionConfig[],
  { endpoint, region, onLine }: { endpoint: string; region: string; onLine: (line: string) => void },
): Functions {
  const instances = new Set<Instance>();
  /** They may go on for a moment. */
  const killed = new Map<string, Identity>();
  const waiting: { name: string; go: (instance: Instance | undefined) => void }[] = [];
  let byName = new Map(configs.map((config) => [config.name, config]));
  let stopped = false;

  function start(config: FunctionConfig): Instance {
    const accessKey = `LOCAL${randomBytes(8).toString('hex').toUpperCase()}`;
    const worker = new Worker(RUNTIME, {
      workerData: { file: config.file, name: config.name, memory: String(config.memory) } satisfies WorkerData,
      env: {
        ...runtimeEnvironment(config, region),
        ...config.environment,
        AWS_ACCESS_KEY_ID: accessKey,
        AWS_ENDPOINT_URL: endpoint,
      },
      stdout: true,
      stderr: true,
    });
    createInterface(worker.stdout).on('line', onLine);
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
    worker.on('message', (report: Report) => instance.listener?.(report));
    worker.on('error', (error) =>
      fail(instance, error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
    worker.on('exit', () => fail(instance, `${config.name} has ended`));
    return instance;
  }

  function fail(instance: Instance, error: string): void {
    instances.delete(instance);
    instance.listener?.({ error });
    serveWaiting();
  }

  function end(instance: Instance, error = `${instance.config.name} was ended`): void {
    fail(instance, error);
    void instance.worker.terminate();
  }

  /** An instance for one request, which nobody else gets meanwhile; undefined when all that there may be are busy. */
  function take(name: string): Instance | undefined {
    const config = byName.get(name);
    if (!config) throw new Error(`There is no function ${name}`);
    const own = [...instances].filter((instance) => instance.config.name === name && !instance.stale);
    const idle = own.find(({ state }) => state === 'idle');
    if (idle) {
      idle.state = 'busy';
      return idle;
    }
    if (own.length >= MOST_PER_FUNCTION) return undefined;
    if (instances.size >= MOST_IN_ALL) {
      const [oldest] = [...instances].filter(({ state }) => state === 'idle').sort((a, b) => a.lastUsed - b.lastUsed);
      if (!oldest) return undefined;
      instances.delete(oldest);
      void oldest.worker.terminate();
    }
    return start(config);
  }

  function serveWaiting(): void {
    for (const entry of [...waiting]) {
      const instance = stopped || !byName.has(entry.name) ? undefined : take(entry.name);
      if (!instance && !stopped) continue;
      waiting.splice(waiting.indexOf(entry), 1);
      entry.go(instance);
    }
  }

  /** What the instance says next. */
  function next(instance: Instance, invocation?: Invocation): Promise<Report> {
    return new Promise((resolve) => {
      if (!instances.has(instance)) return resolve({ error: `${instance.config.name} has ended` });
      instance.listener = resolve;
      if (invocation) instance.worker.postMessage(invocation);
    });
  }

  /** Ends an instance that does not say anything in time. */
  async function within(milliseconds: number, instance: Instance, report: Promise<Report>): Promise<Report> {
    const late = `${instance.config.name} timed out after ${milliseconds / 1000} seconds`;
    const timer = setTimeout(() => end(instance, late), milliseconds);
    return report.finally(() => clearTimeout(timer));
  }

  const holderOf = (accessKey: string): Instance | undefined =>
    [...instances].find((candidate) => candidate.accessKey === accessKey);

  return {
    async invoke(name, event, requestId) {
      const waited = () => new Promise<Instance | undefined>((go) => waiting.push({ name, go }));
      const instance = take(name) ?? (await waited());
      if (!instance) throw new Error(`${name} was stopped before it could serve`);
      if (instance.state === 'starting') {
        const started = await within(INIT_TIMEOUT, instance, next(instance));
        if ('error' in started) throw new Error(started.error);
        instance.state = 'busy';
      }

      const { timeout } = instance.config;
      const report = await within(timeout, instance, next(instance, { event, requestId, timeout }));

      instance.state = 'idle';
      instance.lastUsed = Date.now();
      if (instance.stale) end(instance);
      serveWaiting();
      if ('result' in report) return report.result;
      throw new Error('error' in report ? report.error : `${name} did not answer`);
    },

    identify(accessKey) {
      const instance = holderOf(accessKey);
      return instance ? { name: instance.config.name, state: instance.state } : killed.get(accessKey);
    },

    kill(accessKey) {
      const instance = holderOf(accessKey);
      if (!instance) return;
      killed.set(accessKey, { name: instance.config.name, state: 'ended' });
      end(instance, `${instance.config.name} was killed`);
    },

    recycle() {
      for (const instance of instances) {
        instance.stale = true;
        if (instance.state === 'idle') end(instance);
      }
    },

    replace(changed) {
      byName = new Map(changed.map((config) => [config.name, config]));
      this.recycle();
    },

    async stop() {
      stopped = true;
      serveWaiting();
      await Promise.all([...instances].map(({ worker }) => worker.terminate()));
    },
  };
}

function runtimeEnvironment({ name, memory }: FunctionConfig, region: string): Record<string, string> {
  return {
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: 'local',
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memory),
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    // Lambda has neither file; a developer's own must not leak in.
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    TZ: ':UTC',
  };
}
