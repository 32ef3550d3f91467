import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { routes } from '../../routes.ts';
import { print, readArguments } from '../commands/command-line.ts';
import { openApiText } from './document.ts';

/* `npm run openapi`: writes openapi.json. */

readArguments({
  usage: 'npm run openapi',
  help: 'Writes openapi.json, the description of the API, from routes.ts and the contracts. Run it after a change of either.',
  options: {},
});
writeFileSync(join(import.meta.dirname, '../../openapi.json'), openApiText(routes));
print('openapi.json is written');
