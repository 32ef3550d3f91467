import { beforeEach, vi } from 'vitest';

/** Never repeated, because all test files of a worker share the data keys. */
let keys = 0;

/** Makes each test of a file start without data keys: under a key of KMS of its own. */
export function useNoDataKeys(): void {
  beforeEach(() => {
    keys++;
    vi.stubEnv('VALUES_KEY', `values-${keys}`);
  });
}
