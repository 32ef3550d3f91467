import { ENVIRONMENT_TAG, stackName } from '../../settings/environment.ts';
import { keyDescription, keyIds } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import { type AwsReader, ifFound } from '../aws-reader.ts';
import type { Missing } from './deployed.ts';
import { deployedKey, deployedTable } from './protections.ts';

/**
 * Finds a table or a key of the environment that a deployment would not use but create anew: what
 * was deleted with `keepData`, or rolled back to a release that did not know it. Leaves out signing
 * keys, whose loss costs one login per user.
 */
export async function orphans(
  aws: AwsReader,
  environment: string,
  settings: Settings,
): Promise<Missing> {
  const { keepData, existing } = settings;
  if (!keepData) return undefined;
  const { ResourceTagMappingList: tagged } = await aws.read('tagging', 'GetResources', {
    TagFilters: [{ Key: ENVIRONMENT_TAG, Values: [environment] }],
    ResourceTypeFilters: ['dynamodb:table', 'kms:key'],
  });
  const arns: string[] = tagged.map(({ ResourceARN }: { ResourceARN: string }) => ResourceARN);
  const stack = stackName(environment);
  if (!(existing?.table ?? (await deployedTable(aws, environment)))) {
    const tables = arns.filter((arn) => arn.includes(':table/'));
    if (tables.length === 0) return undefined;
    return [
      `${stack} would create an empty table, but there is ${tables.join(', ')}`,
      'set "existing" (docs/deleting.md, Deploying it again), or delete the table',
    ];
  }
  const inUse: string[] = [];
  const missing: string[] = [];
  for (const id of keyIds({ ...settings, signingKeys: [] })) {
    const key = existing?.keys?.[id] ?? (await deployedKey(aws, environment, id));
    (key === undefined ? missing : inUse).push(id);
  }
  for (const KeyId of arns.filter((arn) => missing.length > 0 && arn.includes(':key/'))) {
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
