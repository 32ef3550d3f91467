import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Route } from '../../routes.ts';
import type { Settings } from '../settings.ts';
import { GatehouseFunction } from './gatehouse-function.ts';

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

/** The function of one row. */
export class EndpointFunction extends GatehouseFunction {
  constructor(scope: Construct, id: string, { route, bundles, environment, settings }: Props) {
    super(scope, id, {
      file: route.handler,
      bundles,
      settings,
      description: route.route,
      memorySize: route.permissions.keys?.includes('pepper') ? MEMORY.hashing : MEMORY.usual,
      timeout: TIMEOUT,
      ...(route.strictThrottle &&
        settings.loginConcurrency !== undefined && { reservedConcurrentExecutions: settings.loginConcurrency }),
      environment: {
        TOKEN_ISSUER: `gatehouse-${environment}`,
        TOKEN_SECONDS: String(settings.tokenLife.minutes * 60),
        REMEMBERED_TOKEN_SECONDS: String(settings.tokenLife.rememberedMinutes * 60),
        AUDIT_DAYS: String(settings.auditDays),
        FAILURES_PER_SOURCE: String(settings.guessing.failuresPerSource),
        REQUESTS_PER_SOURCE: String(settings.guessing.requestsPerSource),
      },
    });
  }
}
