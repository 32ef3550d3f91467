import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// These take many minutes, so they run only with LONG=1 npm test.
const LONG_TESTS = process.env.LONG === '1' ? [] : ['test/long/**'];

// Workers and the processes that tests start share the cache; without it, a command spends half of
// its time compiling.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');

// The engine for the instances that tests launch. Removed from the environment, because the AWS
// clients in functions and commands would call the engine directly.
const { AWS_ENDPOINT_URL_DYNAMODB: TEST_ENGINE_URL = '' } = process.env;
delete process.env.AWS_ENDPOINT_URL_DYNAMODB;

// The SDK would prefer the operator's profile to the credentials that tests set.
delete process.env.AWS_PROFILE;

// A mixed run has instances of two versions. The first five count the calls of instances, restart
// them or compare two responses; the others start stacks of their own, which have one version, or
// mix two in every run. The release has neither SCIM nor identities of people and modules.
const ONE_VERSION_TESTS = process.env.RELEASE
  ? [
      'test/api/{call-budgets,ended-sessions,format,head,list-costs}.test.ts',
      'test/api/{audit-log,cross-site,edge,emergency,mixed-versions}.test.ts',
      'test/api/{password-policy,second-factor-required}.test.ts',
      'test/api/{issuer-keys,module-identities,scim,single-sign-on,wrong-id-tokens}.test.ts',
    ]
  : [];

export default defineConfig({
  test: {
    // Validation would take most of each synthesis; `npm run check` validates the production
    // template.
    env: { CDK_VALIDATION: 'false', TEST_ENGINE_URL },
    // Only for what never ends: a slow machine takes the time that it needs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    maxWorkers: 3,
    isolate: false,
    runner: './test/support/recording/recording-runner.ts',
    setupFiles: 'test/support/doubles/restore-worker.ts',
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          sequence: { groupOrder: 1 },
          include: ['test/{unit,repository,interleavings}/**/*.test.ts', 'test/console/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'stack',
          // Each project runs on its own: a worker runs one project at a time, and the Gatehouse
          // that its test files share ends with it.
          sequence: { groupOrder: 2 },
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/{unit,repository,interleavings,local,console}/**',
            ...LONG_TESTS,
            ...ONE_VERSION_TESTS,
          ],
          globalSetup: 'test/support/stack/synthesize-once.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'tools',
          sequence: { groupOrder: 3 },
          include: ['test/local/**/*.test.ts'],
          globalSetup: 'test/support/stack/synthesize-once.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          sequence: { groupOrder: 4 },
          include: ['test/console/browser/*.test.ts'],
          globalSetup: 'test/support/stack/synthesize-once.ts',
          // A browser and a cloud share the two cores.
          maxWorkers: 1,
        },
      },
    ],
  },
});
