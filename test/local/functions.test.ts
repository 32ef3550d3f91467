import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runFunctions } from '../../infra/local/lambda/functions.ts';
import { environmentOf } from '../../infra/local/lambda/instance.ts';
import { newFolder, stopAll } from '../support/instance/start-process.ts';

/* The runtime of functions in the local cloud. */

afterAll(stopAll);

/** Runs a function with this body of its handler, as one instance. */
function run(
  body: string,
  {
    head = '',
    timeoutMs,
    ownTimeoutMs = 1000,
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
      "setTimeout(() => Promise.reject(new RangeError('Forgotten')), 10); return 'ok';",
    );

    expect(await functions.invoke('f', {}, 'id')).toBe('ok');

    await vi.waitFor(() =>
      expect(lines).toEqual([
        expect.stringMatching(/^f failed after it had responded: RangeError: Forgotten\n/),
      ]),
    );
  });

  it.each([
    ['its own timeout', '', undefined, 'f timed out after 1 seconds'],
    ['the common timeout', '', 200, 'f timed out after 0.2 seconds'],
    [
      'the common timeout while it starts',
      'await new Promise((done) => setTimeout(done, 5000));',
      200,
      'f timed out after 0.2 seconds',
    ],
  ])('is ended after %s', async (_, head, timeoutMs, sentence) => {
    const body = "if (event.hangs) await new Promise(() => {}); return 'ok';";
    const { functions } = run(body, { head, ...(timeoutMs !== undefined && { timeoutMs }) });

    await expect(functions.invoke('f', { hangs: true }, '1')).rejects.toThrow(sentence);
    // A new instance handles the next event, if it has time to start.
    if (timeoutMs === undefined) expect(await functions.invoke('f', {}, '2')).toBe('ok');
  });

  it('fails its request when it exits', async () => {
    const { functions } = run('process.exit();');

    await expect(functions.invoke('f', {}, 'id')).rejects.toThrow('f has exited');
  });

  it('handles no event after a recycling, and is ended as soon as it is idle', async () => {
    const { functions, lines } = run(
      'if (event.until) setInterval(() => console.log("alive"), 10);' +
        'while (event.until && !existsSync(event.until)) await setTimeout(10);' +
        'globalThis.events = (globalThis.events ?? 0) + 1; return globalThis.events;',
      {
        head: "import { existsSync } from 'node:fs'; import { setTimeout } from 'node:timers/promises';",
        // A slow machine needs seconds to start the other instance meanwhile.
        ownTimeoutMs: 60_000,
      },
    );
    const invoke = (event = {}) => functions.invoke('f', event, 'id');
    const end = join(newFolder(), 'end');

    const before = [await invoke({ until: import.meta.filename }), await invoke()];
    functions.recycle();
    const after = await invoke();
    const busy = invoke({ until: end });
    functions.recycle();
    const meanwhile = await invoke();
    writeFileSync(end, '');
    const last = await busy;
    await new Promise((done) => setTimeout(done, 50));
    const printed = lines.length;
    await new Promise((done) => setTimeout(done, 100));

    expect([before, after, meanwhile, last]).toEqual([[1, 2], 1, 1, 2]);
    expect([printed > 0, lines.length]).toEqual([true, printed]);
  });

  it('responds to its last request when the next stack does not have it', async () => {
    const { functions } = run("await new Promise((done) => setTimeout(done, 100)); return 'ok';");

    const last = functions.invoke('f', {}, '1');
    const waiting = functions.invoke('f', {}, '2').catch((error) => error.message);
    functions.replace([]);

    expect(await last).toBe('ok');
    await functions.stop();
    expect(await waiting).toBe('There is no function f');
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
