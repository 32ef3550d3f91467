import { type ExecFileException, execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/* The arguments of the commands that measure and search. */

const ROOT = join(import.meta.dirname, '../..');

const run = (script: string, ...options: string[]) =>
  promisify(execFile)(process.execPath, [...script.split(' '), ...options], { cwd: ROOT }).catch(
    (error: ExecFileException & { stdout: string; stderr: string }) => error,
  );

const COMMANDS = {
  'infra/commands/bin.mjs test/bench/run.ts': {
    usage: 'Usage: npm run bench',
    rejected: [[['--fast'], "Unknown option '--fast'."]],
  },
  'test/long/soak.ts': {
    usage: 'Usage: npx node test/long/soak.ts [--minutes MINUTES] [--seed SEED]',
    rejected: [
      [['--minutes', '0'], '--minutes must be a number above 0.'],
      [['--minutes', 'x'], '--minutes must be a number above 0.'],
      [['--seed', '1.5'], '--seed must be a whole number.'],
      [['--hours', '1'], "Unknown option '--hours'."],
    ],
  },
} satisfies Record<string, { usage: string; rejected: [string[], string][] }>;

describe.concurrent.each(Object.entries(COMMANDS))('%s', (script, { usage, rejected }) => {
  it('explains itself with --help', async () => {
    const { stdout } = await run(script, '--help');

    expect(stdout.startsWith(`${usage}\n`)).toBe(true);
    expect(stdout).toContain('Exit status');
  });

  it.each(rejected as [string[], string][])(
    'rejects %j with status 2',
    async (options, sentence) => {
      expect(await run(script, ...options)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: `${sentence}\n${usage}\n`,
      });
    },
  );
});
