import { CfnOutput, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogField, AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CfnRoute,
  type CfnStage,
  CorsHttpMethod,
  DomainName,
  HttpApi,
  type HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Route } from '../../../routes.ts';
import type { Settings } from '../../settings/settings.ts';
import { FAILED_INVOCATIONS, GATEWAY_THROTTLES, metricsNamespace } from './metrics.ts';

const { GET, HEAD, POST, PUT, DELETE } = CorsHttpMethod;
const ALLOWED_METHODS = [GET, HEAD, POST, PUT, DELETE];

const EXPOSED_HEADERS = [
  'Authorization',
  'ETag',
  'Link',
  'Location',
  'Retry-After',
  'X-Total-Count',
  'X-gatehouseApp-alert',
  'X-gatehouseApp-error',
  'X-gatehouseApp-params',
];

/**
 * Chromium remembers the response to a preflight request for two hours at most. A removed origin is
 * still blocked.
 */
const PREFLIGHT_MAX_AGE = Duration.hours(2);

/**
 * The HTTP API: a route for each row, and for HEAD beside GET; throttling that bounds the cost, and
 * an access log.
 */
export class GatehouseHttpApi extends Construct {
  readonly url: string;
  readonly id: string;
  readonly accessLogName: string;
  private readonly api: HttpApi;
  private readonly stage: HttpStage;
  private readonly strictLimits: Settings['throttle']['login'];
  private readonly routeSettings: Record<string, object> = {};

  constructor(
    scope: Construct,
    id: string,
    { environment, ...settings }: Settings & { environment: string },
  ) {
    const { throttle, corsOrigins, domain, edge, logRetentionDays, keepData } = settings;
    super(scope, id);
    this.strictLimits = throttle.login;
    this.api = new HttpApi(this, 'Api', {
      apiName: Stack.of(this).stackName,
      createDefaultStage: false,
      // Otherwise a client could bypass what is in front of the host name, such as an edge.
      ...(domain && { disableExecuteApiEndpoint: true }),
      ...(corsOrigins.length > 0 && {
        corsPreflight: {
          allowOrigins: corsOrigins,
          allowMethods: ALLOWED_METHODS,
          allowHeaders: ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match'],
          exposeHeaders: EXPOSED_HEADERS,
          maxAge: PREFLIGHT_MAX_AGE,
        },
      }),
    });
    const accessLog = new LogGroup(this, 'AccessLog', {
      // Below this prefix, AWS needs no statement per log group in the resource policy, whose size
      // is limited.
      logGroupName: `/aws/vendedlogs/${Stack.of(this).stackName}/access`,
      retention: logRetentionDays,
      removalPolicy: keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    this.stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      ...(domain && { domainMapping: { domainName: this.ownDomain(domain) } }),
      throttle: { rateLimit: throttle.all.rate, burstLimit: throttle.all.burst },
      accessLogSettings: {
        destination: new LogGroupLogDestination(accessLog),
        format: AccessLogFormat.custom(
          JSON.stringify({
            requestId: AccessLogField.contextRequestId(),
            time: AccessLogField.contextRequestTimeEpoch(),
            sourceIp: AccessLogField.contextIdentitySourceIp(),
            route: '$context.routeKey',
            status: AccessLogField.contextStatus(),
            milliseconds: '$context.responseLatency',
            integrationStatus: '$context.integrationStatus',
            integrationError: '$context.integrationErrorMessage',
            functionRequestId: '$context.awsEndpointRequestId',
          }),
        ),
      },
    });
    accessLog.addMetricFilter('Throttled', {
      metricNamespace: metricsNamespace(environment),
      metricName: GATEWAY_THROTTLES,
      // A request that API Gateway throttles reaches no function; other 429 are those of the
      // functions.
      filterPattern: FilterPattern.literal('{ $.status = "429" && $.integrationStatus = "-" }'),
      metricValue: '1',
    });
    accessLog.addMetricFilter('FailedInvocations', {
      metricNamespace: metricsNamespace(environment),
      metricName: FAILED_INVOCATIONS,
      filterPattern: FilterPattern.literal('{ $.status = "5*" && $.integrationError != "-" }'),
      metricValue: '1',
    });
    const hostName = edge?.hostName ?? domain?.name;
    this.url = hostName ? `https://${hostName}` : this.api.apiEndpoint;
    this.id = this.api.apiId;
    this.accessLogName = accessLog.logGroupName;
  }

  /** A host name of the operator's own, whose record in DNS leads to the printed target. */
  private ownDomain({ name, certificate }: NonNullable<Settings['domain']>): DomainName {
    const domainName = new DomainName(this, 'Domain', {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificate),
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    // An output of the stack itself has a short name.
    new CfnOutput(Stack.of(this), 'DomainTarget', { value: domainName.regionalDomainName });
    return domainName;
  }

  addRoute({ route, handler, contract, strictThrottle }: Route, fn: IFunction): void {
    const [method, path] = route.split(' ') as [HttpMethod, string];
    const httpRoute = new HttpRoute(this, handler, {
      httpApi: this.api,
      routeKey: HttpRouteKey.with(path, method),
      integration: new HttpLambdaIntegration(`${handler}-integration`, fn),
    });
    Validations.of(httpRoute).acknowledge({
      id: 'AwsSolutions::AwsSolutions-APIG4',
      reason:
        contract.access === 'public'
          ? 'Public by its contract: its callers neither have nor need a token'
          : 'The function verifies the token itself: JWT authorizers do not support ES256 ' +
            '(docs/adr/0004)',
    });
    // One automatic deployment instead of one per route, and CloudFormation fails if the stage has
    // settings for a route that does not exist yet.
    this.stage.node.addDependency(httpRoute);
    if (method === 'GET') this.stage.node.addDependency(this.headRoute(httpRoute, path));
    if (!strictThrottle) return;
    const { rate, burst } = this.strictLimits;
    this.routeSettings[route] = { ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst };
    (this.stage.node.defaultChild as CfnStage).routeSettings = this.routeSettings;
  }

  /**
   * Sends HEAD to the integration of GET. The function responds as to GET, and API Gateway omits
   * the body. The permission of the GET route is for all methods of its path, so an HttpRoute,
   * which adds one, would repeat it.
   */
  private headRoute(getRoute: HttpRoute, path: string): CfnRoute {
    const { apiId, target, authorizationType } = getRoute.node.defaultChild as CfnRoute;
    return new CfnRoute(getRoute, 'Head', {
      apiId,
      routeKey: `HEAD ${path}`,
      ...(target !== undefined && { target }),
      ...(authorizationType !== undefined && { authorizationType }),
    });
  }
}
