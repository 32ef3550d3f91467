/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  // A static mutant would need all tests; those that no test reaches are data, which tests read.
  ignoreStatic: true,
  mutate: ['lib/**/*.ts'],
  incremental: true,
  incrementalFile: 'reports/mutation.json',
  tempDirName: '.stryker',
  reporters: ['clear-text', 'progress', 'json'],
  jsonReporter: { fileName: 'node_modules/.cache/mutation/mutation.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  concurrency: 2,
  dryRunTimeoutMinutes: 40,
  thresholds: { high: 100, low: 98, break: 98 },
};
