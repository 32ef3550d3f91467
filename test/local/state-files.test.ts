import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createKey, type StoredKey } from '../../infra/local/aws/kms.ts';
import { type Cloud, startCloud } from '../../infra/local/cloud.ts';
import { createFirstAccounts } from '../../infra/local/first-accounts.ts';
import { processIdentity, runningTable } from '../../infra/local/state/folder-lock.ts';
import { openState, type State } from '../../infra/local/state/state.ts';
import { newFolder, stopAll } from '../support/instance/start-process.ts';
import { assemblyOf, synthesizeInProcess } from '../support/stack/stack.ts';

/* Files of a state folder that a start cannot use. */

const folder = newFolder();
const keysFile = join(folder, 'keys.json');
afterAll(stopAll);

/**
 * Starts the local cloud on a folder, runs this and stops it. Returns the reason why that fails.
 */
async function reasonNotToStart(
  inFolder = folder,
  run: (cloud: Cloud, state: State) => Promise<unknown> = async () => undefined,
  assembly = inject('assembly'),
): Promise<string | undefined> {
  const state = await openState(inFolder);
  const print = () => undefined;
  const started = startCloud({ assembly, state, port: 0, onLine: print, onEngineExit: print });
  return started
    .then((cloud) => run(cloud, state).finally(cloud.stop))
    .then(
      () => undefined,
      (error: Error) => error.message,
    );
}

describe('a start', () => {
  const startOver =
    `restore ${relative('.', folder)} from a backup, or delete it to start over without ` +
    'its data.';
  const secret = () => randomBytes(32).toString('base64');
  let keys: Record<string, StoredKey>;
  beforeAll(async () => {
    expect(await reasonNotToStart()).toBeUndefined();
    keys = JSON.parse(readFileSync(keysFile, 'utf8'));
  });

  it.each<[string, string, () => Partial<StoredKey> | string]>([
    ['another secret', 'PepperKey', () => ({ material: secret() })],
    [
      'a short secret of an earlier version',
      'ValuesKey',
      () => ({ id: randomUUID(), material: 'AAAA' }),
    ],
    [
      'an invalid signing key of an earlier version',
      'SigningKey',
      () => ({ id: randomUUID(), material: secret() }),
    ],
    ['a key of another spec', 'PepperKey', () => createKey('SYMMETRIC_DEFAULT')],
    ['no key', 'PepperKey', () => 'key'],
  ])('is rejected with %s', async (_, name, change) => {
    const changed = change();
    const key = typeof changed === 'string' ? changed : { ...keys[name], ...changed };
    writeFileSync(keysFile, JSON.stringify({ ...keys, [name]: key }));

    expect(await reasonNotToStart()).toBe(
      `The key ${name} in ${relative('.', folder)}/keys.json is invalid: ${startOver}`,
    );
  });

  it('accepts the random ids of earlier versions', async () => {
    const withRandomIds = Object.entries(keys).map(([name, key]) => [
      name,
      { ...key, id: randomUUID() },
    ]);
    writeFileSync(keysFile, JSON.stringify(Object.fromEntries(withRandomIds)));

    expect(await reasonNotToStart()).toBeUndefined();
  });

  it('is rejected when its table was created with other keys', async () => {
    const lost = newFolder();
    expect(await reasonNotToStart(lost, createFirstAccounts)).toBeUndefined();
    rmSync(join(lost, 'keys.json'));

    const name = relative('.', lost);
    expect(await reasonNotToStart(lost)).toBe(
      `The table in ${name} was created with keys other than those in ${name}/keys.json: ` +
        `restore ${name} from a backup, or delete it to start over without its data.`,
    );
  });

  it('is accepted when all passwords are under a key that cdk.json no longer lists', async () => {
    const rotated = newFolder();
    expect(await reasonNotToStart(rotated, createFirstAccounts)).toBeUndefined();
    const changes = { pepperKeys: ['PepperKey2'] };
    synthesizeInProcess('dev', changes);

    expect(await reasonNotToStart(rotated, undefined, assemblyOf('dev', changes))).toBeUndefined();
  });

  it.each([
    ['mailbox.json', 'delete it to start with an empty mailbox.', '[]'],
    ['keys.json', startOver, ''],
  ])('is rejected with an invalid %s, and names the remedy', async (name, remedy, valid) => {
    writeFileSync(join(folder, name), '{"Key":');
    const reason = await reasonNotToStart();
    writeFileSync(join(folder, name), valid);

    expect(reason).toBe(`${relative('.', folder)}/${name} is not valid JSON: ${remedy}`);
  });
});

it('two starts that wait for the engine of a killed service do not both get it', async () => {
  const shared = newFolder();
  const orphan = spawn(process.execPath, [
    '-e',
    "process.on('SIGTERM', () => setTimeout(process.exit, 300)); setInterval(() => {}, 1000); console.log('ready');",
  ]);
  await once(orphan.stdout, 'data');
  const engine = processIdentity(orphan.pid as number);
  writeFileSync(join(shared, 'processes.json'), JSON.stringify({ service: '4194304:1', engine }));

  const starts = await Promise.allSettled([openState(shared), openState(shared)]);
  for (const start of starts) if (start.status === 'fulfilled') start.value.close();

  expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

it('a lock can disappear at any moment, as it does when its service ends', async () => {
  const shared = newFolder();
  const others = spawn(
    process.execPath,
    [
      '-e',
      `const { linkSync, rmSync, writeFileSync } = require('node:fs');
      writeFileSync('lock', '{"service":"4194304:1"}');
      for (console.log('ready'); ; rmSync('processes.json', { force: true })) {
        try { linkSync('lock', 'processes.json'); } catch {}
      }`,
    ],
    { cwd: shared },
  );
  await once(others.stdout, 'data');
  try {
    for (let read = 0; read < 5000; read++) expect(runningTable(shared)).toBeUndefined();
    for (let start = 0; start < 500; start++) (await openState(shared)).close();
  } finally {
    others.kill('SIGKILL');
    await once(others, 'exit');
  }
});
