import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { transformSync } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';
import { openRequestLog } from '../../infra/local/gateway/request-log.ts';
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

/**
 * Passes lines of a function to a log, and returns what is printed. The file must contain these
 * lines.
 */
async function printedFor(lines: readonly string[], inFile: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'functions.log');
  const printed: string[] = [];
  const onLine = openRequestLog((line) => printed.push(stripVTControlCharacters(line)), file);

  for (const line of lines) onLine(line);

  await expect
    .poll(() => readFileSync(file, 'utf8'))
    .toBe(inFile.map((line) => `${line}\n`).join(''));
  return printed;
}

const REQUEST = { requestId: 'r', kind: 'read', milliseconds: 12, _aws: { Timestamp: 1 } };

it('shows a request on one line, without its metrics, and keeps the line of the log', async () => {
  const line = JSON.stringify({
    ...REQUEST,
    route: 'GET /api/users/{login}',
    status: 404,
    callerId: 3,
    failure: 'not-found',
  });

  const printed = await printedFor([line], [line]);

  expect(printed.map((text) => text.split(/ +/))).toEqual([
    ['GET', '/api/users/{login}', '404', '12', 'ms', 'user', '3', 'not-found'],
  ]);
});

it('shows no other line of the log, such as the line of an error', async () => {
  const lines = ['{"requestId":"r","defect":"RangeError"}', '{"mails":1,"_aws":{"Timestamp":1}}'];

  expect(await printedFor(lines, lines)).toEqual([]);
});

it('shows what else a function writes as it is', async () => {
  const lines = ['{ a: 1 }', '{"cut', 'text'];

  expect(await printedFor(lines, [])).toEqual(lines);
});
