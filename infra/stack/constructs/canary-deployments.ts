import { Validations } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import {
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy';
import { Policy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Route } from '../../../routes.ts';
import type { EndpointFunction } from './endpoint-function.ts';

/**
 * The log-in, one read, one change and the tokens of modules: together they contain most of the
 * code that functions share. With a group for each function, dozens of deployments would run at
 * once, whose calls AWS limits.
 */
const CANARY_ROUTES: readonly Route['route'][] = [
  'POST /api/authenticate',
  'GET /api/users',
  'PUT /api/users',
  'POST /api/oauth2/token',
];

/**
 * Sends a tenth of the requests to the new versions of a few functions for ten minutes, then all,
 * and updates all other functions afterwards. An alarm or a failure in these minutes returns all
 * requests to the former versions.
 */
export class CanaryDeployments extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { functions, alarms }: { functions: readonly EndpointFunction[]; alarms: Alarm[] },
  ) {
    super(scope, id);
    const canaries = CANARY_ROUTES.map((route) => {
      const canary = functions.find((fn) => fn.route === route);
      if (!canary) throw new Error(`routes.ts has no ${route}, which canary-deployments.ts names.`);
      return canary;
    });
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
          resources: canaries.flatMap(({ functionArn, live }) => [
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
    for (const fn of canaries) {
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
    // CloudFormation updates an alias with a group by a deployment of CodeDeploy, and the resources
    // that depend on the alias after the deployment has succeeded.
    for (const fn of functions)
      if (!canaries.includes(fn)) fn.live.node.addDependency(...canaries.map(({ live }) => live));
  }
}
