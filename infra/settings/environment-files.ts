import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** The operator's settings, a file for each environment. */
export const OWN_FOLDER = 'environments';
/** Settings to copy, with placeholders. */
export const EXAMPLE_FOLDER = 'examples/environments';

export const environmentFile = (name: string, folder = OWN_FOLDER): string =>
  `${folder}/${name}.json`;

export const environmentNames = (folder = OWN_FOLDER): string[] =>
  globSync('*.json', { cwd: join(ROOT, folder) })
    .map((file) => basename(file, '.json'))
    .sort();

/** Unchecked. Throws a sentence that names the file, or the environments that there are. */
export function readEnvironment(name: string, folder = OWN_FOLDER): Record<string, unknown> {
  if (environmentNames(folder).includes(name)) return readJson(environmentFile(name, folder));
  throw new Error(noEnvironment(name, folder));
}

/** Why an environment cannot be read, and what to do. */
export function noEnvironment(name: string, folder = OWN_FOLDER): string {
  const names = environmentNames(folder);
  return names.length > 0
    ? `There is no environment ${name}: ${folder}/ has ${names.join(', ')}.`
    : `There is no environment ${name}, and no other in ${folder}/: copy a file of ` +
        `${EXAMPLE_FOLDER}/.`;
}

/** The object in a JSON file. Throws a sentence that names the file. */
export function readJson(file: string): Record<string, unknown> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`);
  }
  if (typeof content === 'object' && content !== null) return content as Record<string, unknown>;
  throw new Error(`${file}: must contain a JSON object.`);
}

/** The configuration of the CDK, whose context has its feature flags. */
export const readCdkJson = () => readJson('cdk.json') as { context: Record<string, unknown> };
