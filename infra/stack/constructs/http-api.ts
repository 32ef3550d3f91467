import { ArnFormat, CfnOutput, CfnResource, Duration, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CfnRoute,
  type CfnRouteProps,
  type CfnStage,
  CorsHttpMethod,
  DomainName,
  HttpApi,
  HttpIntegrationType,
  HttpMethod,
  HttpRoute,
  HttpRouteIntegration,
  HttpRouteKey,
  HttpStage,
  IntegrationCredentials,
  PayloadFormatVersion,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { type Route, routes } from '../../../routes.ts';
import { publicHostName } from '../../settings/host-names.ts';
import { throttleOf } from '../../settings/limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { routeId } from './endpoint-function.ts';
import type { Environment } from './environment-stack.ts';
import { metricsNamespace } from './metrics.ts';

const { GET, HEAD, POST, PUT, DELETE } = CorsHttpMethod;

const CORS = {
  allowMethods: [GET, HEAD, POST, PUT, DELETE],
  allowHeaders: ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match'],
  exposeHeaders: [
    'Authorization',
    'ETag',
    'Link',
    'Location',
    'Retry-After',
    'X-Total-Count',
    'X-gatehouseApp-alert',
    'X-gatehouseApp-error',
    'X-gatehouseApp-params',
  ],
  // The maximum of Chromium. A removed origin is still blocked.
  maxAge: Duration.hours(2),
};

const ACCESS_LOG_FIELDS = {
  requestId: '$context.requestId',
  time: '$context.requestTimeEpoch',
  sourceIp: '$context.identity.sourceIp',
  route: '$context.routeKey',
  status: '$context.status',
  milliseconds: '$context.responseLatency',
  integrationStatus: '$context.integrationStatus',
  integrationError: '$context.integrationErrorMessage',
  functionRequestId: '$context.awsEndpointRequestId',
};

const METRIC_FILTERS = {
  // A request that API Gateway throttles reaches no function, unlike other 429.
  Throttled: ['gatewayThrottles', '{ $.status = "429" && $.integrationStatus = "-" }'],
  FailedInvocations: ['failedInvocations', '{ $.status = "5*" && $.integrationError != "-" }'],
} as const;

/**
 * Uses the role of the API: a permission per function would be another resource, and a stack may
 * have 500.
 */
class FunctionIntegration extends HttpRouteIntegration {
  private readonly fn: IFunction;
  private readonly role: Role;

  constructor(id: string, fn: IFunction, role: Role) {
    super(id);
    this.fn = fn;
    this.role = role;
  }

  bind() {
    return {
      type: HttpIntegrationType.AWS_PROXY,
      uri: this.fn.functionArn,
      payloadFormatVersion: PayloadFormatVersion.VERSION_2_0,
      credentials: IntegrationCredentials.fromRole(this.role),
    };
  }
}

const arnOf = (log: LogGroup): string =>
  Stack.of(log).formatArn({
    service: 'logs',
    resource: 'log-group',
    resourceName: log.logGroupName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });

/**
 * How many routes and integrations CloudFormation creates or deletes at once. Without a limit it
 * starts with all of them, and API Gateway rejects as many calls every time, also in the rollback:
 * https://github.com/aws/aws-cdk/issues/22229
 */
const LANES = 8;

/** The HTTP API: its routes, their throttling, which bounds the cost, and an access log. */
export class GatehouseHttpApi extends Construct {
  readonly url: string;
  readonly id: string;
  readonly accessLogName: string;
  private readonly api: HttpApi;
  private readonly stage: HttpStage;
  private readonly invoker: Role;
  /** The last resource of each lane. */
  private readonly lanes: (CfnResource | undefined)[] = Array.from({ length: LANES });
  private readonly invocation = new PolicyStatement({ actions: ['lambda:InvokeFunction'] });

  constructor(scope: Construct, id: string, { environment, settings }: Environment) {
    const { corsOrigins, domain, logRetentionDays } = settings;
    const throttle = throttleOf(settings);
    super(scope, id);
    const { stackName } = Stack.of(this);
    this.api = new HttpApi(this, 'Api', {
      apiName: stackName,
      createDefaultStage: false,
      // Otherwise a client could bypass what is in front of the host name, such as an edge.
      ...(domain && { disableExecuteApiEndpoint: true }),
      ...(corsOrigins.length > 0 && { corsPreflight: { ...CORS, allowOrigins: corsOrigins } }),
    });
    const accessLog = new LogGroup(this, 'AccessLog', {
      // Below this prefix, AWS needs no statement per log group in the resource policy, whose size
      // is limited.
      logGroupName: `/aws/vendedlogs/${stackName}/access`,
      retention: logRetentionDays,
    });
    this.stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      ...(domain && { domainMapping: { domainName: this.ownDomain(domain) } }),
      throttle: { rateLimit: throttle.all.rate, burstLimit: throttle.all.burst },
      accessLogSettings: {
        // Without the `:*` at the end of the attribute `Arn`, which API Gateway removes, so that
        // drift detection would report it: https://github.com/aws/aws-cdk/issues/38796
        destination: { bind: () => ({ destinationArn: arnOf(accessLog) }) },
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG_FIELDS)),
      },
    });
    const { rate, burst } = throttle.login;
    (this.stage.node.defaultChild as CfnStage).routeSettings = Object.fromEntries(
      routes
        .filter(({ strictThrottle }) => strictThrottle)
        .map(({ route }) => [route, { ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst }]),
    );
    for (const [filterId, [metricName, pattern]] of Object.entries(METRIC_FILTERS))
      accessLog.addMetricFilter(filterId, {
        metricNamespace: metricsNamespace(environment),
        metricName,
        filterPattern: FilterPattern.literal(pattern),
        defaultValue: 0,
      });
    this.invoker = new Role(this, 'Invoker', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      // One statement for all: the policies of a role may have 10,240 characters.
      inlinePolicies: { invocation: new PolicyDocument({ statements: [this.invocation] }) },
    });
    const hostName = publicHostName(settings);
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

  addRoutes(rows: readonly [Route, ...Route[]], fn: IFunction): void {
    const id = `${routeId(rows[0])}-integration`;
    const integration = new FunctionIntegration(id, fn, this.invoker);
    this.invocation.addResources(fn.functionArn);
    const added = rows.flatMap((row) => this.addRoute(row, integration));
    let last = this.lanes.shift();
    for (const resource of added) {
      if (last) resource.addResourceDependency(last);
      last = resource;
    }
    this.lanes.push(last);
  }

  /** In the order of their references: the integration if it is a new one, the route, its HEAD. */
  private addRoute(row: Route, integration: FunctionIntegration): CfnResource[] {
    const { route, contract } = row;
    const [method, path] = route.split(' ') as [HttpMethod, string];
    const httpRoute = new HttpRoute(this, routeId(row), {
      httpApi: this.api,
      routeKey: HttpRouteKey.with(path, method),
      integration,
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
    const added = httpRoute.node.findAll().filter((node) => CfnResource.isCfnResource(node));
    if (method !== HttpMethod.GET) return added;
    // HEAD has the integration of GET: the function responds as to GET, and API Gateway omits the
    // body. With another logical id, a running stack could not be updated: the route exists.
    const { apiId, target, authorizationType } = httpRoute.node.defaultChild as CfnRoute;
    const properties = { apiId, routeKey: `HEAD ${path}`, target, authorizationType };
    const head = new CfnRoute(httpRoute, 'Head', properties as CfnRouteProps);
    this.stage.node.addDependency(head);
    return [...added, head];
  }
}
