import { getEnvironmentData, parentPort, workerData } from 'node:worker_threads';

/*
 * Loaded into every thread: prepares the workers of functions for what connect-functions.ts
 * describes.
 */

const shared = getEnvironmentData('mutants');
if (shared && workerData?.file) {
  const stryker = {
    // The id of a mutant is an index.
    mutantCoverage: { static: shared.onLoad, perTest: { current: shared.inTest } },
    currentTestId: undefined,
    get activeMutant() {
      return String(shared.active[0]);
    },
  };
  globalThis.__stryker__ = stryker;
  // The function has been loaded when its first event arrives.
  parentPort.once('message', () => {
    stryker.currentTestId = 'current';
  });
}
