import { CloudWatch } from '@aws-sdk/client-cloudwatch';
import { CloudWatchLogs } from '@aws-sdk/client-cloudwatch-logs';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { type KeyMetadata, KMS } from '@aws-sdk/client-kms';
import { Lambda } from '@aws-sdk/client-lambda';
import { ResourceGroupsTaggingAPI } from '@aws-sdk/client-resource-groups-tagging-api';
import { blockedLogName, edgeDescription } from '../../settings/edge.ts';
import { CANARY_ALARMS, ENVIRONMENT_TAG, stackName } from '../../settings/environment.ts';
import { keyDescription, keyIds } from '../../settings/keys.ts';
import { updateMaximum } from '../../settings/limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { ifFound, inRegion } from '../aws-clients.ts';
import { firstWrong, type Row, type Target } from './check.ts';
import { keyOf, tableOf } from './deployed.ts';

/*
 * What is deployed already, or remains of an earlier deployment: whether the next one can succeed,
 * and whether the data is still protected, because a deployment does not restore what was changed
 * by other means. Before the first deployment, nothing is missing.
 */

/** The log groups of the stack of the API. */
export const logGroupsOf = (
  environment: string,
  { auditLogDays, dailyVerification }: Settings,
): readonly string[] => [
  ...['endpoints', 'send-mail']
    .concat(auditLogDays ? 'audit' : [], dailyVerification ? 'verify-table' : [])
    .map((name) => `/aws/lambda/${stackName(environment)}/${name}`),
  `/aws/vendedlogs/${stackName(environment)}/access`,
];

/**
 * The commands for stacks that have been complete. All others can be deleted: their creation was
 * not completed, or their deletion has begun.
 */
const COMMANDS: Readonly<Record<string, string>> = {
  UPDATE_FAILED: 'rollback-stack',
  UPDATE_ROLLBACK_FAILED: 'continue-update-rollback',
  IMPORT_ROLLBACK_FAILED: 'describe-stack-events',
};

/** A stack must be in a state in which it can be updated. */
export async function stackState({ region, name, stack }: Target): Promise<Row[]> {
  const { StackStatus: status = '', EnableTerminationProtection: isProtected } =
    (await stack()) ?? {};
  const { [status]: command = 'delete-stack' } = COMMANDS;
  return [
    [
      /^(ROLLBACK_COMPLETE|REVIEW_IN_PROGRESS|\w+_FAILED)$/.test(status),
      `has the status ${status}, in which every deployment fails`,
      isProtected && command === 'delete-stack'
        ? 'remove the protections of the stack and of its table, and delete it'
        : `aws cloudformation ${command} --stack-name ${name} --region ${region}`,
    ],
  ];
}

/** The stack of the API also creates log groups, and is protected by a second deployment. */
export async function apiStack(target: Target): Promise<Row[]> {
  const { environment, settings, stack } = target;
  const { keepData, unprotected } = settings;
  const found = await stack();
  return [
    ...(await stackState(target)),
    await collision(target, logGroupsOf(environment, settings)),
    [
      keepData && !unprotected && found !== undefined && !found.EnableTerminationProtection,
      'is not protected, so one command could delete it: the second deployment is missing',
      `npm run deploy -- -c env=${environment}`,
    ],
  ];
}

/** The stack of the edge also belongs to an environment of one region. */
export async function edgeStack(target: Target): Promise<Row[]> {
  const { settings, name, stack } = target;
  const { Description = '' } = (await stack()) ?? {};
  return [
    [
      Description.startsWith(edgeDescription('')) &&
        Description !== edgeDescription(settings.region),
      `belongs to another environment of this name: "${Description}"`,
      'rename one of them: an account has the stacks of all its edges in one region',
    ],
    ...(await stackState(target)),
    await collision(target, [blockedLogName(name)]),
  ];
}

/** Log groups that a stack would create must not exist outside of it. */
async function collision({ region, stack }: Target, names: readonly string[]): Promise<Row> {
  const logs = new CloudWatchLogs(inRegion(region));
  const own = [...((await stack())?.resources.values() ?? [])];
  const found = await Promise.all(
    names.map((name) => logs.describeLogGroups({ logGroupNamePrefix: name })),
  );
  const existing = found
    .flatMap(({ logGroups = [] }) => logGroups.map(({ logGroupName = '' }) => logGroupName))
    .filter((name) => names.includes(name) && !own.includes(name));
  return [
    existing.length > 0,
    `would create log groups that exist, so the deployment fails: ${existing.join(', ')}`,
    'add --import-existing-resources to the deployment, or delete them: ' +
      `aws logs delete-log-group --log-group-name NAME --region ${region}`,
  ];
}

/** The mappings of the table's stream, by the alarms that stay silent if they hand nothing over. */
export const MAPPINGS = {
  'mail-delayed': 'MailFunctionStream484E06B9',
  'audit-delayed': 'AuditLogFunctionStream111D84A8',
} as const;

/** The mappings must hand something over, because the alarms measure only what they hand over. */
export async function stream({ region, name, stack }: Target): Promise<Row[]> {
  const lambda = new Lambda(inRegion(region));
  const rows: Row[] = [];
  for (const [alarm, logicalId] of Object.entries(MAPPINGS)) {
    const id = (await stack())?.resources.get(logicalId);
    if (id === undefined) continue;
    const found = await ifFound(lambda.getEventSourceMapping({ UUID: id }));
    const { State = '', LastProcessingResult: result = '' } = found ?? {};
    const problem = `hands nothing over, and ${alarm} stays OK: the mapping ${id}`;
    rows.push(
      [!found, `${problem} does not exist`, 'deploy with --revert-drift, which creates it again'],
      [
        /^(Disabl|Delet)/.test(State),
        `${problem} has the state ${State}`,
        `aws lambda update-event-source-mapping --uuid ${id} --enabled --region ${region}`,
      ],
      [
        result.startsWith('PROBLEM'),
        `${problem} reports "${result}"`,
        'its function may have lost a permission: aws cloudformation detect-stack-drift ' +
          `--stack-name ${name} --region ${region}`,
      ],
    );
  }
  return rows;
}

/** The table must have its protections, and an adopted one the limits of the settings. */
export async function table({ region, settings, stack }: Target): Promise<Row[]> {
  const TableName = tableOf(settings, await stack());
  if (TableName === undefined) return [];
  const { keepData, unprotected, tableMaximum, existing } = settings;
  const dynamoDb = new DynamoDB(inRegion(region));
  const found = (await ifFound(dynamoDb.describeTable({ TableName })))?.Table;
  if (!found)
    return [[true, `${TableName} does not exist, so requests fail`, 'restore it: docs/restore.md']];
  const backups = await dynamoDb.describeContinuousBackups({ TableName });
  const recovery = backups.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
  const { TimeToLiveDescription } = await dynamoDb.describeTimeToLive({ TableName });
  const { TimeToLiveStatus: expiry = '', AttributeName: attribute } = TimeToLiveDescription ?? {};
  const { MaxReadRequestUnits: reads, MaxWriteRequestUnits: writes } =
    found.OnDemandThroughput ?? {};
  const isKept = keepData && !unprotected;
  // While it is being enabled, there is nothing left to do.
  const expires = /^ENABL/.test(expiry);
  const ofTable = `--table-name ${TableName} --region ${region}`;
  return [
    [
      isKept && !found.DeletionProtectionEnabled,
      `${TableName} is not protected, so one command could delete it`,
      `aws dynamodb update-table --deletion-protection-enabled ${ofTable}`,
    ],
    [
      isKept && recovery?.PointInTimeRecoveryStatus !== 'ENABLED',
      `${TableName} has no point-in-time recovery, so no mistake can be undone`,
      'aws dynamodb update-continuous-backups --point-in-time-recovery-specification ' +
        `PointInTimeRecoveryEnabled=true ${ofTable}`,
    ],
    [
      !expires || attribute !== 'expires',
      `${TableName} keeps expired items: time to live is ${expiry} on ${attribute ?? 'no attribute'}`,
      // The attribute can be changed only while time to live is DISABLED, an hour later.
      'aws dynamodb update-time-to-live --time-to-live-specification ' +
        `Enabled=${!expires},AttributeName=${expires ? attribute : 'expires'} ${ofTable}`,
    ],
    [
      existing?.tableStream !== undefined &&
        (reads !== tableMaximum.readUnits || writes !== tableMaximum.writeUnits),
      `${TableName} has another maximum than the settings, so its cost has another bound`,
      `aws ${updateMaximum(TableName, tableMaximum)} --region ${region}`,
      'warning',
    ],
  ];
}

/** A key must be usable, and rotated if KMS rotates keys of its kind. */
export async function key({ region, settings, stack }: Target, id: string): Promise<Row[]> {
  const KeyId = keyOf(settings, await stack(), id);
  if (KeyId === undefined) return [];
  const kms = new KMS(inRegion(region));
  const found = (await ifFound(kms.describeKey({ KeyId })))?.KeyMetadata;
  // A replica is rotated with its primary key.
  const rotates =
    found?.KeyState === 'Enabled' &&
    found.KeySpec === 'SYMMETRIC_DEFAULT' &&
    found.Origin === 'AWS_KMS' &&
    found.MultiRegionConfiguration?.MultiRegionKeyType !== 'REPLICA';
  return [
    ...unusable(region, KeyId, found),
    [
      rotates && !(await kms.getKeyRotationStatus({ KeyId })).KeyRotationEnabled,
      'is not rotated, so one version of its material protects everything',
      `aws kms enable-key-rotation --key-id ${KeyId} --region ${region}`,
      'warning',
    ],
  ];
}

/** What makes a key unusable. Creating and Updating are over soon. */
function unusable(region: string, id: string, found: KeyMetadata | undefined): Row[] {
  const state = found?.KeyState ?? '';
  const ofKey = `--key-id ${id} --region ${region}`;
  return [
    [!found, 'does not exist, so what needs it fails', 'docs/keys.md says what is lost with it'],
    [
      /^Pending(Replica)?Deletion$/.test(state),
      'is about to be deleted, and what needs it fails already',
      `aws kms cancel-key-deletion ${ofKey} && aws kms enable-key ${ofKey}`,
    ],
    [
      !/^(Enabled|Creating|Updating)$/.test(state),
      `has the state ${state}, so what needs it fails`,
      `aws kms ${state === 'Disabled' ? 'enable-key' : 'describe-key'} ${ofKey}`,
    ],
  ];
}

/** A key must have a usable replica, which the stack of the backups has or can create. */
export async function replica(
  { settings, region, name, stack }: Target,
  api: Target,
  id: string,
): Promise<Row[]> {
  const KeyId = keyOf(settings, await api.stack(), id);
  if (KeyId === undefined) return [];
  const primary = await ifFound(new KMS(inRegion(settings.region)).describeKey({ KeyId }));
  const { ReplicaKeys = [] } = primary?.KeyMetadata?.MultiRegionConfiguration ?? {};
  const arn = ReplicaKeys.find(({ Region }) => Region === region)?.Arn;
  if (arn === undefined)
    return [
      [
        primary !== undefined,
        `does not exist in ${region}, where a copy of the table would be useless`,
        'deploy, or see docs/restore.md, Backups in another region, if it was deleted',
        'warning',
      ],
    ];
  const found = await ifFound(new KMS(inRegion(region)).describeKey({ KeyId: arn }));
  const rows = unusable(region, arn, found?.KeyMetadata);
  const { existingReplicas = [] } = settings.backup ?? {};
  if (existingReplicas.includes(id) || (await stack())?.resources.has(id)) return rows;
  const [, , repair] = firstWrong(rows) ?? [];
  return [
    [
      true,
      `exists outside of ${name}, which cannot create a second one: ${arn} ` +
        `(${found?.KeyMetadata?.KeyState})`,
      `${repair ? `${repair}, and ` : ''}add "${id}" to existingReplicas in backup`,
    ],
  ];
}

/**
 * A deployment must not create a second table or key, because the stack was deleted with `keepData`
 * or rolled back to a release without it. Leaves out signing keys: losing one only makes users log
 * in again.
 */
export async function earlierData({
  environment,
  region,
  name,
  settings,
  stack,
}: Target): Promise<Row[]> {
  if (!settings.keepData) return [];
  const found = await stack();
  if (tableOf(settings, found) === undefined) {
    const tables = await tagged(region, environment, 'dynamodb:table');
    return [
      [
        tables.length > 0,
        `${name} would create an empty table, but there is ${tables.join(', ')}`,
        'set "existing", or delete the table',
      ],
    ];
  }
  const isMissing = (id: string) => keyOf(settings, found, id) === undefined;
  const ids = keyIds({ ...settings, signingKeys: [], moduleKeys: [] });
  if (!ids.some(isMissing)) return [];
  const rows: Row[] = [];
  for (const KeyId of await tagged(region, environment, 'kms:key')) {
    const { KeyMetadata } = (await ifFound(new KMS(inRegion(region)).describeKey({ KeyId }))) ?? {};
    const { KeyState, Description } = KeyMetadata ?? {};
    const samePurpose = ids.filter((id) => keyDescription(id) === Description);
    const [id] = samePurpose;
    rows.push([
      // Where another key has the same purpose, one is being replaced.
      id !== undefined && samePurpose.every(isMissing),
      `${name} would create ${id}, and not use what ${KeyId} (${KeyState}) protects`,
      `set "existing": { "keys": { "${id}": "${KeyId}" } } (docs/restore.md); unless it is ` +
        'Enabled, with aws kms cancel-key-deletion and enable-key first',
    ]);
  }
  return rows;
}

/** The ARNs of the resources of a type that have the tag of the environment. */
async function tagged(region: string, environment: string, type: string): Promise<string[]> {
  const { ResourceTagMappingList = [] } = await new ResourceGroupsTaggingAPI(
    inRegion(region),
  ).getResources({
    TagFilters: [{ Key: ENVIRONMENT_TAG, Values: [environment] }],
    ResourceTypeFilters: [type],
  });
  return ResourceTagMappingList.map(({ ResourceARN = '' }) => ResourceARN);
}

/** No alarm may stop a canary at once. */
export async function canary({ region, name }: Target): Promise<Row[]> {
  const { MetricAlarms = [] } = await new CloudWatch(inRegion(region)).describeAlarms({
    AlarmNames: CANARY_ALARMS.map((alarm) => `${name}-${alarm}`),
    StateValue: 'ALARM',
  });
  return [
    [
      MetricAlarms.length > 0,
      'would be rolled back at once, because these alarms are on: ' +
        MetricAlarms.map(({ AlarmName }) => AlarmName).join(', '),
      'end their causes (docs/runbook.md), or deploy what corrects them with -c ' +
        'deployment=all-at-once',
      'warning',
    ],
  ];
}
