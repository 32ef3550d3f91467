import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import root from '../../vitest.config.ts';
import { readPlan } from './plan.ts';

const { files } = readPlan();

class AsPlanned extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) =>
      files.findIndex((file) => moduleId.endsWith(file));
    return specifications.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

export default defineConfig({
  test: {
    env: root.test?.env ?? {},
    include: [...files],
    sequence: { sequencer: AsPlanned },
    runner: './test/mutation/runner.ts',
    // One file after the other, in one process, which its functions share.
    isolate: false,
    maxWorkers: 1,
    maxConcurrency: 1,
    globalSetup: 'test/support/stack/synthesize-once.ts',
    execArgv: ['--import', './test/mutation/function-worker.mjs'],
    setupFiles: 'test/support/doubles/restore-worker.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
