import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/*
 * `npm run update` refreshes everything that is generated or recorded, in the order in which one
 * follows from another; with arguments of vitest, only what these tests record.
 */

const given = process.argv.slice(2);
const BIN = join(import.meta.dirname, '../../../infra/commands/bin.mjs');
const REPORTER = `--reporter=${join(import.meta.dirname, 'unrecorded-reporter.ts')}`;
const STEPS = [
  ['--project', 'unit', 'test/unit/openapi.test.ts', '-t', 'current'],
  // These record nothing, and are long.
  ['--project', 'unit', '--exclude', 'test/interleavings/{engines,plans}.test.ts'],
  ['test/api/call-budgets.test.ts'],
  ['test/stack', 'test/long/fault-table.test.ts'],
];

for (const [position, tests] of (given.length > 0 ? [given] : STEPS).entries()) {
  run('vitest', 'run', '--update=all', '--reporter=default', REPORTER, ...tests);
  if (given.length === 0 && position === 0) run('openapi-ts', '--silent');
}

function run(...args) {
  const { status } = spawnSync(process.execPath, [BIN, ...args], {
    env: { ...process.env, LONG: '1' },
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
