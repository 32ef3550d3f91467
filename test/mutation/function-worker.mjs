import { getEnvironmentData, parentPort, workerData } from 'node:worker_threads';

/*
 * Loaded into every thread: gives the instrumented code in the workers of functions what it shares
 * with the thread of the test (shared.ts).
 */

const shared = getEnvironmentData('mutants');
if (shared && workerData?.file) {
  let active = -1;
  const instrumented = {
    // The id of a mutant is an index.
    mutantCoverage: { static: shared.onLoad, perTest: { current: shared.inTest } },
    currentTestId: undefined,
    hitCount: 0,
    hitLimit: shared.hitLimit,
    get activeMutant() {
      if (active !== shared.active[0]) instrumented.hitCount = 0;
      active = shared.active[0];
      return String(active);
    },
  };
  globalThis.__stryker__ = instrumented;
  // The function has been loaded when its first event arrives.
  parentPort.once('message', () => {
    instrumented.currentTestId = 'current';
  });
}
