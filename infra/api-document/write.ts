import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { print } from '../commands/command-line.ts';
import { defineCommand } from '../commands/define-command.ts';

/** `npm run openapi`: writes openapi.json. */
export const command = defineCommand({
  usage: 'npm run openapi',
  help: 'Writes openapi.json from routes.ts and the contracts. Run it after a change of either.',
  options: {},
  statuses: { written: [0, 'openapi.json is written'], failed: [1, 'openapi.json is not written'] },
  async run() {
    const { openApiText } = await import('./document.ts');
    writeFileSync(join(import.meta.dirname, '../../openapi.json'), openApiText());
    print('openapi.json is written');
    return 'written';
  },
});
