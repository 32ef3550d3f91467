import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, it } from 'vitest';
import { buildConsole } from '../../infra/bundle/console.ts';

const folder = mkdtempSync(join(tmpdir(), 'console-'));
afterAll(() => rmSync(folder, { recursive: true }));
const contentsOf = (build: string) =>
  Object.fromEntries(
    globSync('**/*.*', { cwd: build }).map((name) => [
      name,
      readFileSync(join(build, name)).toString('base64'),
    ]),
  );

it('a build has the bytes of any other, also in the folder of an older one', async () => {
  writeFileSync(join(folder, 'older.js'), '');
  await buildConsole(folder);

  expect(contentsOf(folder)).toEqual(
    contentsOf(join(inject('assembly'), 'bundles/get-console/console')),
  );
});
