import { ENVIRONMENT_TAG, stackName } from '../../settings/environment.ts';
import { keyDescription, keyIds } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import type { AwsReader } from '../aws-reader.ts';
import type { Missing } from './deployed.ts';
import { deployedKey, deployedTable } from './protections.ts';

/**
 * Finds a table or a key of the environment that a deployment would not use but create anew: what
 * was deleted with `keepData`, or rolled back to a release that did not know it.
 */
export async function orphans(
  aws: AwsReader,
  environment: string,
  settings: Settings,
): Promise<Missing> {
  const { existing } = settings;
  const table = existing?.table ?? (await deployedTable(aws, environment));
  const known = new Map<string, string | undefined>();
  for (const id of keyIds(settings))
    known.set(id, existing?.keys?.[id] ?? (await deployedKey(aws, environment, id)));
  const missingKeys = keyIds(settings).filter((id) => known.get(id) === undefined);
  if (table !== undefined && missingKeys.length === 0) return undefined;
  const { ResourceTagMappingList: found } = await aws.read('tagging', 'GetResources', {
    TagFilters: [{ Key: ENVIRONMENT_TAG, Values: [environment] }],
    ResourceTypeFilters: ['dynamodb:table', 'kms:key'],
  });
  const arns: string[] = found.map(({ ResourceARN }: { ResourceARN: string }) => ResourceARN);
  const tables = arns.filter((arn) => arn.includes(':table/'));
  if (table === undefined && tables.length > 0)
    return [
      `${stackName(environment)} would create an empty table, but there is ${tables.join(', ')}`,
      'set "existing" (docs/deleting.md, Deploying it again), or delete the table',
    ];
  const inUse = [...known].filter(([, key]) => key !== undefined);
  for (const arn of arns.filter((arn) => arn.includes(':key/'))) {
    const { KeyMetadata } = await aws.read('kms', 'DescribeKey', { KeyId: arn });
    const { Description, KeyState } = KeyMetadata;
    const hasItsPurpose = (id: string) => keyDescription(id) === Description;
    const id = missingKeys.find(hasItsPurpose);
    if (!id || KeyState !== 'Enabled' || inUse.some(([, key = '']) => arn.endsWith(key))) continue;
    const problem = `${stackName(environment)} would create another ${id}, but there is ${arn}`;
    const remedy =
      `set "existing": { "keys": { "${id}": "${arn}" } }, or schedule its deletion if nothing ` +
      'needs it';
    // Where another key has the same purpose, one is being replaced.
    const isReplaced = inUse.some(([id]) => hasItsPurpose(id));
    return isReplaced ? [problem, remedy, 'warning'] : [problem, remedy];
  }
  return undefined;
}
