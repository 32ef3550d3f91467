import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJsonSchema } from '@valibot/to-json-schema';
import { ROOT } from './environment-files.ts';
import { settings } from './settings.ts';

/** The schema by which editors complete and check the files of environments. */
export function environmentSchema(): object {
  const { properties, ...rest } = toJsonSchema(settings, {
    target: 'draft-2020-12',
    typeMode: 'input',
    // Some checks have no equivalent, such as the rules about several settings.
    errorMode: 'ignore',
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'The settings of an environment of Gatehouse, in environments/NAME.json',
    ...rest,
    properties: { $schema: { type: 'string' }, ...properties },
  };
}

if (import.meta.main)
  writeFileSync(join(ROOT, 'docs/environment.schema.json'), JSON.stringify(environmentSchema()));
