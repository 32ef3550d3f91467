import { type FunctionConfig, type InstanceOptions, startInstance } from './instance.ts';
import { openInstancePool } from './instance-pool.ts';

/** The caller of an AWS API: a function, and the state of its instance. */
export type Identity = NonNullable<ReturnType<Functions['identify']>>;

/** Lambda's limit for the init phase. */
const INIT_TIMEOUT_MS = 10_000;

/** The functions of a stack. */
export type Functions = ReturnType<typeof runFunctions>;

interface RunOptions extends InstanceOptions {
  readonly maxInstancesPerFunction: number;
  /** Replaces all timeouts, in milliseconds, so that a function can pause at a breakpoint. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Runs functions as Lambda does: each instance handles one request at a time and has its own
 * environment.
 */
export function runFunctions(configs: readonly FunctionConfig[], options: RunOptions) {
  const pool = openInstancePool(configs, options.maxInstancesPerFunction, (config, onEnd) =>
    startInstance(config, options, onEnd),
  );
  /** By access key. Calls of a killed instance may still arrive for a moment. */
  const killed = new Map<string, { name: string; state: 'ended' }>();

  return {
    /**
     * Rejects if the function throws or exceeds its timeout. While all instances are busy, an event
     * waits for one until the signal aborts.
     */
    async invoke(name: string, event: unknown, requestId: string, signal?: AbortSignal) {
      const instance = await pool.acquire(name, signal);
      if (!instance)
        throw new Error(
          `${name} was stopped, or busy for too long, before it could handle the request`,
        );
      if (instance.state === 'starting') {
        await instance.result(options.timeoutMs ?? INIT_TIMEOUT_MS);
        instance.state = 'busy';
      }

      const timeoutMs = options.timeoutMs ?? instance.config.timeoutMs;
      return instance
        .result(timeoutMs, { event, requestId, timeoutMs })
        .finally(() => pool.release(instance));
    },

    identify(accessKey: string) {
      const instance = pool.find(accessKey);
      return instance
        ? { name: instance.config.name, state: instance.state }
        : killed.get(accessKey);
    },

    kill(accessKey: string) {
      const instance = pool.find(accessKey);
      if (!instance) return;
      killed.set(accessKey, { name: instance.config.name, state: 'ended' });
      instance.terminate(`${instance.config.name} was killed`);
    },

    recycle: pool.recycle,
    replace: pool.replace,
    stop: pool.stop,
  };
}
