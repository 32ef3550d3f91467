import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';
import { readableError } from '../../infra/local/lambda/readable-error.ts';

it.each(['bundle', 'a b (1) ä'])(
  'a frame of a bundle in the folder %j names the position in the source',
  (name) => {
    const temporary = mkdtempSync(join(tmpdir(), 'gatehouse-bundle-'));
    onTestFinished(() => rmSync(temporary, { recursive: true, force: true }));
    const path = join(temporary, name, 'index.mjs');
    const { code, map } = transformSync('export function fail() {\n  throw new Error();\n}\n', {
      minify: true,
      sourcemap: true,
      sourcefile: 'lib/no-such-file.ts',
    });
    mkdirSync(dirname(path));
    writeFileSync(path, code);
    writeFileSync(`${path}.map`, map);
    const position = `${pathToFileURL(path)}:1:${code.indexOf('new Error') + 1}`;

    const readable = readableError(`Error: no\n    at f (${position})\n    at async ${position}`);

    expect(readable).toBe(
      'Error: no\n    at lib/no-such-file.ts:2:9\n    at lib/no-such-file.ts:2:9',
    );
  },
);
