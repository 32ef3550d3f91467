import { Duration } from 'aws-cdk-lib';
import { Alias } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { Route } from '../../../routes.ts';
import type { Settings } from '../../settings/settings.ts';
import { type Deployment, GatehouseFunction } from './gatehouse-function.ts';

interface Props extends Deployment {
  readonly route: Route;
}

export class EndpointFunction extends GatehouseFunction {
  /** The version that serves requests. */
  readonly live: Alias;

  constructor(scope: Construct, id: string, { route, ...deployment }: Props) {
    const { environment, settings } = deployment;
    super(scope, id, {
      ...deployment,
      file: route.handler,
      description: route.route,
      // Lambda allocates CPU in proportion to memory, and only argon2 needs much CPU.
      memorySize: route.permissions.keys?.includes('pepper') ? 1024 : 512,
      // Shorter than API Gateway's limit of 30 seconds, so that the function fails first.
      timeout: Duration.seconds(10),
      ...(route.strictThrottle &&
        settings.loginConcurrency !== undefined && {
          reservedConcurrentExecutions: settings.loginConcurrency,
        }),
      variables: {
        TOKEN_ISSUER: `gatehouse-${environment}`,
        TOKEN_SECONDS: String(settings.tokenLife.minutes * 60),
        REMEMBERED_TOKEN_SECONDS: String(settings.tokenLife.rememberedMinutes * 60),
        AUDIT_DAYS: String(settings.auditDays),
        FAILURES_PER_SOURCE: String(settings.guessing.failuresPerSource),
        REQUESTS_PER_SOURCE: String(settings.guessing.requestsPerSource),
        RESETS_PER_SOURCE: String(settings.guessing.resetsPerSource),
        ...(route.contract.access === 'public' && originsOf(settings)),
        ...(settings.edge && { EDGE_SECRET_HASHES: settings.edge.secretHashes.join(',') }),
      },
    });
    this.live = new Alias(this, 'Live', { aliasName: 'live', version: this.currentVersion });
  }
}

/** What tells requests of pages that may call the API from those of other sites. */
function originsOf({ corsOrigins, edge }: Settings): Record<string, string> {
  return {
    ...(corsOrigins.length > 0 && { CORS_ORIGINS: corsOrigins.join(',') }),
    ...(edge && { EDGE_HOST: edge.hostName }),
  };
}
