import type { FunctionConfig, Instance } from './instance.ts';

/** A further instance replaces the least recently used idle one. */
const INSTANCES_MAX = 48;

/** Opens a pool; `start` receives what to call when the instance has ended. */
export function openInstancePool(
  configs: readonly FunctionConfig[],
  instancesPerFunctionMax: number,
  start: (config: FunctionConfig, onEnd: (instance: Instance) => void) => Instance,
) {
  const instances = new Set<Instance>();
  const queue = new Set<{ name: string; resolve: (instance?: Instance) => void }>();
  let byName = new Map(configs.map((config) => [config.name, config]));
  let stopped = false;

  /** An instance for one request; undefined if all are busy and no more may start. */
  function reserve(name: string): Instance | undefined {
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
    if (candidates.length >= instancesPerFunctionMax) return undefined;
    if (instances.size >= INSTANCES_MAX) {
      const [oldest] = [...instances]
        .filter(({ state }) => state === 'idle')
        .sort((a, b) => a.lastUsed - b.lastUsed);
      if (!oldest) return undefined;
      instances.delete(oldest);
      void oldest.discard();
    }
    const instance = start(config, (ended) => {
      instances.delete(ended);
      dispatchQueue();
    });
    instances.add(instance);
    return instance;
  }

  function dispatchQueue(): void {
    for (const entry of queue) {
      const instance = stopped || !byName.has(entry.name) ? undefined : reserve(entry.name);
      if (instance || stopped) entry.resolve(instance);
    }
  }

  const queued = (name: string, signal?: AbortSignal) =>
    new Promise<Instance | undefined>((resolve) => {
      const entry = {
        name,
        resolve(instance?: Instance) {
          queue.delete(entry);
          resolve(instance);
        },
      };
      queue.add(entry);
      signal?.addEventListener('abort', () => entry.resolve());
    });

  function recycle(): void {
    for (const instance of instances) {
      instance.stale = true;
      if (instance.state === 'idle') instance.terminate();
    }
  }

  return {
    /** Waits for an instance while none is free; undefined after a stop or an abort. */
    acquire: async (name: string, signal?: AbortSignal): Promise<Instance | undefined> =>
      reserve(name) ?? (await queued(name, signal)),
    release(instance: Instance) {
      instance.state = 'idle';
      instance.lastUsed = Date.now();
      if (instance.stale) instance.terminate();
      dispatchQueue();
    },
    find: (accessKey: string) =>
      [...instances].find((candidate) => candidate.accessKey === accessKey),
    recycle,
    /** Requests in flight finish on their old instances. */
    replace(changed: readonly FunctionConfig[]) {
      byName = new Map(changed.map((config) => [config.name, config]));
      recycle();
    },
    async stop() {
      stopped = true;
      dispatchQueue();
      await Promise.all([...instances].map((instance) => instance.discard()));
    },
  };
}
