import { waitMicrotasks } from './microtasks.ts';

interface OverlapCounter {
  readonly most: number;
  /** Runs one call, which takes several microtask turns longer than its work. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export function overlapCounter(): OverlapCounter {
  let running = 0;
  let most = 0;
  return {
    get most() {
      return most;
    },
    async run(work) {
      running++;
      most = Math.max(most, running);
      try {
        await waitMicrotasks();
        return await work();
      } finally {
        running--;
      }
    },
  };
}
