import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Tests of the tests, which take many minutes: LONG=1 npm test.
    exclude: process.env.LONG === '1' ? [] : ['test/long/**'],
    // `npm run check` has CloudFormation's rules checked; here that would be most of the time of each synthesis.
    env: { CDK_VALIDATION: 'false' },
    globalSetup: 'test/support/synthesize-once.ts',
    // A cold start of a worker on a busy machine takes its time.
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 3,
    isolate: false,
  },
});
