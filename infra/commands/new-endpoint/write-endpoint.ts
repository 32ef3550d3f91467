import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { print } from '../command-line.ts';
import { WrongArguments } from '../define-command.ts';
import type { Scaffold } from './scaffold.ts';

const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = 'infra/api-document/examples.ts';

/** Writes the files of a new endpoint, and prints what is left to do. */
export function writeEndpoint({ created, addRow, addExample }: Scaffold): void {
  const taken = Object.keys(created).find((file) => existsSync(join(ROOT, file)));
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
  execFileSync(biome, ['check', '--write', ...Object.keys(files)], { cwd: ROOT, stdio: 'pipe' });
  const [rule] = Object.keys(created);
  print(`Written: ${Object.keys(files).join(', ')}

1. State the contract and write the rule in ${rule}.
2. List in routes.ts the partition keys that it uses.
3. Show a request and its response in ${EXAMPLES}.
4. npm run update, and look at what it has changed.
5. npm run check
docs/adding-an-endpoint.md explains each step.`);
}
