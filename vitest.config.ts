import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/synthesize-once.ts',
    // A cold start of a worker on a busy machine takes its time.
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 3,
    isolate: false,
  },
});
