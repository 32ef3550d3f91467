import { ENVIRONMENT_TAG, stackName } from '../../settings/environment.ts';
import { keyDescription, keyIds } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import { type AwsReader, ifFound } from '../aws-reader.ts';
import { keyOf, type Missing, tableOf } from './deployed.ts';

/**
 * Finds a table or a key of the environment that a deployment would create a second time, because
 * the stack was deleted with `keepData` or rolled back to a release without it. Leaves out signing
 * keys: losing one only makes users log in again.
 */
export async function orphans(
  aws: AwsReader,
  environment: string,
  settings: Settings,
): Promise<Missing> {
  const { keepData, existing } = settings;
  if (!keepData) return undefined;
  const stack = stackName(environment);
  if ((await tableOf(aws, environment, existing)) === undefined) {
    const tables = await tagged(aws, environment, 'dynamodb:table');
    if (tables.length === 0) return undefined;
    return [
      `${stack} would create an empty table, but there is ${tables.join(', ')}`,
      'set "existing" (docs/restore.md, Deploying it again), or delete the table',
    ];
  }
  const inUse: string[] = [];
  const missing: string[] = [];
  for (const id of keyIds({ ...settings, signingKeys: [] }))
    ((await keyOf(aws, environment, id, existing)) === undefined ? missing : inUse).push(id);
  if (missing.length === 0) return undefined;
  for (const KeyId of await tagged(aws, environment, 'kms:key')) {
    const found = await ifFound(aws.read('kms', 'DescribeKey', { KeyId }));
    const hasItsPurpose = (id: string) => keyDescription(id) === found?.KeyMetadata.Description;
    const id = missing.find(hasItsPurpose);
    // Where another key has the same purpose, one is being replaced.
    if (id === undefined || inUse.some(hasItsPurpose)) continue;
    return [
      `${stack} would create ${id}, but there is ${KeyId} (${found.KeyMetadata.KeyState})`,
      `set "existing": { "keys": { "${id}": "${KeyId}" } } (docs/restore.md); unless ` +
        'it is Enabled, with aws kms cancel-key-deletion and enable-key first',
    ];
  }
  return undefined;
}

/** The ARNs of the resources of a type that have the tag of the environment. */
async function tagged(aws: AwsReader, environment: string, type: string): Promise<string[]> {
  const { ResourceTagMappingList: found } = await aws.read('tagging', 'GetResources', {
    TagFilters: [{ Key: ENVIRONMENT_TAG, Values: [environment] }],
    ResourceTypeFilters: [type],
  });
  return found.map(({ ResourceARN }: { ResourceARN: string }) => ResourceARN);
}
