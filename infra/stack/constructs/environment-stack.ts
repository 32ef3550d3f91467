import { Aws, CfnOutput, Stack, type StackProps, Tags } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import project from '../../../package.json' with { type: 'json' };
import { ENVIRONMENT_TAG } from '../../settings/environment.ts';
import type { Settings } from '../../settings/settings.ts';

/** The version in package.json: the last release, or the next one while it is being made. */
const { version: VERSION } = project;

export interface Environment {
  readonly environment: string;
  readonly settings: Settings;
}

/** Where a stack is deployed. The CDK refuses the credentials of another account. */
export const awsEnvironment = ({ account }: Settings, region: string) => ({
  ...(account !== undefined && { account }),
  region,
});

/**
 * A service that assumes a role for this account only. EventBridge and CodeDeploy document the
 * condition; API Gateway does not, so its role has none:
 * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-iam.html
 * https://docs.aws.amazon.com/codedeploy/latest/userguide/security_confused_deputy.html
 */
export const serviceOfAccount = (service: 'events' | 'codedeploy'): ServicePrincipal =>
  new ServicePrincipal(`${service}.amazonaws.com`, {
    conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
  });

/** A stack of an environment: tagged with it, and protected if the environment keeps its data. */
export class EnvironmentStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    { environment, settings }: Environment,
    props: StackProps,
  ) {
    super(scope, id, {
      terminationProtection: settings.keepData && !settings.unprotected,
      // CloudFormation passes these on to resources, and updates them all if one changes: none may
      // depend on the release. Not every type gets them, so the template has the tag that costs and
      // preflight depend on.
      tags: { [ENVIRONMENT_TAG]: environment },
      ...props,
    });
    Tags.of(this).add(ENVIRONMENT_TAG, environment, {
      // CloudFront may refuse to create a function with tags:
      // https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2508
      excludeResourceTypes: ['AWS::CloudFront::Function'],
    });
    new CfnOutput(this, 'Version', { value: VERSION });
  }
}
