import { ArnFormat, Stack } from 'aws-cdk-lib';
import { EventBus, type EventPattern, Match, Rule } from 'aws-cdk-lib/aws-events';
import { EventBus as EventBusTarget } from 'aws-cdk-lib/aws-events-targets';
import { Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { backupStackName } from '../../settings/backup.ts';
import { EDGE_REGION, edgeAlarmName } from '../../settings/edge.ts';
import { stackName } from '../../settings/environment.ts';
import { EXPIRY_NOTICE_DAYS } from '../../settings/host-names.ts';
import type { Settings } from '../../settings/settings.ts';
import type { AdministrationTable } from './administration-table.ts';
import type { Backup } from './backup.ts';
import { serviceOfAccount } from './environment-stack.ts';
import type { Keys } from './keys.ts';

/** What is not a value of a metric, but happens at a moment. */
export interface WatchedEvent {
  readonly meaning: (stackName: string) => string;
  readonly pattern: EventPattern;
}

/** ACM reports this daily, from 45 days before the end unless the account has another number. */
export const certificateExpires = (certificates: string[]): EventPattern => ({
  source: ['aws.acm'],
  detailType: ['ACM Certificate Approaching Expiration'],
  resources: certificates,
});

export const alarmBegins = (arn: string): EventPattern => ({
  source: ['aws.cloudwatch'],
  detailType: ['CloudWatch Alarm State Change'],
  resources: [arn],
  detail: { state: { value: ['ALARM'] } },
});

/** A successful call of these; those that are refused are recorded too. */
const called = (service: string, detail: Record<string, unknown>): EventPattern => ({
  source: [`aws.${service}`],
  detailType: ['AWS API Call via CloudTrail'],
  detail: { eventSource: [`${service}.amazonaws.com`], errorCode: Match.doesNotExist(), ...detail },
});

/**
 * Excludes what AWS does on its own or in the name of a caller: AWS Backup deletes what has
 * expired, and DynamoDB makes grants on the key of a table:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html
 */
const BY_HAND = { userIdentity: { invokedBy: Match.doesNotExist() } };

/** Calls after which keys may no longer protect what they protect. */
export const keyChanges = (arns: string[]): EventPattern =>
  called('kms', {
    resources: { ARN: arns },
    $or: [
      { eventName: ['DisableKey', 'ScheduleKeyDeletion', 'PutKeyPolicy', 'ReplicateKey'] },
      { eventName: ['CreateGrant', 'RevokeGrant'], ...BY_HAND },
    ],
  });

/** Calls after which vaults may no longer keep their backups. */
export const vaultChanges = (vaults: string[]): EventPattern =>
  called('backup', { ...onVaults(vaults), ...BY_HAND });

const onVaults = (backupVaultName: string[]) => ({
  eventName: [
    'DeleteRecoveryPoint',
    'UpdateRecoveryPointLifecycle',
    'DeleteBackupVault',
    'DeleteBackupVaultLockConfiguration',
    'PutBackupVaultLockConfiguration',
    'PutBackupVaultAccessPolicy',
  ],
  requestParameters: { backupVaultName },
});

const onPlan = (backupPlanId: string) => ({
  eventName: ['DeleteBackupPlan', 'UpdateBackupPlan', 'DeleteBackupSelection'],
  requestParameters: { backupPlanId: [backupPlanId] },
});

/** A replica has the id of its primary key. */
const replicaIn = (region: string, { stack, keyId }: IKey): string =>
  stack.formatArn({ service: 'kms', region, resource: 'key', resourceName: keyId });

export interface Watched {
  readonly environment: string;
  readonly settings: Settings;
  readonly keys: Keys;
  readonly table: AdministrationTable;
  readonly backup: Backup | undefined;
}

/** The events that notify the recipient of the alarms, by their sections in docs/runbook.md. */
export function watchedEvents({
  environment,
  settings: { domain, edge },
  keys,
  table,
  backup,
}: Watched): Record<string, WatchedEvent> {
  const certificates = [domain, edge].flatMap((host) => (host ? [host.certificate] : []));
  return {
    'key-states': {
      meaning: (stack) =>
        `A key of ${stack} was disabled, its deletion was scheduled, or others may use it now.`,
      pattern: keyChanges([
        ...keys.all.map(({ keyArn }) => keyArn),
        ...(backup ? keys.replicated.map((key) => replicaIn(backup.region, key)) : []),
      ]),
    },
    'table-changes': {
      meaning: (stack) => `The table of ${stack} or one of its backups was changed or deleted.`,
      pattern: called('dynamodb', {
        $or: [
          {
            eventName: ['DeleteTable', 'UpdateTable', 'UpdateContinuousBackups'],
            // A caller may name a table by its ARN.
            requestParameters: { tableName: [table.name, table.arn] },
          },
          {
            eventName: ['DeleteBackup'],
            requestParameters: { backupArn: Match.prefix(`${table.arn}/backup/`) },
            ...BY_HAND,
          },
        ],
      }),
    },
    ...(backup && {
      backups: {
        meaning: (stack) => `A backup of the table of ${stack}, or its copy, failed.`,
        pattern: {
          source: ['aws.backup'],
          detailType: ['Backup Job State Change', 'Copy Job State Change'],
          detail: { state: ['FAILED', 'ABORTED', 'EXPIRED'], resourceArn: [table.arn] },
        },
      },
      'backup-changes': {
        meaning: (stack) =>
          `A backup of the table of ${stack}, its vault or its plan was changed or deleted.`,
        pattern: called('backup', {
          $or: [
            onVaults([stackName(environment), backupStackName(environment)]),
            onPlan(backup.planId),
          ],
          ...BY_HAND,
        }),
      },
    }),
    ...(edge && {
      'edge-errors': {
        meaning: (stack) => `Through the edge of ${stack}, clients receive 5xx.`,
        pattern: alarmBegins(
          Stack.of(table).formatArn({
            service: 'cloudwatch',
            region: EDGE_REGION,
            resource: 'alarm',
            resourceName: edgeAlarmName(environment),
            arnFormat: ArnFormat.COLON_RESOURCE_NAME,
          }),
        ),
      },
    }),
    ...(certificates.length > 0 && {
      certificates: {
        meaning: (stack) => `A certificate of ${stack} expires within ${EXPIRY_NOTICE_DAYS} days.`,
        pattern: {
          ...certificateExpires(certificates),
          detail: { DaysToExpiry: Match.lessThanOrEqual(EXPIRY_NOTICE_DAYS) },
        },
      },
    }),
  };
}

/** Forwards events of a stack to the region of the environment, whose rules notify of them. */
export function forwardEvents(
  scope: Construct,
  region: string,
  patterns: Readonly<Record<string, EventPattern>>,
): void {
  const eventBusArn = Stack.of(scope).formatArn({
    service: 'events',
    region,
    resource: 'event-bus',
    resourceName: 'default',
  });
  // Within an account, a role suffices without a policy of the bus: neither the guide's page about
  // regions nor aws-samples/serverless-patterns (eventbridge-cross-region) has one.
  const role = new Role(scope, 'Forwarder', { assumedBy: serviceOfAccount('events') });
  const bus = EventBus.fromEventBusArn(scope, 'AlarmEvents', eventBusArn);
  const target = new EventBusTarget(bus, { role });
  for (const [id, eventPattern] of Object.entries(patterns))
    new Rule(scope, id, {
      description: `Gatehouse: forwards ${id} to ${region}`,
      eventPattern,
      targets: [target],
    });
}
