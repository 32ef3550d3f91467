import { backupStackName } from './backup.ts';
import { stackName } from './environment.ts';
import {
  EXAMPLE_FOLDER,
  environmentFile,
  OWN_FOLDER,
  readEnvironment,
} from './environment-files.ts';
import { readMailTexts } from './mail-texts.ts';
import { invalid, parse } from './setting.ts';
import { type Settings, settings as schema } from './settings.ts';

/** What `-c KEY=VALUE` sets. */
const CONTEXT_KEYS = ['env', 'example', 'unprotected', 'deployment', 'transport', 'checked'];

/** Keys of the CDK itself; all others contain a colon. */
const CDK_KEYS = ['cli-telemetry', 'acknowledged-issue-numbers'];

/** An account of AWS's documentation: with it, the CDK deploys no example. */
const EXAMPLE_ACCOUNT = '123456789012';

/** Marks a synthesis of the local cloud. The CDK CLI passes texts only, so no `-c` can set it. */
export const LOCAL = 'gatehouse:local';
/** The settings of issuers in a synthesis of the local cloud, in place of the environment's. */
export const LOCAL_ISSUERS = 'gatehouse:issuers';

/** Reads the environment of `-c env=…`. Throws a single error that lists all violations. */
export function readSettings(all: Readonly<Record<string, unknown>>) {
  rejectUnknownKeys(Object.keys(all));
  const isExample = flagIn(all, 'example', false);
  const folder = isExample ? EXAMPLE_FOLDER : OWN_FOLDER;
  if (all.env === undefined)
    throw new Error(
      'No environment is selected: add -c env=NAME, the name of a file in environments/.',
    );
  const name = String(all.env);
  const isLocal = all[LOCAL] === true;
  const { $schema: _, ...own } = readEnvironment(name, folder);
  const read = settingsOf(
    {
      ...own,
      ...(all.deployment !== undefined && { deployment: all.deployment }),
      ...(all.transport !== undefined && { transport: all.transport }),
      ...(isLocal && (all[LOCAL_ISSUERS] as Pick<Settings, 'issuers' | 'moduleIssuers'>)),
    },
    environmentFile(name, folder),
  );
  requireName(name, read);
  if (!isExample && !isLocal) rejectPlaceholders(read);
  const settings: Settings = {
    ...(isExample && !isLocal && { account: EXAMPLE_ACCOUNT }),
    ...read.settings,
    unprotected: flagIn(all, 'unprotected', false),
  };
  const mailTexts = readMailTexts(settings.mail.language, `${folder}/mail`);
  return { name, ...read, settings, mailTexts, checked: flagIn(all, 'checked', true) };
}

/** The settings of an environment and the paths of its placeholders. */
export function settingsOf(environment: Readonly<Record<string, unknown>>, file: string) {
  const output = parse('setting', file, schema, environment);
  return { file, settings: output, placeholders: placeholdersIn(output) };
}

/** Throws if a setting only stands for an operator's own. */
export function rejectPlaceholders({ file, placeholders }: ReturnType<typeof settingsOf>): void {
  if (placeholders.length === 0) return;
  const violations = placeholders.map(
    ({ path, value }) => `${path}: replace the placeholder ${JSON.stringify(value)}`,
  );
  throw invalid('setting', file, violations);
}

/** Throws if AWS would not accept the names that begin with `Gatehouse` and end with this one. */
function requireName(name: string, { file, settings }: ReturnType<typeof settingsOf>): void {
  // A name of a vault of AWS Backup has at most 50 characters, a name of CodeDeploy 100.
  const longest = settings.backup ? 50 - backupStackName('').length : 100 - stackName('').length;
  if (/^[a-zA-Z0-9-]+$/.test(name) && name.length <= longest) return;
  throw invalid('setting', file, [
    `The name of the environment must have at most ${longest} letters, digits and hyphens` +
      (settings.backup ? ', because the setting backup creates a vault with it' : ''),
  ]);
}

/** A misspelled `-c deploymnet=…` would otherwise have no effect. */
function rejectUnknownKeys(keys: readonly string[]): void {
  const known = [...CONTEXT_KEYS, ...CDK_KEYS];
  const unknown = keys.find((key) => !key.includes(':') && !known.includes(key));
  if (unknown === undefined) return;
  throw new Error(`There is no context key ${unknown}; there are ${CONTEXT_KEYS.join(', ')}.`);
}

/** A value that is true or false. The CDK CLI passes the values of `-c` as strings. */
function flagIn(
  context: Readonly<Record<string, unknown>>,
  key: string,
  byDefault?: boolean,
): boolean {
  const value = String(context[key] ?? byDefault);
  if (!/^(true|false)$/.test(value)) throw new Error(`${key} must be true or false, not ${value}.`);
  return value === 'true';
}

/*
 * Values that only stand for an operator's own: names reserved by RFC 2606 and RFC 6761,
 * addresses of this machine, and the accounts in AWS's documentation.
 */
const HOST =
  /(?:^|\.)example\.(?:com|net|org)$|\.(?:example|test|invalid|localhost)$|^localhost$|^127\.|^\[::1\]$/i;
const ACCOUNT = /^(arn:.*:)?(123456789012|111122223333)(:|$)/;

/** The paths of all placeholders in the settings of an environment, each with its value. */
function placeholdersIn(value: unknown, path = ''): { path: string; value: string }[] {
  if (typeof value === 'string')
    return HOST.test(hostIn(value)) || ACCOUNT.test(value) ? [{ path, value }] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    placeholdersIn(part, path ? `${path}.${name}` : name),
  );
}

/** The host of a URL or an e-mail address; anything else may be a host itself. */
const hostIn = (value: string): string =>
  URL.parse(value)?.hostname || value.slice(value.indexOf('@') + 1);
