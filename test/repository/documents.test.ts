import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../infra/commands/admin.ts';

/*
 * Every relative link in the documents, and every document that a source names, leads to a file
 * and, with a fragment, to one of its headings; every npm script that they name exists.
 */

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTS = globSync(['*.md', '{docs,test}/**/*.md'], { cwd: ROOT });

const SOURCES = globSync('{lib,functions,infra,console,test,examples}/**/*.{ts,tsx,mjs,yml,yaml}', {
  cwd: ROOT,
  exclude: ['examples/client/**', 'console/api/generated/**'],
});

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const withoutCode = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

/** The fragment that GitHub makes from the text of a heading. */
function fragmentOf(heading: string): string {
  const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

const fragmentsOf = (path: string): Set<string> =>
  new Set(
    [...withoutCode(read(path)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      fragmentOf(heading),
    ),
  );

function isBroken(document: string, link: string): boolean {
  const [path = '', fragment] = link.split('#');
  const target = path ? normalize(join(dirname(document), path)) : document;
  if (!existsSync(join(ROOT, target))) return true;
  return fragment !== undefined && target.endsWith('.md') && !fragmentsOf(target).has(fragment);
}

it.each(DOCUMENTS)('the links in %s lead somewhere', (document) => {
  const links = [...withoutCode(read(document)).matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, link = '']) => link,
  );
  const relative = links.filter((link) => !/^\w+:/.test(link));

  expect(relative.filter((link) => isBroken(document, link))).toEqual([]);
});

it.each(DOCUMENTS)('the numbered references in %s have definitions', (document) => {
  const text = withoutCode(read(document));
  const used = [...text.matchAll(/\[(\d+)\](?![(:])/g)].map(([, number]) => number);
  const defined = new Set([...text.matchAll(/^\[(\d+)\]: \S+$/gm)].map(([, number]) => number));

  expect(used.filter((number) => !defined.has(number))).toEqual([]);
});

it('the documents that sources name exist', () => {
  const missing = SOURCES.flatMap((source) =>
    [...read(source).matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)]
      .filter(([name]) => isBroken('', name))
      .map(([name]) => `${source}: ${name}`),
  );

  expect(SOURCES.length).toBeGreaterThan(500);
  expect(missing).toEqual([]);
});

it('the npm scripts that documents, sources and examples name exist', () => {
  const scripts = JSON.parse(read('package.json')).scripts;
  const missing = [...DOCUMENTS, ...SOURCES].flatMap((file) =>
    [...read(file).matchAll(/\bnpm\s+run\s+(?:--silent\s+)?([a-z][\w:-]*)/g)]
      .filter(([, script = '']) => !Object.hasOwn(scripts, script))
      .map(([name]) => `${file}: ${name}`),
  );

  expect(missing).toEqual([]);
});

/* examples/github-actions, which operators copy: their runs are the first to notice a mistake. */

const WORKFLOW = read('examples/github-actions/deploy.yml');

const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, match = '']) => match);

it('the workflow runs only commands that exist', () => {
  const verbs = matches(WORKFLOW, /\bnpm run (?:--silent )?admin -- (\S+)/g);
  expect(verbs.filter((verb) => !(verb in COMMANDS))).toEqual([]);
  expect(verbs).toContain('preflight');
});

it('the workflows pin each action to a commit, and name its release', () => {
  const workflows = WORKFLOW + read('examples/github-actions/plan.yml');
  const actions = matches(workflows, /\buses: (.*)/g);

  expect(actions.length).toBeGreaterThan(5);
  expect(actions.filter((action) => !/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
});

it('the role has the permissions of preflight', () => {
  const [table = ''] =
    /^`preflight` changes nothing[\s\S]*?\n\n`/m.exec(read('docs/commands.md')) ?? [];
  const role = read('examples/github-actions/role.yaml');

  const permissions = matches(table, /`([a-z]+:[A-Z]\w+)`/g);

  expect(permissions).toContain('ses:GetAccount');
  expect(permissions.filter((permission) => !role.includes(permission))).toEqual([]);
});
