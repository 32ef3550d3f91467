import { Validations } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import {
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy';
import { Policy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { EndpointFunction } from './endpoint-function.ts';

/**
 * Sends a tenth of the requests to new versions for ten minutes, then all. An alarm or a failure
 * returns all requests to the former versions.
 */
export class CanaryDeployments extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { functions, alarms }: { functions: readonly EndpointFunction[]; alarms: Alarm[] },
  ) {
    super(scope, id);
    const application = new LambdaApplication(this, 'Application');
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
    });
    const policy = new Policy(this, 'Policy', {
      roles: [role],
      statements: [
        new PolicyStatement({
          actions: [
            'lambda:GetAlias',
            'lambda:UpdateAlias',
            'lambda:GetProvisionedConcurrencyConfig',
          ],
          // Not the aliases themselves: they depend on the groups, which depend on this policy.
          resources: functions.flatMap(({ functionArn, live }) => [
            functionArn,
            `${functionArn}:${live.aliasName}`,
          ]),
        }),
        // CodeDeploy's documentation names no narrower resource.
        new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }),
      ],
    });
    Validations.of(policy).acknowledge({
      id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
      reason: 'cloudwatch:DescribeAlarms only reads the states of alarms',
    });
    for (const fn of functions) {
      const group = new LambdaDeploymentGroup(this, fn.node.id, {
        application,
        alias: fn.live,
        deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_10MINUTES,
        alarms,
        autoRollback: { deploymentInAlarm: true, failedDeployment: true, stoppedDeployment: true },
        // The CDK would add a managed policy that allows the same for all functions of the account.
        role: role.withoutPolicyUpdates(),
      });
      group.node.addDependency(policy);
    }
  }
}
