import { ArnFormat, CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib';
import {
  BackupPlan,
  BackupPlanRule,
  BackupResource,
  BackupVault,
  type IBackupVault,
} from 'aws-cdk-lib/aws-backup';
import { Schedule } from 'aws-cdk-lib/aws-events';
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { backupStackName } from '../../settings/backup.ts';
import type { Settings } from '../../settings/settings.ts';
import type { AdministrationTable } from './administration-table.ts';
import type { Environment } from './environment-stack.ts';
import type { Keys } from './keys.ts';

/**
 * Long enough to repeat a copy that failed. Point-in-time recovery restores the table in its own
 * region, and each backup costs as much as a whole one.
 */
const KEPT_HERE_DAYS = 7;

interface Props extends Environment {
  readonly backup: NonNullable<Settings['backup']>;
  readonly table: AdministrationTable;
  readonly keys: Keys;
}

export const keyOutput = (logicalId: string): string => `${logicalId}Arn`;

/**
 * A vault, which must outlive its stack. The key is AWS's own for backups: nobody can disable or
 * delete it, and the backups are readable without the key of the table.
 */
export const vault = (
  scope: Construct,
  backupVaultName: string,
  lockedDays?: number,
): BackupVault =>
  new BackupVault(scope, 'Vault', {
    backupVaultName,
    ...(lockedDays && {
      lockConfiguration: {
        minRetention: Duration.days(lockedDays),
        // The shortest time after which nobody can remove the lock, not even AWS:
        // https://docs.aws.amazon.com/aws-backup/latest/devguide/vault-lock.html
        changeableFor: Duration.days(3),
      },
    }),
  });

/** A daily backup of the table, and a copy of it in the vault of the other region. */
export class Backup extends Construct {
  readonly planId: string;
  readonly region: string;

  constructor(scope: Construct, id: string, { environment, backup, table, keys }: Props) {
    super(scope, id);
    this.region = backup.region;
    const plan = new BackupPlan(this, 'Plan', {
      backupPlanName: Stack.of(this).stackName,
      backupPlanRules: [
        new BackupPlanRule({
          ruleName: 'daily',
          backupVault: vault(this, Stack.of(this).stackName),
          scheduleExpression: Schedule.cron({ hour: '2', minute: '0' }),
          deleteAfter: Duration.days(Math.min(KEPT_HERE_DAYS, backup.days)),
          copyActions: [
            {
              destinationBackupVault: this.vaultOfCopies(environment, backup.region),
              deleteAfter: Duration.days(backup.days),
            },
          ],
        }),
      ],
    });
    this.planId = plan.backupPlanId;
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('backup.amazonaws.com'),
      managedPolicies: [
        ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSBackupServiceRolePolicyForBackup'),
      ],
    });
    Validations.of(role).acknowledge({
      id: 'AwsSolutions::AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]',
      reason: 'AWS requires this policy for backups of DynamoDB, and keeps it up to date',
    });
    // A table that is selected by its ARN needs no opt-in of the account:
    // https://docs.aws.amazon.com/aws-backup/latest/devguide/API_UpdateRegionSettings.html
    plan.addSelection('Table', {
      role,
      disableDefaultBackupPolicy: true,
      resources: [BackupResource.fromArn(table.arn)],
    });
    // The stack of the backups makes replicas of these.
    for (const { node, keyArn } of keys.replicated)
      new CfnOutput(Stack.of(this), keyOutput(node.id), { value: keyArn });
  }

  /** Its name follows a convention, because its stack refers to this one. */
  private vaultOfCopies(environment: string, region: string): IBackupVault {
    const arn = Stack.of(this).formatArn({
      service: 'backup',
      region,
      resource: 'backup-vault',
      resourceName: backupStackName(environment),
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    return BackupVault.fromBackupVaultArn(this, 'Copies', arn);
  }
}
