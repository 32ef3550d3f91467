import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Route } from '../../routes.ts';
import { bundleOf } from '../bundle.ts';
import type { Settings } from '../settings.ts';

/** Lambda gives processor time by memory, and only argon2 takes any to speak of. Megabytes. */
const MEMORY = { usual: 512, hashing: 1024 };

/** Less than the 30 seconds of API Gateway, so that it is we who answer. */
const TIMEOUT = Duration.seconds(10);

interface Props {
  readonly route: Route;
  /** The folder of all bundles. */
  readonly bundles: string;
  readonly environment: string;
  readonly settings: Settings;
}

/** The function of one row, with a role and a log of its own. */
export class EndpointFunction extends LambdaFunction {
  constructor(scope: Construct, id: string, { route, bundles, environment, settings }: Props) {
    const role = new Role(scope, `${id}-role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const logGroup = new LogGroup(scope, `${id}-log`, {
      retention: settings.logRetentionDays,
      removalPolicy: settings.keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    logGroup.grantWrite(role);
    super(scope, id, {
      role,
      logGroup,
      description: route.on,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      handler: 'index.handler',
      code: Code.fromAsset(bundleOf(bundles, route.file)),
      memorySize: route.may.keys?.includes('pepper') ? MEMORY.hashing : MEMORY.usual,
      timeout: TIMEOUT,
      environment: {
        TOKEN_ISSUER: `gatehouse-${environment}`,
        TOKEN_SECONDS: String(settings.tokenLife.minutes * 60),
        AUDIT_DAYS: String(settings.auditDays),
        REMEMBERED_TOKEN_SECONDS: String(settings.tokenLife.rememberedMinutes * 60),
        FAILURES_PER_SOURCE: String(settings.guessing.failuresPerSource),
      },
    });
  }
}
