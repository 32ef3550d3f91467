import { Fn, RemovalPolicies, RemovalPolicy } from 'aws-cdk-lib';
import { Match } from 'aws-cdk-lib/aws-events';
import { AccountRootPrincipal, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnReplicaKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { replicatedKeys } from '../settings/backup.ts';
import { keyOutput, vault } from './constructs/backup.ts';
import {
  awsEnvironment,
  type Environment,
  EnvironmentStack,
} from './constructs/environment-stack.ts';
import {
  forwardEvents,
  keyChanges,
  vaultChanges,
} from './constructs/watched-and-forwarded-events.ts';
import type { GatehouseStack } from './gatehouse-stack.ts';

/** What a second region needs in order to continue without the first one. */
export class BackupStack extends EnvironmentStack {
  constructor(scope: Construct, id: string, deployment: Environment, main: GatehouseStack) {
    const { settings } = deployment;
    const { backup, pepperKeys, existing } = settings;
    if (!backup) throw new Error('The stack of the backups requires the setting backup');
    super(scope, id, deployment, {
      description: 'Gatehouse: copies of the table and replicas of its keys',
      env: awsEnvironment(settings, backup.region),
    });
    // The primary keys, whose ARNs are outputs, must exist first.
    this.addStackDependency(main);

    RemovalPolicies.of(this).apply(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE, {
      applyToResourceTypes: ['AWS::Backup::BackupVault', 'AWS::KMS::ReplicaKey'],
    });
    vault(this, this.stackName, backup.lockedDays);
    if (settings.alarms) {
      const replica = { service: 'kms', resource: 'key', resourceName: 'mrk-' };
      forwardEvents(this, settings.region, {
        // Of all multi-Region keys, because replicas are created after this rule. The rule that
        // notifies names them.
        KeyStates: keyChanges(Match.prefix(this.formatArn(replica))),
        BackupChanges: vaultChanges([this.stackName]),
      });
    }
    const others = [...this.node.children];
    for (const logicalId of replicatedKeys(pepperKeys)) {
      if (backup.existingReplicas?.includes(logicalId)) continue;
      const key = new CfnReplicaKey(this, logicalId, {
        description: `Gatehouse: replica of ${logicalId}`,
        primaryKeyArn:
          existing?.keys?.[logicalId] ??
          Fn.getStackOutput(main.stackName, keyOutput(logicalId), settings.region),
        // The shortest time, in which KMS creates no other replica of the same key here.
        pendingWindowInDays: 7,
        // As for the primary keys: policies of IAM decide.
        keyPolicy: new PolicyDocument({
          statements: [
            new PolicyStatement({
              actions: ['kms:*'],
              principals: [new AccountRootPrincipal()],
              resources: ['*'],
            }),
          ],
        }),
      });
      // Last: if anything else cannot be created, there is no replica whose deletion to wait for.
      key.node.addDependency(...others);
    }
  }
}
