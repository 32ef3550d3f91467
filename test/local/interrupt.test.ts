import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { processes } from '../support/commands/processes.ts';

/* What ends with the process that has started it. */

it('an engine ends with its owner, even before it is ready', async () => {
  const engine = join(import.meta.dirname, '../../infra/local/aws/engine.ts');
  const owner = `
    const { startEngine } = await import(${JSON.stringify(engine)});
    await startEngine({}, (pid) => { console.log(pid); process.exit(); }, () => {});`;

  const pid = Number(
    spawnSync(process.execPath, ['--input-type=module', '-e', owner], { encoding: 'utf8' }).stdout,
  );

  expect(pid).toBeGreaterThan(0);
  await expect.poll(() => processes().filter((running) => running.pid === pid)).toEqual([]);
});
