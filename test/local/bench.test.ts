import { type ExecFileException, execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const USAGE = 'npm run bench -- [--quick] [--only cold,warm,gateway,growth,hot]';

const run = (...options: string[]) =>
  promisify(execFile)(process.execPath, ['test/bench/run.ts', ...options], { cwd: ROOT }).catch(
    (error: ExecFileException & { stdout: string; stderr: string }) => error,
  );

describe.concurrent('npm run bench', () => {
  it('explains its options with --help', async () => {
    const { stdout } = await run('--help');

    expect(stdout.split('\n')[0]).toBe(USAGE);
  });

  it.each([
    [['--fast'], "Unknown option '--fast'."],
    [['cold'], "Unexpected argument 'cold'."],
    [['--only', 'cold,warmer'], 'There is no section "warmer".'],
  ])('rejects %j with status 2', async (options, sentence) => {
    expect(await run(...options)).toMatchObject({ code: 2, stdout: '', stderr: `${sentence}\n${USAGE}\n` });
  });
});
