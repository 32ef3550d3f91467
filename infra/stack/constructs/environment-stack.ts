import { Stack, type StackProps, Tags } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../../settings/settings.ts';

/** An environment and its settings. */
export interface Environment {
  readonly environment: string;
  readonly settings: Settings;
}

/** Where a stack is deployed. The CDK refuses the credentials of another account. */
export const environmentOf = ({ account }: Settings, region: string) => ({
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
    const name = 'gatehouse:environment';
    super(scope, id, {
      ...props,
      terminationProtection: settings.keepData && !settings.unprotected,
      // Tags of the stack itself; those of its resources are separate.
      tags: { [name]: environment },
    });
    Tags.of(this).add(name, environment);
  }
}
