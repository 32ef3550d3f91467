import { createHash } from 'node:crypto';
import { type CfnElement, Lazy, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { type Policy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  Code,
  type FunctionOptions,
  Function as LambdaFunction,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { bundleOf } from '../../bundle/bundle.ts';
import { domainOf } from '../../settings/domain-of.ts';
import type { Settings } from '../../settings/settings.ts';
import { metricsNamespace } from './metrics.ts';

/** What the functions of an environment have in common. */
export interface Deployment {
  readonly bundles: string;
  readonly environment: string;
  readonly settings: Settings;
}

interface Props extends Omit<FunctionOptions, 'environment'>, Deployment {
  /** A file name in `functions/`, without its extension. */
  readonly file: string;
  readonly variables?: Record<string, string>;
}

/**
 * A Lambda function with its own role and log group, so that every permission is granted to a
 * single function.
 */
export class GatehouseFunction extends LambdaFunction {
  constructor(
    scope: Construct,
    id: string,
    { file, bundles, environment, settings, variables, ...options }: Props,
  ) {
    const role = new Role(scope, `${id}-role`, {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    const logGroup = new LogGroup(scope, `${id}-log`, {
      logGroupName: `/aws/lambda/${Stack.of(scope).stackName}/${file}`,
      retention: settings.logRetentionDays,
      removalPolicy: settings.keepData
        ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        : RemovalPolicy.DESTROY,
    });
    logGroup.grantWrite(role);
    nameByStatements(role.node.findChild('DefaultPolicy') as Policy);
    const domain = domainOf(settings.region);
    super(scope, id, {
      ...options,
      environment: {
        ...variables,
        METRICS_NAMESPACE: metricsNamespace(environment),
        ...(domain !== 'amazonaws.com' && { ENDPOINT_DOMAIN: domain }),
      },
      role,
      logGroup,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: 'index.handler',
      code: Code.fromAsset(bundleOf(bundles, file)),
    });
  }
}

/**
 * Makes the logical id of a policy, and with it its name, depend on its statements. A changed
 * policy is then added to the role before the function is updated, and the former one is removed at
 * the end of the deployment: versions that still serve requests, or serve them again after a
 * rollback, keep the permissions that they need. The role stays, because an alias cannot divide
 * requests between versions with different roles:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuring-alias-routing.html
 */
function nameByStatements(policy: Policy): void {
  const stack = Stack.of(policy);
  const hash = () =>
    createHash('sha256')
      .update(JSON.stringify(stack.resolve(policy.document)))
      .digest('hex')
      .slice(0, 8);
  const element = policy.node.defaultChild as CfnElement;
  const logicalId: string = stack.resolve(element.logicalId);
  element.overrideLogicalId(Lazy.uncachedString({ produce: () => `${logicalId}${hash()}` }));
}
