import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyRepository, runProgram } from '../support/commands/run-command.ts';
import { newFolder, removeFolders } from '../support/instance/folders.ts';

afterAll(removeFolders);

describe('npm run admin -- new-endpoint', () => {
  const folder = newFolder();
  beforeAll(() => copyRepository(folder));
  const bin = (...args: string[]) => runProgram(args, {}, folder);
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const routesIn = (text: string) =>
    [...text.matchAll(/'([A-Z]+ \/[^']+)'/g)].map(([, route = '']) => route);

  it.each([
    [
      'GET /api/audits/actions',
      'lib/audit/list-actions.ts',
      'GET /api/audits',
      ["{ anyRole: ['ROLE_ADMIN'] }", 'v.array('],
      '{ response: [] }',
    ],
    [
      'GET /api/utm-integrations/{id}/notes/{noteId}',
      'lib/integrations/get-note.ts',
      'GET /api/utm-integrations/{id}',
      ["access: 'authenticated'", '...idInPath.entries', 'noteId: v.string()'],
      "needs: 'integration', path: { id: 1, noteId: 'noteId' }, response: {}",
    ],
  ])(
    'makes %s like its siblings, and its row follows theirs',
    async (route, rule, sibling, parts, example) => {
      expect(await bin('admin', 'new-endpoint', route)).toMatchObject({ stderr: '' });

      for (const part of parts) expect(read(rule)).toContain(part);
      const rows = routesIn(read('routes.ts'));
      expect(rows[rows.indexOf(route) - 1]).toBe(sibling);
      const examples = read('infra/api-document/examples.ts').replaceAll(/\s+/g, ' ');
      const [before = '', own] = examples.split(` '${route}': `);
      expect(routesIn(before).at(-1)).toBe(sibling);
      expect(own).toContain(example);
    },
  );

  it.each([
    ['GET /api/users', 'GET /api/users exists already.'],
    ['get /api/zones', 'get /api/zones is not a method and a path.'],
  ])('rejects %s', async (route, sentence) => {
    expect(await bin('admin', 'new-endpoint', route)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(`^${sentence}\nUsage: `),
    });
  });
});

const ROOT = join(import.meta.dirname, '../..');
const OTHERS = ['docs', 'examples', 'test', 'vitest.config.ts', 'README.md', 'SECURITY.md'];

it('the code of docs/adding-an-endpoint.md makes an endpoint and a list that pass the tests', {
  timeout: 900_000,
}, async () => {
  const folder = newFolder();
  copyRepository(folder);
  for (const name of OTHERS) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  const run = (...args: string[]) => runProgram(args, {}, folder);
  const page = readFileSync(join(ROOT, 'docs/adding-an-endpoint.md'), 'utf8');

  for (const route of ['GET /api/zone', 'GET /api/utm-integrations/names'])
    expect(await run('admin', 'new-endpoint', route)).toMatchObject({ code: 0, stderr: '' });
  for (const [, file = '', code = ''] of page.matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g)) {
    const written = readFileSync(join(folder, file), 'utf8');
    const [begin = ''] = /^ +(contract: \w+|'.+?')/.exec(code) ?? [];
    const former = new RegExp(`^${begin}.*\\n( +permissions.*\\n)?`, 'm');
    const changed = begin === '' ? code : written.replace(former, () => code);
    expect(changed, file).not.toBe(written);
    writeFileSync(join(folder, file), changed);
  }
  const openapi = ['--update=all', '--project', 'unit', 'test/unit/openapi.test.ts'];
  const written = await run('vitest', 'run', ...openapi, '-t', 'current');
  const compiled = await run('tsc');
  const tests = ['openapi', 'unauthorized', 'refusal-costs'].map(
    (name) => `test/api/${name}.test.ts`,
  );
  const tried = await run('vitest', 'run', '--project', 'stack', ...tests);

  for (const { code, stdout, stderr } of [written, compiled, tried])
    expect(code, stdout + stderr).toBe(0);
  expect(readFileSync(join(folder, 'openapi.json'), 'utf8')).toContain('"/api/zone"');
});
