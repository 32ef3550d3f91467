import { beforeEach, vi } from 'vitest';

/**
 * For each test of a block, freezes the clock at this time, in milliseconds since 1970, and sets
 * environment variables.
 */
export function useFrozenClock(
  now: number,
  environment: Readonly<Record<string, string>> = {},
): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now });
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return () => {
      vi.useRealTimers();
      vi.unstubAllEnvs();
    };
  });
}
