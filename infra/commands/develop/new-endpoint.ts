import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { routes } from '../../../routes.ts';
import { print, printError } from '../command-line.ts';
import { defineCommand, WrongArguments } from '../define-command.ts';
import { scaffold } from './scaffold.ts';

const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = 'infra/api-document/examples.ts';

/** The folder of `lib` from which a handler imports its contract, which has the handler's name. */
function folderOf(handler: string): string | undefined {
  const text = readFileSync(join(ROOT, 'functions', `${handler}.ts`), 'utf8');
  const imports = text.matchAll(/import \{ ([\w, ]+) \} from '\.\.\/lib\/([\w-]+)\//g);
  const name = handler.replaceAll('-', '');
  for (const [, names = '', folder] of imports)
    if (names.toLowerCase().split(', ').includes(name)) return folder;
  return undefined;
}

export const command = defineCommand({
  usage: "npm run admin -- new-endpoint 'METHOD /path'",
  help: `Writes the contract and the rule, the handler, the row in routes.ts and the example of a
new endpoint, for example 'GET /api/zone'. METHOD is GET, POST, PUT, PATCH or DELETE; {name} in
the path is a parameter. Changes nothing else, and no endpoint that exists.`,
  options: {},
  positionals: ['METHOD /path'],
  statuses: { written: [0, 'the files are written'], failed: [1, 'they could not be written'] },
  seeAlso: 'docs/adding-an-endpoint.md shows what is left to do.',
  async run({ positionals: [route = ''] }) {
    const parts = scaffold(route, routes, folderOf);
    if (!parts) throw new WrongArguments(`${route} is not a method and a path.`);
    const { created, addRow, addExample } = parts;
    const taken = routes.some((row) => row.route === route)
      ? route
      : Object.keys(created).find((file) => existsSync(join(ROOT, file)));
    if (taken) throw new WrongArguments(`${taken} exists already.`);
    const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
    const files = {
      ...created,
      'routes.ts': addRow(read('routes.ts')),
      [EXAMPLES]: addExample(read(EXAMPLES)),
    };
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(ROOT, file)), { recursive: true });
      writeFileSync(join(ROOT, file), text);
    }
    const biome = join(ROOT, 'node_modules/.bin/biome');
    const names = Object.keys(files);
    try {
      execFileSync(biome, ['check', '--write', ...names], { cwd: ROOT, stdio: 'pipe' });
    } catch (error) {
      printError(`The files are written, but not formatted. ${(error as Error).message}`);
    }
    const [rule] = Object.keys(created);
    print(`Written: ${names.join(', ')}

1. State the contract and write the rule in ${rule}.
2. List in routes.ts the partition keys that it uses.
3. Show a request and its response in ${EXAMPLES}.
4. npm run update, and look at what it has changed.
5. npm run check
docs/adding-an-endpoint.md explains each step.`);
    return 'written';
  },
});
