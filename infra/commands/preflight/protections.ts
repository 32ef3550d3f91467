import { isDeepStrictEqual } from 'node:util';
import { replicatedKeys } from '../../settings/backup.ts';
import { stackName } from '../../settings/environment.ts';
import { keyIds } from '../../settings/keys.ts';
import type { Settings } from '../../settings/settings.ts';
import { type AwsReader, ifFound } from '../aws-reader.ts';
import { describe, firstOf, type Missing } from './deployed.ts';

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
  const TableName = existing?.table ?? (await deployedTable(aws, environment));
  if (TableName === undefined) return undefined;
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
  const { readUnits, writeUnits } = tableMaximum;
  const maximum = { MaxReadRequestUnits: readUnits, MaxWriteRequestUnits: writeUnits };
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
  const { TimeToLiveStatus, AttributeName } = expiry;
  // While it is being enabled, there is nothing left to do.
  if (!(/^ENABL/.test(TimeToLiveStatus) && AttributeName === 'expires'))
    return [
      `${TableName} keeps expired items: time to live is ${TimeToLiveStatus} on ` +
        (AttributeName ?? 'no attribute'),
      // The attribute can be changed only while time to live is DISABLED, an hour later.
      repair(
        'update-time-to-live',
        /^ENABL/.test(TimeToLiveStatus)
          ? `--time-to-live-specification Enabled=false,AttributeName=${AttributeName}`
          : '--time-to-live-specification Enabled=true,AttributeName=expires',
      ),
    ];
  if (existing?.table && !isDeepStrictEqual(OnDemandThroughput, maximum))
    return [
      `${TableName} has another maximum than the settings`,
      repair(
        'update-table',
        '--on-demand-throughput ' +
          `MaxReadRequestUnits=${readUnits},MaxWriteRequestUnits=${writeUnits}`,
      ),
      'warning',
    ];
  return undefined;
}

export async function deployedTable(
  aws: AwsReader,
  environment: string,
): Promise<string | undefined> {
  const xml = await describe(aws, stackName(environment));
  const output = /<OutputKey>TableName<\/OutputKey>\s*<OutputValue>([^<]+)/;
  return output.exec(xml ?? '')?.[1];
}

/** Finds keys that are disabled or about to be deleted, not rotated or not replicated. */
export function keys(
  environment: string,
  settings: Settings,
  readerOf: (region: string) => AwsReader,
): Promise<Missing> {
  return firstOf(keyIds(settings).map((id) => withReplica(environment, settings, readerOf, id)));
}

async function withReplica(
  environment: string,
  { region, existing, pepperKeys, backup }: Settings,
  readerOf: (region: string) => AwsReader,
  id: string,
): Promise<Missing> {
  const aws = readerOf(region);
  const keyId = existing?.keys?.[id] ?? (await deployedKey(aws, environment, id));
  if (keyId === undefined) return undefined;
  const [missing, replicas] = await key(aws, id, keyId);
  if (missing || !backup || !replicatedKeys(pepperKeys).includes(id)) return missing;
  const replica = replicas.find((replica) => replica.Region === backup.region);
  if (!replica)
    return [
      `${id} has no replica in ${backup.region}`,
      'deploy, or see docs/restore.md, Backups in another region, if it was deleted',
      'warning',
    ];
  return (await key(readerOf(backup.region), `the replica of ${id}`, replica.Arn))[0];
}

/** Finds out what a key is not, and where its replicas are. */
async function key(
  aws: AwsReader,
  name: string,
  KeyId: string,
): Promise<[missing: Missing, replicas: readonly { Arn: string; Region: string }[]]> {
  const command = (operation: string) => aws.cli(`kms ${operation} --key-id ${KeyId}`);
  const found = await ifFound(aws.read('kms', 'DescribeKey', { KeyId }));
  if (!found) return [[`${name} does not exist`, 'docs/keys.md says what is lost with it'], []];
  const { KeyState, KeySpec, Origin, MultiRegionConfiguration = {} } = found.KeyMetadata;
  const { MultiRegionKeyType, ReplicaKeys = [] } = MultiRegionConfiguration;
  if (/^Pending(Replica)?Deletion$/.test(KeyState))
    return [
      [
        `${name} is about to be deleted`,
        `${command('cancel-key-deletion')} && ${command('enable-key')}`,
      ],
      ReplicaKeys,
    ];
  // Creating and Updating are over soon.
  if (!/^(Enabled|Creating|Updating)$/.test(KeyState)) {
    const remedy = command(KeyState === 'Disabled' ? 'enable-key' : 'describe-key');
    return [[`${name} has the state ${KeyState}`, remedy], ReplicaKeys];
  }
  // KMS rotates no others, and a replica with its primary key.
  const rotates = KeySpec === 'SYMMETRIC_DEFAULT' && Origin === 'AWS_KMS';
  if (!rotates || MultiRegionKeyType === 'REPLICA') return [undefined, ReplicaKeys];
  const { KeyRotationEnabled } = await aws.read('kms', 'GetKeyRotationStatus', { KeyId });
  if (KeyRotationEnabled) return [undefined, ReplicaKeys];
  return [[`${name} is not rotated`, command('enable-key-rotation'), 'warning'], ReplicaKeys];
}

/** The id of a key that the stack has created; undefined if it has none of this name. */
export async function deployedKey(aws: AwsReader, environment: string, LogicalResourceId: string) {
  const input = { StackName: stackName(environment), LogicalResourceId };
  const xml = await ifFound(aws.read('cloudformation', 'DescribeStackResource', input));
  // A creation that failed leaves the names of what was deleted.
  if (xml === undefined || /<ResourceStatus>DELETE_/.test(xml)) return undefined;
  return /<PhysicalResourceId>([^<]+)/.exec(xml)?.[1];
}
