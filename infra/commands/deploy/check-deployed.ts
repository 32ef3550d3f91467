import { CloudWatch } from '@aws-sdk/client-cloudwatch';
import { CloudWatchLogs } from '@aws-sdk/client-cloudwatch-logs';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { type KeyMetadata, KMS } from '@aws-sdk/client-kms';
import { Lambda } from '@aws-sdk/client-lambda';
import {
  paginateGetResources,
  ResourceGroupsTaggingAPI,
} from '@aws-sdk/client-resource-groups-tagging-api';
import { blockedLogName, edgeDescription } from '../../settings/edge.ts';
import { CANARY_ALARMS, ENVIRONMENT_TAG } from '../../settings/environment.ts';
import { keyDescription, keyIds } from '../../settings/keys.ts';
import { updateMaximum } from '../../settings/limits.ts';
import { ifFound, inRegion } from '../account.ts';
import {
  type Finding,
  type Found,
  keyOf,
  missing,
  type Target,
  tableOf,
  warning,
} from './check.ts';

/*
 * What is deployed already, or remains of an earlier deployment: whether the next one can succeed,
 * and whether the data is still protected, because a deployment does not restore what was changed
 * by other means. Before the first deployment, nothing is missing. A check ends with its first
 * finding, so each line may rely on the lines before it.
 */

/** The commands for stacks that were complete once. All others can be deleted. */
const COMMANDS_BY_STATUS: Readonly<Record<string, string>> = {
  UPDATE_FAILED: 'rollback-stack',
  UPDATE_ROLLBACK_FAILED: 'continue-update-rollback',
  IMPORT_ROLLBACK_FAILED: 'describe-stack-events',
};

const isKept = ({ settings }: Target) => settings.keepData && !settings.unprotected;

/** A stack must be in a state in which it can be updated. */
export async function stackState({ region, name, stack }: Target): Found {
  const { StackStatus: status = '', EnableTerminationProtection } = (await stack()) ?? {};
  const { [status]: command = 'delete-stack' } = COMMANDS_BY_STATUS;
  let remedy = `aws cloudformation ${command} --stack-name ${name} --region ${region}`;
  if (EnableTerminationProtection && command === 'delete-stack')
    remedy = 'remove the protections of the stack and of its table, and delete it';
  if (/^(ROLLBACK_COMPLETE|REVIEW_IN_PROGRESS|\w+_FAILED)$/.test(status))
    return missing`has the status ${status}, in which every deployment fails
      ${remedy}`;
}

/** The stack of the API is protected by a second deployment. */
export async function apiStack(target: Target): Found {
  const state = await stackState(target);
  const isProtected = (await target.stack())?.EnableTerminationProtection;
  if (!state && isKept(target) && isProtected === false)
    return missing`is not protected, so one command could delete it: the second deployment is
      missing
      npm run deploy -- -c env=${target.environment}`;
  return state;
}

/** The stack of the edge also belongs to an environment of one region. */
export async function edgeStack(target: Target): Found {
  const { settings, region, name, stack } = target;
  const found = await stack();
  const is = found?.Description ?? '';
  if (is.startsWith(edgeDescription('')) && is !== edgeDescription(settings.region))
    return missing`belongs to another environment of this name: "${is}"
      rename one of them: an account has the stacks of all its edges in one region`;
  const state = await stackState(target);
  if (state) return state;
  const log = blockedLogName(name);
  const logs = new CloudWatchLogs(inRegion(region));
  const { logGroups = [] } = await logs.describeLogGroups({ logGroupNamePrefix: log });
  const exists = logGroups.some(({ logGroupName }) => logGroupName === log);
  if (exists && ![...(found?.resources.values() ?? [])].includes(log))
    return missing`would create a log group that exists, so its deployment fails: ${log}
      aws logs delete-log-group --log-group-name ${log} --region ${region}`;
}

/** The mappings of the table's stream, by the alarms that stay silent if they hand nothing over. */
export const MAPPINGS = {
  'mail-delayed': 'MailFunctionStream484E06B9',
  'audit-delayed': 'AuditLogFunctionStream111D84A8',
} as const;

/** The mappings must hand something over, because the alarms measure only what they hand over. */
export async function stream({ region, name, stack }: Target): Found {
  const lambda = new Lambda(inRegion(region));
  for (const [alarm, logicalId] of Object.entries(MAPPINGS)) {
    const UUID = (await stack())?.resources.get(logicalId);
    if (UUID === undefined) continue;
    const found = await ifFound(lambda.getEventSourceMapping({ UUID }));
    const mapping = `hands nothing over, and ${alarm} stays OK: the mapping ${UUID}`;
    if (!found)
      return missing`${mapping} does not exist
        deploy with --revert-drift, which creates it again`;
    const { State = '', LastProcessingResult: result = '' } = found ?? {};
    if (/^(Disabl|Delet)/.test(State))
      return missing`${mapping} has the state ${State}
        aws lambda update-event-source-mapping --uuid ${UUID} --enabled --region ${region}`;
    const drift = `aws cloudformation detect-stack-drift --stack-name ${name} --region ${region}`;
    if (result.startsWith('PROBLEM'))
      return missing`${mapping} reports "${result}"
        its function may have lost a permission: ${drift}`;
  }
}

/** The table must have its protections, and an adopted one the limits of the settings. */
export async function table(target: Target): Found {
  const { region, settings, stack } = target;
  const TableName = tableOf(settings, await stack());
  if (TableName === undefined) return;
  const { tableMaximum, existing } = settings;
  const dynamoDb = new DynamoDB(inRegion(region));
  const ofTable = `--table-name ${TableName} --region ${region}`;
  const found = (await ifFound(dynamoDb.describeTable({ TableName })))?.Table;
  if (!found)
    return missing`${TableName} does not exist, so requests fail
      restore it: docs/restore.md`;
  if (isKept(target) && !found.DeletionProtectionEnabled)
    return missing`${TableName} is not protected, so one command could delete it
      aws dynamodb update-table --deletion-protection-enabled ${ofTable}`;
  const backups = await dynamoDb.describeContinuousBackups({ TableName });
  const recovery = backups.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
  const enabled = '--point-in-time-recovery-specification PointInTimeRecoveryEnabled=true';
  if (isKept(target) && recovery?.PointInTimeRecoveryStatus !== 'ENABLED')
    return missing`${TableName} has no point-in-time recovery, so no mistake can be undone
      aws dynamodb update-continuous-backups ${enabled} ${ofTable}`;
  const { TimeToLiveDescription } = await dynamoDb.describeTimeToLive({ TableName });
  const { TimeToLiveStatus: status = '', AttributeName: attribute } = TimeToLiveDescription ?? {};
  // While it is being enabled, there is nothing left to do. The attribute can be changed only while
  // time to live is DISABLED, an hour later.
  const expires = /^ENABL/.test(status);
  const expiry = `Enabled=${!expires},AttributeName=${expires ? attribute : 'expires'} ${ofTable}`;
  if (!expires || attribute !== 'expires')
    return missing`${TableName} keeps expired items: time to live is ${status} on
      ${attribute ?? 'no attribute'}
      aws dynamodb update-time-to-live --time-to-live-specification ${expiry}`;
  const { MaxReadRequestUnits: reads, MaxWriteRequestUnits: writes } =
    found.OnDemandThroughput ?? {};
  const isEqual = reads === tableMaximum.readUnits && writes === tableMaximum.writeUnits;
  if (existing?.tableStream !== undefined && !isEqual)
    return warning`${TableName} has another maximum than the settings, so its cost has another bound
      aws ${updateMaximum(TableName, tableMaximum)} --region ${region}`;
}

const describeKey = async (region: string, KeyId: string) =>
  (await ifFound(new KMS(inRegion(region)).describeKey({ KeyId })))?.KeyMetadata;

/** A key must be usable, and rotated if KMS rotates keys of its kind. */
export async function key({ region, settings, stack }: Target, id: string): Found {
  const KeyId = keyOf(settings, await stack(), id);
  if (KeyId === undefined) return;
  const found = await describeKey(region, KeyId);
  const fault = unusable(region, KeyId, found);
  if (fault) return fault;
  // A replica is rotated with its primary key.
  const rotates =
    found?.KeyState === 'Enabled' &&
    found.KeySpec === 'SYMMETRIC_DEFAULT' &&
    found.Origin === 'AWS_KMS' &&
    found.MultiRegionConfiguration?.MultiRegionKeyType !== 'REPLICA';
  const kms = new KMS(inRegion(region));
  if (rotates && !(await kms.getKeyRotationStatus({ KeyId })).KeyRotationEnabled)
    return warning`is not rotated, so one version of its material protects everything
      aws kms enable-key-rotation --key-id ${KeyId} --region ${region}`;
}

/** What makes a key unusable. Creating and Updating are over soon. */
function unusable(region: string, id: string, found?: KeyMetadata): Finding | undefined {
  const ofKey = `--key-id ${id} --region ${region}`;
  if (!found)
    return missing`does not exist, so what needs it fails
      docs/keys.md says what is lost with it`;
  const state = found?.KeyState ?? '';
  if (/^Pending(Replica)?Deletion$/.test(state))
    return missing`is about to be deleted, and what needs it fails already
      aws kms cancel-key-deletion ${ofKey} && aws kms enable-key ${ofKey}`;
  if (!/^(Enabled|Creating|Updating)$/.test(state))
    return missing`has the state ${state}, so what needs it fails
      aws kms ${state === 'Disabled' ? 'enable-key' : 'describe-key'} ${ofKey}`;
}

/** A key must have a usable replica, which the stack of the backups has or can create. */
export async function replica(copies: Target, api: Target, id: string): Found {
  const { settings, region, name, stack } = copies;
  const KeyId = keyOf(settings, await api.stack(), id);
  const primary = KeyId && (await describeKey(api.region, KeyId));
  if (!primary) return;
  const { ReplicaKeys = [] } = primary.MultiRegionConfiguration ?? {};
  const arn = ReplicaKeys.find(({ Region }) => Region === region)?.Arn;
  if (arn === undefined)
    return warning`does not exist in ${region}, where a copy of the table would be useless
      deploy, or see docs/restore.md, Backups in another region, if it was deleted`;
  const fault = unusable(region, arn, await describeKey(region, arn));
  if (fault) return fault;
  const isNamed = settings.backup?.existingReplicas?.includes(id);
  if (!isNamed && !(await stack())?.resources.has(id))
    return missing`exists outside of ${name}, which cannot create a second one: ${arn}
      add "${id}" to existingReplicas in backup`;
}

/**
 * A deployment must not create a second table or key, because the stack was deleted with `keepData`
 * or rolled back to a release without it. Leaves out signing keys: losing one only makes users log
 * in again.
 */
export async function earlierData(target: Target): Found {
  const { region, name, settings, stack } = target;
  const found = await stack();
  if (!settings.keepData) return;
  if (tableOf(settings, found) === undefined) {
    const tables = await tagged(target, 'dynamodb:table');
    if (tables.length > 0)
      return missing`${name} would create an empty table, but there is ${tables.join(', ')}
        set "existing", or delete the table`;
    return;
  }
  const isMissing = (id: string) => keyOf(settings, found, id) === undefined;
  const ids = keyIds({ ...settings, signingKeys: [], moduleKeys: [] });
  for (const KeyId of ids.some(isMissing) ? await tagged(target, 'kms:key') : []) {
    const { KeyState, Description } = (await describeKey(region, KeyId)) ?? {};
    const samePurpose = ids.filter((id) => keyDescription(id) === Description);
    const [id] = samePurpose;
    // Where another key has the same purpose, one is being replaced.
    const existing = `"existing": { "keys": { "${id}": "${KeyId}" } } (docs/restore.md)`;
    const enable = 'with aws kms cancel-key-deletion and enable-key first';
    if (id !== undefined && samePurpose.every(isMissing))
      return missing`${name} would create ${id}, and not use what ${KeyId} (${KeyState}) protects
        set ${existing}; unless it is Enabled, ${enable}`;
  }
}

/** The ARNs of the resources of a type that have the tag of the environment. */
async function tagged({ region, environment }: Target, type: string): Promise<string[]> {
  const client = new ResourceGroupsTaggingAPI(inRegion(region));
  const pages = paginateGetResources(
    { client },
    {
      TagFilters: [{ Key: ENVIRONMENT_TAG, Values: [environment] }],
      ResourceTypeFilters: [type],
    },
  );
  const arns: string[] = [];
  for await (const { ResourceTagMappingList = [] } of pages)
    arns.push(...ResourceTagMappingList.map(({ ResourceARN = '' }) => ResourceARN));
  return arns;
}

/** No alarm may stop a canary at once. */
export async function canary({ region, name }: Target): Found {
  const { MetricAlarms = [] } = await new CloudWatch(inRegion(region)).describeAlarms({
    AlarmNames: CANARY_ALARMS.map((alarm) => `${name}-${alarm}`),
    StateValue: 'ALARM',
  });
  const names = MetricAlarms.map(({ AlarmName }) => AlarmName).join(', ');
  if (names)
    return warning`would be rolled back at once, because these alarms are on: ${names}
      end their causes (docs/runbook.md), or deploy with -c deployment=all-at-once`;
}
