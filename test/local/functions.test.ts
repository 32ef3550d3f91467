import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { runFunctions } from '../../infra/local/lambda/functions.ts';
import { environmentOf } from '../../infra/local/lambda/instance.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';

afterAll(removeFolders);

function run(
  body: string,
  {
    head = '',
    timeoutMs,
    ownTimeoutMs = 60_000,
  }: { head?: string; timeoutMs?: number; ownTimeoutMs?: number } = {},
) {
  const assembly = newFolder();
  const file = join(assembly, 'bundles/f/index.mjs');
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, `${head} export const handler = async (event, context) => { ${body} };`);
  const lines: string[] = [];
  const onLine = (line: string) => lines.push(line);
  const functions = runFunctions({ maxInstancesPerFunction: 1, onLine, timeoutMs });
  functions.replace([{ name: 'f', file, environment: {}, timeoutMs: ownTimeoutMs, memoryMb: 128 }]);
  onTestFinished(() => functions.stop());
  return { functions, lines };
}

describe('a function in the local cloud', () => {
  it('has its errors after the response printed', async () => {
    const { functions, lines } = run(
      "setTimeout(() => Promise.reject(new RangeError('Forgotten')), 250); return 'ok';",
    );

    expect(await functions.invoke('f', {}, 'id')).toBe('ok');

    await expect
      .poll(() => lines)
      .toEqual([
        expect.stringMatching(/^f failed after it had responded: RangeError: Forgotten\n/),
      ]);
  });

  it.each([
    ['its own timeout', '', undefined, 'f timed out after 5 seconds'],
    ['the common timeout', '', 200, 'f timed out after 0.2 seconds'],
    [
      'the common timeout while it starts',
      'await new Promise((done) => setTimeout(done, 5000));',
      200,
      'f timed out after 0.2 seconds',
    ],
  ])('is ended after %s', async (_, head, timeoutMs, sentence) => {
    const body = "if (event.hangs) await new Promise(() => {}); return 'ok';";
    // A busy machine takes seconds to start an instance.
    const timeouts = timeoutMs === undefined ? { ownTimeoutMs: 5000 } : { timeoutMs };
    const { functions } = run(body, { head, ...timeouts });

    await expect(functions.invoke('f', { hangs: true }, '1')).rejects.toThrow(sentence);
    // A new instance handles the next event, if it has time to start.
    if (timeoutMs === undefined) expect(await functions.invoke('f', {}, '2')).toBe('ok');
  });

  it('fails its request when it exits', async () => {
    const { functions } = run('process.exit();');

    await expect(functions.invoke('f', {}, 'id')).rejects.toThrow('f has exited');
  });
});

it('a function has the environment of its stack, and reads no files of the developer', () => {
  const config = { name: 'f', file: '', environment: { OWN: 'yes' }, timeoutMs: 1, memoryMb: 512 };

  expect(environmentOf(config, 'LOCAL7')).toMatchObject({
    OWN: 'yes',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  });
});
