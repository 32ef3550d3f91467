import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runFunctions } from '../../infra/local/lambda/functions.ts';
import { newFolder, stopAll } from '../support/start-process.ts';

/* The runtime of functions in the local cloud. */

afterAll(stopAll);

/** Runs a function with this body of its handler, as one instance. */
function run(body: string) {
  const assembly = newFolder();
  const file = join(assembly, 'bundles/f/index.mjs');
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, `export const handler = async (event) => { ${body} };`);
  const lines: string[] = [];
  const functions = runFunctions([{ name: 'f', file, environment: {}, timeoutMs: 1000, memoryMb: 128 }], {
    endpoint: 'http://127.0.0.1:9',
    region: 'eu-central-1',
    maxInstancesPerFunction: 1,
    onLine: (line) => lines.push(line),
  });
  onTestFinished(() => functions.stop());
  return { assembly, functions, lines };
}

describe('a function in the local cloud', () => {
  it('has its errors after the response printed', async () => {
    const { functions, lines } = run("setTimeout(() => Promise.reject(new RangeError('Forgotten')), 10); return 'ok';");

    expect(await functions.invoke('f', {}, 'id')).toBe('ok');

    await vi.waitFor(() =>
      expect(lines).toEqual([expect.stringMatching(/^f failed after it had responded: RangeError: Forgotten\n/)]),
    );
  });

  it('prints text and bytes, and is told when they are written', async () => {
    const { functions, lines } = run(
      "process.stdout.write(new TextEncoder().encode('bytes\\n'));" +
        "await new Promise((done) => process.stdout.write('text\\n', 'utf8', done)); return 'written';",
    );

    expect(await functions.invoke('f', {}, 'id')).toBe('written');

    await vi.waitFor(() => expect(lines).toEqual(['bytes', 'text']));
  });

  it('never handles an event whose sender stopped waiting for an instance', async () => {
    const { functions, lines } = run(
      "console.log(event.name); await new Promise((done) => setTimeout(done, 100)); return 'ok';",
    );
    const abandoned = new AbortController();

    void functions.invoke('f', { name: 'first' }, '1');
    void functions.invoke('f', { name: 'second' }, '2', new AbortController().signal);
    const rejected = functions.invoke('f', { name: 'abandoned' }, '3', abandoned.signal).catch(String);
    const last = functions.invoke('f', { name: 'last' }, '4');
    abandoned.abort();

    await vi.waitFor(() => expect(lines.at(-1)).toBe('last'));
    await last;
    expect(await Promise.race([rejected, 'pending'])).toContain('busy for too long');
    expect(lines).toEqual(['first', 'second', 'last']);
  });

  it('is compiled into the folder of its assembly, which is deleted together with it', async () => {
    const { assembly, functions } = run("return 'ok';");
    await functions.invoke('f', {}, 'id');

    expect(existsSync(join(assembly, 'compiled'))).toBe(true);
  });
});
