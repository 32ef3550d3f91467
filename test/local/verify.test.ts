import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openLocalTable } from '../../infra/local/aws/local-table.ts';
import { type Cloud, startCloud } from '../../infra/local/cloud.ts';
import { createFirstAccounts } from '../../infra/local/first-accounts.ts';
import { openState } from '../../infra/local/state/state.ts';
import {
  environmentWithoutAws,
  isProgress,
  operatorsEnvironment,
  PROGRAM,
  runCommand,
} from '../support/commands/run-command.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';
import { isRunning } from '../support/instance/start-process.ts';

/* `npm run admin -- verify` in a process of its own, beside a service that uses the folder. */

const ROOT = join(import.meta.dirname, '../..');
const folder = newFolder();
const lock = join(folder, 'processes.json');
let cloud: Cloud | undefined;

beforeAll(async () => {
  const state = await openState(folder);
  const quiet = () => undefined;
  cloud = await startCloud({
    assembly: inject('assembly'),
    state,
    port: 0,
    onLine: quiet,
    onEngineExit: quiet,
  });
  await createFirstAccounts(cloud, state);
});
afterAll(async () => {
  await cloud?.stop();
  removeFolders();
});

/** Runs the command on this folder unless the environment names another. */
async function verify(options: readonly string[] = [], more: Record<string, string> = {}) {
  const environment = { STATE_DIR: folder, ...more };
  const { code, stdout, stderr } = await runCommand('verify', options, environment);
  const errors = stderr.split('\n').filter((line) => !isProgress(line));
  return { code, lines: stdout.trim().split('\n'), stderr: errors.join('\n') };
}

// Some items count by windows of time.
const SUMMARY = /^\d+ items \(users: 2, integrations: 0, parameters: 0\): no findings$/;

describe('beside a running service', () => {
  it('verifies its table, located by folder or by name', async () => {
    const [byFolder, byName] = await Promise.all([
      verify(),
      verify(['--table', cloud?.tableName ?? ''], operatorsEnvironment(cloud as Cloud)),
    ]);

    const intact = {
      code: 0,
      lines: [`Verifying ${cloud?.tableName}`, expect.stringMatching(SUMMARY)],
      stderr: '',
    };
    expect([byFolder, byName]).toEqual([intact, intact]);
  });
});

describe('without a service', () => {
  beforeAll(async () => {
    await cloud?.stop();
    cloud = undefined;
  });

  it('verifies the data of the stopped service and leaves no process behind', async () => {
    const before = readdirSync(folder).sort();

    const { code, lines, stderr } = await verify();

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(lines.at(-1)).toMatch(SUMMARY);
    expect(readdirSync(folder).sort()).toEqual(before);
  });

  it('prevents a service from starting on the same data meanwhile', async () => {
    const table = await openLocalTable(folder);

    await expect(openState(folder)).rejects.toThrow('is in use by');
    const second = await verify();
    await table.close();

    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining('is in use by') });
    (await openState(folder)).close();
  });

  it('stops its engine when it is interrupted', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'admin', 'verify'], {
      cwd: ROOT,
      env: { ...environmentWithoutAws(), STATE_DIR: folder },
    });
    const ended = once(child, 'exit');
    const engineIn = () =>
      /"engine":"(\d+):/.exec(existsSync(lock) ? readFileSync(lock, 'utf8') : '')?.[1];
    while (!engineIn() && child.exitCode === null) await wait(5);
    const engine = Number(engineIn());
    once(child.stdout, 'data').then(
      () => child.kill('SIGINT'),
      () => undefined,
    );

    await ended;

    expect(engine).toBeGreaterThan(0);
    await expect.poll(() => isRunning('pid', engine)).toBe(false);
    // Its lock does not prevent the next use of the folder.
    (await openState(folder)).close();
  });
});
