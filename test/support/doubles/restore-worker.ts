import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeEach, vi } from 'vitest';
import { resetRetries, setDeadline } from '../../../lib/runtime/execution-environment.ts';
import { openResources } from './worker-state.ts';

/*
 * The test files of a worker share its process and its modules. What one file leaves behind would
 * fail another one, later and only on some machines.
 */

function restore(): void {
  setDeadline(Number.POSITIVE_INFINITY);
  resetRetries();
  // First: a mock of a fake timer would put that back.
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
}

const stateOfProcess = () => ({
  environment: { ...process.env },
  folder: process.cwd(),
  resources: openResources(),
});

const atStart = stateOfProcess();
beforeEach(restore);
afterEach(restore);
afterAll(async () => {
  restore();
  // A server or a process that was told to end takes a moment.
  await vi.waitFor(
    () => assert.deepEqual(stateOfProcess(), atStart, 'The test file leaves this behind.'),
    { timeout: 120_000 },
  );
});
