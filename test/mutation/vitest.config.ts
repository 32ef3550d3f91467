import { defineConfig } from 'vitest/config';

/** The tests that mutants are tried with. */
export default defineConfig({
  test: {
    include: ['test/unit/**/*.test.ts'],
    setupFiles: 'test/support/doubles/reset-deadline.ts',
    testTimeout: 20_000,
  },
});
