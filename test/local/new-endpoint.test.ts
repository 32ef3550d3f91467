import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyRepository } from '../support/commands/copy-repository.ts';
import { runCommand } from '../support/commands/run-command.ts';

describe('npm run new-endpoint', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-endpoint-'));
  beforeAll(() => copyRepository(folder));
  afterAll(() => rmSync(folder, { recursive: true }));
  const bin = (name: string, ...args: string[]) => runCommand(name, args, {}, folder);
  const compile = () => bin('tsc', '--noEmit', '-p', 'tsconfig.json');

  it('writes an endpoint that compiles, with its row and its example', async () => {
    expect(await bin('new-endpoint', 'GET /api/made-by-test/{id}')).toMatchObject({ stderr: '' });

    expect(await compile()).toMatchObject({ stdout: '', stderr: '' });
    const print =
      "import { openApiText } from './infra/api-document/document.ts';" +
      'console.log(openApiText());';
    const args = ['--input-type=module', '-e', print];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: folder,
      maxBuffer: 8 * 1024 * 1024,
    });
    const document = JSON.parse(stdout);
    expect(document.paths['/api/made-by-test/{id}'].get).toMatchObject({
      operationId: 'getMadeByTest',
      security: [{ token: [] }],
      parameters: [{ name: 'id', in: 'path', example: 1 }],
    });
  });

  it('leaves the audit event of a change to the developer', async () => {
    await bin('new-endpoint', 'PUT /api/made-by-test/{id}');

    expect((await compile()).stdout).toMatch(
      /^lib\/made-by-test\/update-made-by-test\.ts.*AuditEvent.*action, target, targetName, fields\n$/,
    );
  });

  it.each([
    ['GET /api/users', 'GET /api/users exists already.'],
    ['POST /api/user', 'functions/create-user.ts exists already.'],
    ['get /api/zones', 'get /api/zones is not a method and a path.'],
  ])('rejects %s', async (route, sentence) => {
    expect(await bin('new-endpoint', route)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(`^${sentence}\nUsage: `),
    });
  });
});
