import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const FOLDERS = ['unit', 'api', 'local', 'interleavings'];

/**
 * Unit tests first: a mutant that they detect needs no local cloud. The interleavings last: they
 * reach much, and take long.
 */
class UnitFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) =>
      FOLDERS.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
    return files.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

/** The tests that mutants are tried with. */
export default defineConfig({
  test: {
    include: [
      'test/{unit,api}/**/*.test.ts',
      'test/interleavings/interleavings.test.ts',
      // The only command whose rules have no tests of their own.
      'test/local/person.test.ts',
    ],
    // These load functions, and with them lib, within a test: what a module makes when it is loaded
    // would count as tested by them.
    exclude: ['test/unit/daily-verification.test.ts', 'test/unit/openapi.test.ts'],
    sequence: { sequencer: UnitFirst },
    isolate: false,
    globalSetup: 'test/support/stack/synthesize-once.ts',
    execArgv: ['--import', './test/mutation/function-worker.mjs'],
    setupFiles: ['test/mutation/connect-functions.ts', 'test/support/doubles/restore-worker.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
