import { isDeepStrictEqual } from 'node:util';
import { replicatedKeys } from '../../settings/backup.ts';
import { stackName } from '../../settings/environment.ts';
import type { Settings } from '../../settings/settings.ts';
import { type AwsReader, ifFound } from '../aws-reader.ts';
import { describe, type Missing } from './deployed.ts';

/*
 * What protects the data of a deployed environment, as it is now: a deployment does not restore
 * what was changed by other means. Before the first deployment, nothing is missing.
 */

/** Finds a protection that the table has lost, and a limit that an adopted table does not have. */
export async function table(
  aws: AwsReader,
  environment: string,
  { keepData, unprotected, tableMaximum, existing }: Settings,
): Promise<Missing> {
  const xml = await describe(aws, stackName(environment));
  const [, TableName = ''] =
    /<OutputKey>TableName<\/OutputKey>\s*<OutputValue>([^<]+)/.exec(xml ?? '') ?? [];
  if (!TableName) return undefined;
  const found = await ifFound(aws.read('dynamodb', 'DescribeTable', { TableName }));
  if (!found) return [`${TableName} does not exist`, 'restore it: docs/restore.md'];
  const { DeletionProtectionEnabled, OnDemandThroughput } = found.Table;
  const { ContinuousBackupsDescription: backups } = await aws.read(
    'dynamodb',
    'DescribeContinuousBackups',
    { TableName },
  );
  const { TimeToLiveDescription: expiry } = await aws.read('dynamodb', 'DescribeTimeToLive', {
    TableName,
  });
  const recovery = backups.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus;
  const isKept = keepData && !unprotected;
  const maximum = {
    MaxReadRequestUnits: tableMaximum.readUnits,
    MaxWriteRequestUnits: tableMaximum.writeUnits,
  };
  const repair = (command: string, options: string) =>
    aws.cli(`dynamodb ${command} --table-name ${TableName} ${options}`);
  if (isKept && !DeletionProtectionEnabled)
    return [
      `${TableName} is not protected against deletion`,
      repair('update-table', '--deletion-protection-enabled'),
    ];
  if (isKept && recovery !== 'ENABLED')
    return [
      `${TableName} has no point-in-time recovery`,
      repair(
        'update-continuous-backups',
        '--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true',
      ),
    ];
  // While it is being enabled, there is nothing left to do.
  if (!/^ENABL/.test(expiry.TimeToLiveStatus))
    return [
      `${TableName} keeps expired items`,
      repair(
        'update-time-to-live',
        '--time-to-live-specification Enabled=true,AttributeName=expires',
      ),
    ];
  if (existing?.table && !isDeepStrictEqual(OnDemandThroughput, maximum))
    return [
      `${TableName} has another maximum than the settings`,
      repair(
        'update-table',
        '--on-demand-throughput ' +
          `MaxReadRequestUnits=${tableMaximum.readUnits},MaxWriteRequestUnits=${tableMaximum.writeUnits}`,
      ),
      'warning',
    ];
  return undefined;
}

/** Finds a key that is disabled or about to be deleted, not rotated or not replicated. */
export async function keys(
  aws: AwsReader,
  environment: string,
  settings: Settings,
): Promise<Missing> {
  const { existing, pepperKeys, signingKeys } = settings;
  for (const id of ['TableKey', 'ValuesKey', 'FactorKey', ...pepperKeys, ...signingKeys]) {
    const keyId = existing?.keys?.[id] ?? (await keyIdOf(aws, environment, id));
    const missing = keyId && (await key(aws, settings, id, keyId));
    if (missing) return missing;
  }
  return undefined;
}

async function key(
  aws: AwsReader,
  { pepperKeys, backup }: Settings,
  id: string,
  KeyId: string,
): Promise<Missing> {
  const repair = (command: string) => aws.cli(`kms ${command} --key-id ${KeyId}`);
  const found = await ifFound(aws.read('kms', 'DescribeKey', { KeyId }));
  if (!found) return [`${id} does not exist any more`, 'docs/keys.md says what is lost with it'];
  const { KeyState, KeySpec, MultiRegionConfiguration } = found.KeyMetadata;
  if (/^Pending(Replica)?Deletion$/.test(KeyState))
    return [
      `${id} is about to be deleted`,
      `${repair('cancel-key-deletion')} && ${repair('enable-key')}`,
    ];
  if (KeyState !== 'Enabled') return [`${id} has the state ${KeyState}`, repair('enable-key')];
  if (KeySpec === 'SYMMETRIC_DEFAULT') {
    const { KeyRotationEnabled } = await aws.read('kms', 'GetKeyRotationStatus', { KeyId });
    if (!KeyRotationEnabled)
      return [`${id} is not rotated`, repair('enable-key-rotation'), 'warning'];
  }
  if (!backup || !replicatedKeys(pepperKeys).includes(id)) return undefined;
  const replicas: { Region: string }[] = MultiRegionConfiguration?.ReplicaKeys ?? [];
  if (replicas.some(({ Region }) => Region === backup.region)) return undefined;
  return [
    `${id} has no replica in ${backup.region}`,
    'deploy, or see docs/restore.md, Backups in another region, if it was deleted',
    'warning',
  ];
}

/** The id of a key that the stack has created; undefined if it has none of this name. */
async function keyIdOf(aws: AwsReader, environment: string, LogicalResourceId: string) {
  const input = { StackName: stackName(environment), LogicalResourceId };
  const xml = await ifFound(aws.read('cloudformation', 'DescribeStackResource', input));
  const [, id] = /<PhysicalResourceId>([^<]+)/.exec(xml ?? '') ?? [];
  return id;
}

/** Finds out whether CloudTrail records what the rules about keys, table and backups report. */
export async function trail(aws: AwsReader): Promise<Missing> {
  const { trailList }: { trailList: { TrailARN: string }[] } = await aws.read(
    'cloudtrail',
    'DescribeTrails',
  );
  let unreadable: Error | undefined;
  for (const { TrailARN } of trailList)
    try {
      const { IsLogging } = await aws.read('cloudtrail', 'GetTrailStatus', { Name: TrailARN });
      const input = { TrailName: TrailARN };
      if (IsLogging && recordsChanges(await aws.read('cloudtrail', 'GetEventSelectors', input)))
        return undefined;
    } catch (error) {
      // One of the organization is listed in its accounts, which may not read everything of it.
      unreadable = error as Error;
    }
  if (unreadable) throw unreadable;
  return [
    'no trail records the changes of all services: nobody is told of those of keys and table',
    aws.cli('cloudtrail create-trail --is-multi-region-trail --name NAME --s3-bucket-name BUCKET'),
  ];
}

interface Selectors {
  readonly EventSelectors?: readonly {
    readonly IncludeManagementEvents?: boolean;
    readonly ReadWriteType?: string;
    readonly ExcludeManagementEventSources?: readonly string[];
  }[];
  readonly AdvancedEventSelectors?: readonly {
    readonly FieldSelectors: readonly {
      readonly Field: string;
      readonly Equals?: readonly string[];
    }[];
  }[];
}

/** Whether a trail records every call that changes something, whatever its service. */
function recordsChanges({ EventSelectors = [], AdvancedEventSelectors = [] }: Selectors): boolean {
  return (
    EventSelectors.some(
      ({ IncludeManagementEvents, ReadWriteType, ExcludeManagementEventSources: excluded = [] }) =>
        IncludeManagementEvents && ReadWriteType !== 'ReadOnly' && excluded.length === 0,
    ) ||
    AdvancedEventSelectors.some(({ FieldSelectors }) =>
      FieldSelectors.every(
        ({ Field, Equals = [] }) =>
          (Field === 'eventCategory' && Equals.includes('Management')) ||
          (Field === 'readOnly' && Equals.includes('false')),
      ),
    )
  );
}
