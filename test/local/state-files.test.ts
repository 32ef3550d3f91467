import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startEngine } from '../../infra/local/aws/engine.ts';
import { type Cloud, startCloud } from '../../infra/local/cloud.ts';
import { createFirstAccounts } from '../../infra/local/first-accounts.ts';
import { openMemoryState, openState, type State } from '../../infra/local/state/state.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';
import { logIn } from '../support/instance/start-process.ts';

/* Files of a state folder that a start cannot use. */

const folder = newFolder();
afterAll(removeFolders);

function start(state: State, engineUrl?: string): Promise<Cloud> {
  const print = () => undefined;
  const assembly = inject('assembly');
  return startCloud({ assembly, state, engineUrl, port: 0, onLine: print, onEngineExit: print });
}

/** Starts the local cloud, runs this and stops it. Returns why that fails. */
async function reasonNotToStart(
  inFolder = folder,
  run: (cloud: Cloud, state: State) => Promise<unknown> = async () => undefined,
): Promise<string | undefined> {
  const state = await openState(inFolder);
  return start(state)
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
  beforeAll(async () => {
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

it('a start is rejected on a damaged data file, and names the remedy', async () => {
  const damaged = newFolder();
  writeFileSync(join(damaged, 'gatehouse.db'), `SQLite format 3\0${'damaged'.repeat(2000)}`);

  expect(await reasonNotToStart(damaged)).toMatch(
    /gatehouse.db is not a database: restore .* from a backup, or delete it to start over/,
  );
});

/* The local cloud on an engine that it did not start, which records how it is called. */

const engine = await startEngine(
  { file: undefined, externalUrl: undefined },
  () => undefined,
  () => undefined,
);
const authorizations = new Set<string | undefined>();
const deletedTables: string[] = [];
const proxy = createServer(async (req, res) => {
  let body = '';
  for await (const chunk of req.setEncoding('utf8')) body += chunk;
  const { authorization = '', 'x-amz-target': target = '', 'x-amz-date': date = '' } = req.headers;
  authorizations.add(authorization);
  if (String(target).endsWith('.DeleteTable')) deletedTables.push(JSON.parse(body).TableName);
  const headers = { authorization, 'x-amz-target': String(target), 'x-amz-date': String(date) };
  const contentType = { 'content-type': 'application/x-amz-json-1.0' };
  const response = await fetch(engine.url, {
    method: 'POST',
    headers: { ...headers, ...contentType },
    body,
  });
  res.writeHead(response.status, contentType).end(await response.text());
});
let engineUrl: string;
beforeAll(async () => {
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  engineUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await engine.stop();
});

it('the embedded engine listens on a random loopback address', () => {
  expect(new URL(engine.url).hostname).toMatch(/^127\.[1-9]\d{0,2}\.\d{1,3}\.[1-9]\d{0,2}$/);
});

describe('the local cloud on another engine', () => {
  async function run(state: State): Promise<void> {
    const cloud = await start(state, engineUrl);
    await createFirstAccounts(cloud, state);
    expect(await logIn(cloud.url, 'admin')).toBeTruthy();
    await cloud.stop();
  }

  it('makes all calls with one key and region, and keeps the table when it stops', async () => {
    await run(await openState(newFolder()));

    expect([...authorizations]).toEqual([
      expect.stringContaining('Credential=operator/20200101/us-east-1/dynamodb/'),
    ]);
    expect(deletedTables).toEqual([]);
  });

  it('does not start when the table was created with the keys of another folder', async () => {
    const { message } = await start(await openState(newFolder()), engineUrl).catch(
      (error) => error,
    );

    expect(message).toMatch(
      /^The table Gatehouse-dev-Table at http:\S+ was created with keys other than those in .+: set STATE_DIR to/,
    );
  });

  it('has a table of its own with its state in memory, and deletes it when it stops', async () => {
    await run(openMemoryState());

    expect(deletedTables).toEqual([expect.stringMatching(/^Gatehouse-dev-Table-[\da-f]{8}$/)]);
  });
});
