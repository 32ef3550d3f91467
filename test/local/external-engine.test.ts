import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { whereDataIs } from '../../infra/local/announce.ts';
import { startEngine } from '../../infra/local/aws/engine.ts';
import { startCloud } from '../../infra/local/cloud.ts';
import { createFirstAccounts } from '../../infra/local/first-accounts.ts';
import { openMemoryState, openState, type State } from '../../infra/local/state/state.ts';
import { logIn, newFolder, stopAll } from '../support/instance/start-process.ts';

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
  await stopAll();
  proxy.closeAllConnections();
  proxy.close();
  await engine.stop();
});

it('the embedded engine listens on a random loopback address', () => {
  expect(new URL(engine.url).hostname).toMatch(/^127\.[1-9]\d{0,2}\.\d{1,3}\.[1-9]\d{0,2}$/);
});

const ENGINE = 'http://127.0.0.1:8000';
it.each<[string, string | undefined, string | undefined, string]>([
  ['a state folder', '.local', undefined, 'All data is in .local/'],
  [
    'no state folder',
    undefined,
    undefined,
    'All data is in memory and will be lost when the service stops',
  ],
  [
    'a state folder and another engine',
    '.local',
    ENGINE,
    `The table is in the DynamoDB engine at ${ENGINE}; its keys and all mail are in .local/`,
  ],
  [
    'another engine and no state folder',
    undefined,
    ENGINE,
    `The table is in the DynamoDB engine at ${ENGINE} and will be deleted when the service stops`,
  ],
])('npm start says where its data is with %s', (_, folder, engine, sentence) => {
  expect(whereDataIs(folder, engine)).toBe(sentence);
});

describe('the local cloud on another engine', () => {
  const print = () => undefined;
  const start = (state: State) =>
    startCloud({
      assembly: inject('assembly'),
      state,
      engineUrl,
      port: 0,
      onLine: print,
      onEngineExit: print,
    });

  /** Starts it, logs in and stops it. */
  async function run(state: State): Promise<void> {
    const cloud = await start(state);
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
    const { message } = await start(await openState(newFolder())).catch((error) => error);

    expect(message).toMatch(
      /^The table Gatehouse-dev-Table at http:\S+ was created with keys other than those in .+: set STATE_DIR to/,
    );
  });

  it('has a table of its own with its state in memory, and deletes it when it stops', async () => {
    await run(openMemoryState());

    expect(deletedTables).toEqual([expect.stringMatching(/^Gatehouse-dev-Table-[\da-f]{8}$/)]);
  });
});
