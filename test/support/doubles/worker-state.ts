import { beforeEach, vi } from 'vitest';

/* What the test files of a worker share, because they share its process. */

/** The resources of the shared instance. */
const kept: Record<string, number> = {};

const count = (): Record<string, number> => {
  const names = process.getActiveResourcesInfo();
  const numberOf = (kind: string) => names.filter((name) => name === kind).length;
  return { servers: numberOf('TCPServerWrap'), processes: numberOf('ProcessWrap') };
};

/** How many servers and child processes this process has beyond the ones that it keeps. */
export const openResources = (): Record<string, number> =>
  Object.fromEntries(Object.entries(count()).map(([kind, n]) => [kind, n - (kept[kind] ?? 0)]));

/** Starts something that lasts as long as this process. */
export async function keepOpen<T>(start: () => Promise<T>): Promise<T> {
  const before = count();
  const started = await start();
  for (const [kind, n] of Object.entries(count())) kept[kind] = n - (before[kind] ?? 0);
  return started;
}

/** Never repeated, because the data keys are shared. */
let keys = 0;

/** Makes each test of a file start without data keys: under a key of KMS of its own. */
export function useNoDataKeys(): void {
  beforeEach(() => {
    keys++;
    vi.stubEnv('VALUES_KEY', `values-${keys}`);
  });
}
