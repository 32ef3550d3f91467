import {
  type FunctionConfig,
  type Instance,
  type InstanceOptions,
  startInstance,
} from './instance.ts';

/** A further instance replaces the least recently used idle one. */
const INSTANCES_MAX = 48;

export interface RunOptions extends InstanceOptions {
  /** 8 unless given. */
  readonly maxInstancesPerFunction?: number;
  /** Replaces all timeouts, in milliseconds, so that a function can pause at a breakpoint. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs functions as Lambda does: an instance handles one request at a time, with an environment of
 * its own. There are none before the first `replace`.
 */
export function runFunctions(options: RunOptions) {
  let configs = new Map<string, FunctionConfig>();
  /** Those that may handle further requests; the most recently used one is the last. */
  const instances = new Set<Instance>();
  /** By access key, also for a minute after their end: their calls may still arrive. */
  const started = new Map<string, Instance>();
  let change = Promise.withResolvers<void>();

  function announceChange(): void {
    change.resolve();
    change = Promise.withResolvers();
  }

  /** An instance for one request; undefined if all are busy and no more may start. */
  function reserve(name: string): Instance | undefined {
    const config = configs.get(name);
    if (!config) throw new Error(`There is no function ${name}`);
    const candidates = [...instances].filter((instance) => instance.config.name === name);
    const idle = candidates.findLast(({ state }) => state === 'idle');
    if (idle) {
      idle.state = 'busy';
      return idle;
    }
    if (candidates.length >= (options.maxInstancesPerFunction ?? 8)) return undefined;
    if (instances.size >= INSTANCES_MAX) {
      const oldest = [...instances].find(({ state }) => state === 'idle');
      if (!oldest) return undefined;
      void oldest.terminate();
    }
    const instance = startInstance(config, options, () => {
      instances.delete(instance);
      setTimeout(() => started.delete(instance.accessKey), 60_000).unref();
      announceChange();
    });
    instances.add(instance);
    started.set(instance.accessKey, instance);
    return instance;
  }

  async function acquire(name: string): Promise<Instance> {
    for (;;) {
      const instance = reserve(name);
      if (instance) return instance;
      await change.promise;
    }
  }

  function release(instance: Instance): void {
    if (instance.state === 'ended') return;
    instance.state = 'idle';
    if (!instances.delete(instance)) void instance.terminate();
    else instances.add(instance);
    announceChange();
  }

  /** Lets no instance handle a further request; requests in flight finish. */
  function recycle(): void {
    const former = [...instances];
    instances.clear();
    for (const instance of former) if (instance.state === 'idle') void instance.terminate();
    announceChange();
  }

  function replace(changed: readonly FunctionConfig[]): void {
    configs = new Map(changed.map((config) => [config.name, config]));
    recycle();
  }

  return {
    /** Waits while all instances are busy. Rejects if the function throws or times out. */
    async invoke(name: string, event: unknown, requestId: string) {
      const instance = await acquire(name);
      const { timeoutMs = instance.config.timeoutMs } = options;
      const invocation = { event, requestId, timeoutMs };
      return run(instance, timeoutMs, invocation).finally(() => release(instance));
    },
    instanceOf: (accessKey: string) => started.get(accessKey),
    recycle,
    replace,
    async stop() {
      replace([]);
      await Promise.all([...started.values()].map((instance) => instance.terminate()));
    },
  };
}

async function run(instance: Instance, timeoutMs: number, invocation: object) {
  if (instance.state === 'starting') {
    await instance.result(timeoutMs);
    instance.state = 'busy';
  }
  return instance.result(timeoutMs, invocation);
}
