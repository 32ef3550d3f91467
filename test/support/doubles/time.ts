import { setTimeout as wait } from 'node:timers/promises';
import { beforeEach, vi } from 'vitest';

/** Freezes the clock at this time, in milliseconds since 1970, until the end of the test. */
export function freezeClock(now = Date.now()): void {
  vi.useFakeTimers({ toFake: ['Date'], now });
}

/** Freezes the clock and sets environment variables for each test of a block. */
export function useFrozenClock(
  now: number,
  environment: Readonly<Record<string, string>> = {},
): void {
  beforeEach(() => {
    freezeClock(now);
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  });
}

/** Waits until no window of 15 minutes, and no hour, ends within 15 seconds. */
export async function untilEarlyInWindow(): Promise<void> {
  const leftMs = 900_000 - (Date.now() % 900_000);
  if (leftMs < 15_000) await wait(leftMs);
}

/** Processor time, which does not depend on what else the machine runs. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return process.cpuUsage(before).user / 1000;
}
