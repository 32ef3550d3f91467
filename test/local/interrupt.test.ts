import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';

/* Ctrl-C during a benchmark reaches each of its processes, and must end all that they have started. */

const CLOUD = join(import.meta.dirname, '../bench/local-cloud.ts');

/** All processes but those that have ended and that nobody has waited for. */
const processes = (): { pid: number; parent: number }[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => !line.includes('Z'))
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0]) => ({ pid, parent }));

it('the local cloud of a benchmark ends with its engine on Ctrl-C', { timeout: 60_000 }, async () => {
  const cloud = fork(CLOUD, [inject('assembly'), '1'], { stdio: 'ignore' });
  await once(cloud, 'message');
  const started = processes().flatMap(({ pid, parent }) => (parent === cloud.pid ? pid : []));

  cloud.kill('SIGINT');

  expect(await once(cloud, 'exit')).toEqual([1, null]);
  expect(started.length).toBeGreaterThan(0);
  await expect.poll(() => processes().filter(({ pid }) => started.includes(pid))).toEqual([]);
});
