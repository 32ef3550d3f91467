import { beforeEach, vi } from 'vitest';

/** Stops the clock at this time, in milliseconds since 1970, and sets environment variables, for each test of a block. */
export function useStillClock(now: number, environment: Readonly<Record<string, string>> = {}): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now });
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return () => {
      vi.useRealTimers();
      vi.unstubAllEnvs();
    };
  });
}
