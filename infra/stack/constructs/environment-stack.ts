import { CfnOutput, Stack, type StackProps, Tags } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import project from '../../../package.json' with { type: 'json' };
import { ENVIRONMENT_TAG } from '../../settings/environment.ts';
import type { Settings } from '../../settings/settings.ts';

/** The release that this source is, or will be. */
const { version: VERSION } = project;

/** An environment and its settings. */
export interface Environment {
  readonly environment: string;
  readonly settings: Settings;
}

/** Where a stack is deployed. The CDK refuses the credentials of another account. */
export const awsEnvironment = ({ account }: Settings, region: string) => ({
  ...(account !== undefined && { account }),
  region,
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
      ...props,
      terminationProtection: settings.keepData && !settings.unprotected,
      // Tags of the stack itself. CloudFormation passes them on to resources, but not to those of
      // every type, so the template has the one that costs and preflight depend on.
      tags: { [ENVIRONMENT_TAG]: environment, 'gatehouse:version': VERSION },
    });
    Tags.of(this).add(ENVIRONMENT_TAG, environment);
    new CfnOutput(this, 'Version', { value: VERSION });
  }
}
