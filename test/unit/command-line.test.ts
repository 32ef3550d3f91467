import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { reportProgress } from '../../infra/commands/command-line.ts';
import { explainError } from '../../infra/commands/explain-error.ts';
import { listTags } from '../../infra/commands/tables.ts';
import { OPERATOR } from '../../infra/local/state/operator.ts';
import { counted } from '../../lib/runtime/counted.ts';
import { scriptedClient } from '../support/doubles/scripted-client.ts';
import { freezeClock } from '../support/doubles/time.ts';

it('reports progress every 10,000 items and every two seconds', () => {
  freezeClock(1_800_000_000_000);
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

it('the tags of a table are read page by page, without the tags of AWS itself', async () => {
  const { settings, inputs } = scriptedClient(
    { Tags: [{ Key: 'team', Value: 'a' }], NextToken: 'more' },
    {
      Tags: [
        { Key: 'aws:cloudformation:stack-name', Value: 'Gate' },
        { Key: 'gatehouse:values-key', Value: 'b' },
      ],
    },
  );

  const tags = await listTags(new DynamoDBClient(settings), { TableArn: 'arn:of-gate' });

  expect(tags).toEqual({ team: 'a', 'gatehouse:values-key': 'b' });
  expect(inputs()).toEqual([
    { ResourceArn: 'arn:of-gate' },
    { ResourceArn: 'arn:of-gate', NextToken: 'more' },
  ]);
});

describe('the explanation of an error', () => {
  it.each<[{ name: string } | { code: string }, string]>([
    [
      { name: 'ExpiredTokenException' },
      'The AWS credentials have expired: renew them and run the command again.',
    ],
    [{ name: 'UnrecognizedClientException' }, 'AWS rejects the credentials: so it is.'],
    [
      { name: 'AccessDeniedException' },
      'A permission is missing (docs/commands.md lists them): so it is.',
    ],
    [{ name: 'TimeoutError' }, 'AWS did not respond in time: run the command again.'],
    [{ name: 'ValidationException' }, 'ValidationException: so it is.'],
    [{ code: 'ECONNRESET' }, 'The table cannot be reached: the service may have been stopped.'],
    // Node names neither the setting nor its value.
    [{ code: 'ERR_INVALID_URL' }, 'The endpoint_url of the AWS profile is not a URL.'],
  ])('with %j is one sentence: %s', (fields, sentence) => {
    const error = Object.assign(new Error('so\n  it is.'), fields);

    expect(explainError(error, 'Gate')).toBe(sentence);
  });

  it('of an answer that is not JSON says where it may come from', async () => {
    let [status, body] = [200, '<html>'];
    const server = createServer((_, response) => response.writeHead(status).end(body)).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new DynamoDBClient({ endpoint, region: 'eu-north-1', credentials: OPERATOR });

    const explanations = [];
    for ([status, body] of [
      [200, '<html>'],
      [404, ''],
      [400, '{"error":"no"}'],
    ] as const)
      explanations.push(
        await client.send(new ListTablesCommand({})).catch((error) => explainError(error, 'Gate')),
      );
    client.destroy();

    const remedy = 'check AWS_ENDPOINT_URL, the endpoint_url of the AWS profile, and any proxy.';
    expect(explanations).toEqual(
      [200, 404, 400].map((code) => `The answer with status ${code} is not from AWS: ${remedy}`),
    );
    expect(explainError(new SyntaxError('<'), 'Gate')).toBe(
      `The answer is not from AWS: ${remedy}`,
    );
  });
});
