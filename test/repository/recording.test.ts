import { type ExecFileException, execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import config from '../../vitest.config.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const RECORDED = `exports[\`recorded 1\`] = \`"before"\`;

exports[\`slow 1\`] = \`"before"\`;
`;

/** A test file that would record a change, with another test before it. */
const fileWith = (other: string) => `
  import { expect, it } from 'vitest';
  ${other}
  it('recorded', () => expect('after').toMatchSnapshot());
`;

it('npm run update writes nothing of a file in which a test or a hook has failed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-recording-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, '__snapshots__'));
  const write = (name: string, other: string) => {
    writeFileSync(join(folder, `${name}.test.ts`), fileWith(other));
    writeFileSync(join(folder, '__snapshots__', `${name}.test.ts.snap`), RECORDED);
  };
  const recorded = (name: string) =>
    readFileSync(join(folder, '__snapshots__', `${name}.test.ts.snap`), 'utf8');
  write('passes', "it('slow', () => expect('after').toMatchSnapshot());");
  write('late', "it('slow', { timeout: 10 }, () => new Promise(() => undefined));");
  write('hook', "import { beforeAll } from 'vitest'; beforeAll(() => { throw new Error('x'); });");
  const runner = JSON.stringify(join(ROOT, config.test?.runner as string));
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `export default { test: { runner: ${runner} } };`,
  );

  const update = join(ROOT, 'test/support/recording/update.mjs');
  const { code, stderr } = await run(process.execPath, [update, '--root', folder]).then(
    () => ({ code: 0, stderr: '' }),
    (error: ExecFileException & { stderr: string }) => error,
  );

  expect(code).toBe(1);
  expect(stderr).toContain('failed:\n  hook.test.ts\n  late.test.ts\nWhat follows');
  expect(recorded('passes')).toContain('after');
  expect([recorded('late'), recorded('hook')]).toEqual([RECORDED, RECORDED]);
});
