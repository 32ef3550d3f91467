import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import {
  environmentFile,
  OWN_FOLDER,
  pathOf,
  sharedTemplates,
} from '../../settings/environment-files.ts';
import defaultTemplates from '../../settings/mail-templates.json' with { type: 'json' };
import { rejectPlaceholders, settingsOf } from '../../settings/read-settings.ts';
import { print } from '../command-line.ts';
import { defineCommand } from '../define-command.ts';

/** `npm run convert-settings`: writes the settings of an environment in an earlier cdk.json. */
export const command = defineCommand({
  usage: 'npm run convert-settings -- --from FILE --env NAME [--account ID]',
  help: `Writes the settings of an environment that are in a cdk.json of a release before 1.0.0 into
environments/NAME.json, without those that equal the defaults, and its texts of mails into
environments/mail-templates.json if they are not the default ones. Overwrites no file.

--from FILE   the cdk.json; git show COMMIT:cdk.json prints that of a commit
--env NAME    the environment
--account ID  the AWS account of the environment, which earlier settings do not name`,
  options: { from: { type: 'string' }, env: { type: 'string' }, account: { type: 'string' } },
  required: ['from', 'env'],
  statuses: {
    written: [0, 'the files are written'],
    failed: [1, 'the settings are invalid, or a file exists; nothing is written'],
  },
  seeAlso: 'docs/upgrading.md has the procedure.',
  async run({ values: { from, env, account } }) {
    const { context } = readJson(from);
    const earlier = context?.environments?.[env];
    if (!earlier) throw new Error(`${from} has no environment ${env}.`);
    const file = environmentFile(env);
    const templates = context.mailTemplates;
    const own = {
      ...(account !== undefined && { account }),
      ...earlier,
      ...(context.transport !== undefined && { transport: context.transport }),
    };
    rejectPlaceholders(settingsOf(own, { file: `${from} (${env})`, templates }));
    const files = new Map<string, object>([[file, withoutDefaults(own)]]);
    if (!isDeepStrictEqual(templates, sharedTemplates() ?? defaultTemplates))
      files.set(environmentFile('mail-templates'), templates);
    for (const name of files.keys())
      if (existsSync(pathOf(name))) throw new Error(`${name} exists. Nothing is written.`);
    mkdirSync(pathOf(OWN_FOLDER), { recursive: true });
    for (const [name, content] of files) {
      writeFileSync(pathOf(name), `${JSON.stringify(content, null, 2)}\n`);
      print(name);
    }
    return 'written' as const;
  },
});

function readJson(file: string) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file} cannot be read as JSON: ${(error as Error).message}`);
  }
}

/** The settings whose absence would change the environment, and the schema for editors. */
function withoutDefaults(own: Readonly<Record<string, unknown>>): object {
  const templates = sharedTemplates();
  const read = (settings: object) => settingsOf({ ...settings }, { file: '', templates }).settings;
  const all = read(own);
  const needed = Object.entries(own).filter(([name]) => {
    const { [name]: _, ...others } = own;
    try {
      return !isDeepStrictEqual(read(others), all);
    } catch {
      return true;
    }
  });
  return { $schema: '../docs/environment.schema.json', ...Object.fromEntries(needed) };
}
