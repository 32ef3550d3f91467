import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { reportProgress } from '../../infra/commands/command-line.ts';
import { counted } from '../../lib/runtime/counted.ts';
import { useFrozenClock } from '../support/doubles/frozen-clock.ts';

useFrozenClock(1_800_000_000_000);

it('reports progress every 10,000 items and every two seconds', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const onProgress = reportProgress('user');

  for (const [milliseconds, done] of [
    [0, 9999],
    [0, 10_001],
    [0, 20_000],
    [1999, 20_000],
    [1, 20_000],
    [1999, 30_000],
    [1999, 30_001],
    [1, 30_002],
  ] as const) {
    vi.advanceTimersByTime(milliseconds);
    onProgress(done);
  }
  const printed = write.mock.calls.map(([text]) => text);
  write.mockRestore();

  expect(printed).toEqual([10_001, 20_000, 30_000, 30_002].map((done) => `${done} users\n`));
});

it('counts in the singular and in the plural', () => {
  expect([0, 1, 2].map((count) => counted(count, 'user'))).toEqual([
    '0 users',
    '1 user',
    '2 users',
  ]);
});

it('names npm ci where no packages are installed, and otherwise runs the program of one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-not-installed-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = join(folder, 'infra/commands/bin.mjs');
  cpSync(join(import.meta.dirname, '../../infra/commands/bin.mjs'), script);
  mkdirSync(join(folder, 'node_modules/.cache'), { recursive: true });
  const run = () => {
    const { status, stderr } = spawnSync(process.execPath, [script, 'program', '3'], {
      encoding: 'utf8',
    });
    return { status, stderr };
  };

  expect(run()).toEqual({
    status: 1,
    stderr: 'The packages are not installed: run `npm ci` first.\n',
  });
  mkdirSync(join(folder, 'node_modules/.bin'));
  writeFileSync(join(folder, 'node_modules/.bin/program'), 'process.exit(+process.argv[2])');
  expect(run()).toEqual({ status: 3, stderr: '' });
});
