import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** The text of each generated file by its path. */
function clientIn(root: string): Map<string, string> {
  const folder = join(root, 'examples/client');
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  );
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

it('examples/client is current: otherwise run npm run client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-client-'));
  for (const file of ['openapi.json', 'openapi-ts.config.ts', 'tsconfig.json'])
    copyFileSync(join(ROOT, file), join(folder, file));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync(process.execPath, ['node_modules/@hey-api/openapi-ts/bin/run.js'], {
    cwd: folder,
    stdio: 'pipe',
  });
  const [committed, generated] = [clientIn(ROOT), clientIn(folder)];
  rmSync(folder, { recursive: true });

  const paths = new Set([...committed.keys(), ...generated.keys()]);
  expect([...paths].filter((path) => committed.get(path) !== generated.get(path))).toEqual([]);
  expect(paths).toContain('sdk.gen.ts');
});
