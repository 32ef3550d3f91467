import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Tests of the tests, which take many minutes: LONG=1 npm test. */
const LONG_TESTS = process.env.LONG === '1' ? [] : ['test/long/**'];

// For the workers and every process that a test starts: a command compiles for half of its time otherwise.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');

export default defineConfig({
  test: {
    // `npm run check` has CloudFormation's rules checked; here that would be most of the time of each synthesis.
    env: { CDK_VALIDATION: 'false' },
    // A cold start of a worker on a busy machine takes its time.
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 3,
    isolate: false,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'], sequence: { groupOrder: 1 } } },
      {
        extends: true,
        test: {
          name: 'stack',
          // After the others: a worker serves one project at a time, and what its files share is lost when it ends.
          sequence: { groupOrder: 2 },
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**', ...LONG_TESTS],
          globalSetup: 'test/support/synthesize-once.ts',
        },
      },
    ],
  },
});
