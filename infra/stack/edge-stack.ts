import {
  ArnFormat,
  CfnOutput,
  Duration,
  RemovalPolicy,
  SecretValue,
  Validations,
} from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AllowedMethods,
  type BehaviorOptions,
  CachePolicy,
  Distribution,
  Function as EdgeFunction,
  FunctionCode,
  FunctionEventType,
  FunctionRuntime,
  HttpVersion,
  OriginProtocolPolicy,
  OriginRequestCookieBehavior,
  OriginRequestHeaderBehavior,
  OriginRequestPolicy,
  OriginRequestQueryStringBehavior,
  OriginSslPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import {
  Alarm,
  ComparisonOperator,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { CfnLoggingConfiguration, CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import type { Construct } from 'constructs';
import { EDGE_HEADERS } from '../../lib/http/request.ts';
import { routes } from '../../routes.ts';
import {
  blockedLogName,
  EDGE_REGION,
  EDGE_REJECTION,
  edgeAlarmName,
  edgeDescription,
} from '../settings/edge.ts';
import type { Settings } from '../settings/settings.ts';
import {
  awsEnvironment,
  type Environment,
  EnvironmentStack,
} from './constructs/environment-stack.ts';
import { EDGE_RULES } from './constructs/metrics.ts';
import {
  alarmBegins,
  certificateExpires,
  forwardEvents,
} from './constructs/watched-and-forwarded-events.ts';

type Statement = CfnWebACL.StatementProperty;

/** States the client's address, in place of whatever the client sends under this name. */
const STATE_CLIENT_ADDRESS = `function handler(event) {
  var request = event.request;
  request.headers['${EDGE_HEADERS.clientAddress}'] = { value: event.viewer.ip };
  return request;
}
`;

/** CloudFront keeps errors for ten seconds unless told otherwise, even with no-store. */
const CACHED_ERRORS = [400, 403, 404, 405, 414, 500, 501, 502, 503, 504];

const WINDOW_SECONDS = 300;

/** CloudFront and WAF in front of the API, whose stack does not refer to this one. */
export class EdgeStack extends EnvironmentStack {
  constructor(scope: Construct, id: string, deployment: Environment) {
    const { environment, settings } = deployment;
    const { domain, edge } = settings;
    if (!domain || !edge) throw new Error('An edge requires the settings domain and edge');
    super(scope, id, deployment, {
      description: edgeDescription(settings.region),
      env: awsEnvironment(settings, EDGE_REGION),
      // Tags of the stack would reach its function, which must have none.
      tags: {},
    });

    const behavior = this.behaviorOf(domain, edge, environment);
    const webAcl = this.webAcl(edge, settings.corsOrigins);
    this.logBlocked(webAcl, settings);
    const distribution = new Distribution(this, 'Distribution', {
      comment: `Gatehouse ${environment}`,
      domainNames: [edge.hostName],
      certificate: Certificate.fromCertificateArn(this, 'Certificate', edge.certificate),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      webAclId: webAcl.attrArn,
      defaultBehavior: behavior,
      ...(settings.console && {
        // Their names change with their content, and the responses say that they can be cached.
        additionalBehaviors: {
          '/console/assets/*': { ...behavior, cachePolicy: CachePolicy.CACHING_OPTIMIZED },
        },
      }),
      errorResponses: CACHED_ERRORS.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
    });
    Validations.of(distribution).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-CFR1', reason: 'Users may be anywhere' },
      {
        id: 'AwsSolutions::AwsSolutions-CFR3',
        reason: 'The functions log each request with its client, and WAF those that it blocks',
      },
    );
    if (settings.alarms) {
      const { alarmArn } = this.alarmAbout(distribution, environment);
      // Where the region is the same, the events are there already.
      if (settings.region !== EDGE_REGION)
        forwardEvents(this, settings.region, {
          CertificateExpires: certificateExpires([edge.certificate]),
          EdgeErrors: alarmBegins(alarmArn),
        });
    }
    new CfnOutput(this, 'EdgeTarget', { value: distribution.distributionDomainName });
  }

  /** The API counts its own errors as well, but nothing else counts those that do not reach it. */
  private alarmAbout(distribution: Distribution, environment: string): Alarm {
    // CloudWatch knows a metric by all of its dimensions, and the CDK omits the second:
    // https://github.com/aws/aws-cdk/issues/19245
    const dimensionsMap = { DistributionId: distribution.distributionId, Region: 'Global' };
    const ofDistribution = { dimensionsMap, period: Duration.minutes(5) };
    const usingMetrics = {
      percent: distribution.metric5xxErrorRate().with(ofDistribution),
      requests: distribution.metricRequests().with(ofDistribution),
    };
    return new Alarm(this, 'Errors', {
      alarmName: edgeAlarmName(environment),
      alarmDescription:
        'Through the edge, clients receive 5xx. It notifies through a rule of the API.',
      metric: new MathExpression({ expression: 'percent / 100 * requests', usingMetrics }),
      threshold: 10,
      evaluationPeriods: 2,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
  }

  /** How requests are forwarded to the API: all of them, and without a cache. */
  private behaviorOf(
    domain: NonNullable<Settings['domain']>,
    edge: NonNullable<Settings['edge']>,
    environment: string,
  ): BehaviorOptions {
    return {
      origin: new HttpOrigin(domain.name, {
        protocolPolicy: OriginProtocolPolicy.HTTPS_ONLY,
        originSslProtocols: [OriginSslPolicy.TLS_V1_2],
        // As long as API Gateway waits for a function.
        readTimeout: Duration.seconds(30),
        // CloudFormation resolves the reference only when it changes, so a new secret needs a new
        // name.
        customHeaders: {
          [EDGE_HEADERS.secret]: SecretValue.secretsManager(edge.secret).unsafeUnwrap(),
        },
      }),
      allowedMethods: AllowedMethods.ALLOW_ALL,
      viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
      cachePolicy: CachePolicy.CACHING_DISABLED,
      originRequestPolicy: new OriginRequestPolicy(this, 'OriginRequests', {
        // API Gateway finds the API by the header Host, which must name the origin.
        headerBehavior: OriginRequestHeaderBehavior.denyList('Host'),
        // CloudFront does not support If-None-Match if it forwards cookies, which the API does
        // not use.
        cookieBehavior: OriginRequestCookieBehavior.none(),
        queryStringBehavior: OriginRequestQueryStringBehavior.all(),
      }),
      // A compressed response would get a weak ETag, which If-Match never matches.
      compress: false,
      functionAssociations: [
        {
          eventType: FunctionEventType.VIEWER_REQUEST,
          function: new EdgeFunction(this, 'StateClientAddress', {
            comment: `Gatehouse ${environment}: states the address of the client`,
            runtime: FunctionRuntime.JS_2_0,
            code: FunctionCode.fromInline(STATE_CLIENT_ADDRESS),
          }),
        },
      ],
    };
  }

  private webAcl(
    { requestsPerSource, loginsPerSource }: NonNullable<Settings['edge']>,
    corsOrigins: readonly string[],
  ): CfnWebACL {
    const visibilityConfig = (metricName: string) => ({
      metricName,
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: true,
    });
    const loginLimit = (paths: readonly string[]) => ({
      limit: loginsPerSource,
      scopeDownStatement: requestsFor(paths, corsOrigins),
    });
    const limits = {
      logins: loginLimit(STRICT_PATHS.filter(isLogin)),
      resets: loginLimit(STRICT_PATHS.filter((path) => !isLogin(path))),
      requests: { limit: requestsPerSource },
    };
    return new CfnWebACL(this, 'WebAcl', {
      description: 'Limits the requests of each IP address',
      scope: 'CLOUDFRONT',
      defaultAction: { allow: {} },
      visibilityConfig: visibilityConfig(this.stackName),
      dataProtectionConfig: {
        dataProtections: [
          {
            // The tokens, in samples and in the log.
            field: { fieldType: 'SINGLE_HEADER', fieldKeys: ['authorization'] },
            action: 'SUBSTITUTION',
          },
        ],
      },
      customResponseBodies: {
        'too-many-requests': {
          contentType: 'APPLICATION_JSON',
          content: JSON.stringify(EDGE_REJECTION.body),
        },
      },
      rules: EDGE_RULES.map((name, priority) => ({
        name,
        priority,
        statement: {
          rateBasedStatement: {
            aggregateKeyType: 'IP',
            evaluationWindowSec: WINDOW_SECONDS,
            ...limits[name],
          },
        },
        action: {
          block: {
            customResponse: {
              responseCode: EDGE_REJECTION.status,
              customResponseBodyKey: 'too-many-requests',
              responseHeaders: [{ name: 'Retry-After', value: String(WINDOW_SECONDS) }],
            },
          },
        },
        visibilityConfig: visibilityConfig(name),
      })),
    });
  }

  /** Only these: all others are in the logs of API Gateway and of the functions. */
  private logBlocked(webAcl: CfnWebACL, { keepData, logRetentionDays }: Settings): void {
    const log = new LogGroup(this, 'BlockedRequests', {
      logGroupName: blockedLogName(this.stackName),
      retention: logRetentionDays,
      removalPolicy: keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    new CfnLoggingConfiguration(this, 'Logging', {
      resourceArn: webAcl.attrArn,
      // The form that WAF documents, without the `:*` at the end of the attribute `Arn`:
      // https://docs.aws.amazon.com/waf/latest/developerguide/logging-cw-logs.html
      logDestinationConfigs: [
        this.formatArn({
          service: 'logs',
          resource: 'log-group',
          resourceName: log.logGroupName,
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        }),
      ],
      loggingFilter: {
        DefaultBehavior: 'DROP',
        Filters: [
          {
            Behavior: 'KEEP',
            Requirement: 'MEETS_ANY',
            Conditions: [{ ActionCondition: { Action: 'BLOCK' } }],
          },
        ],
      },
    });
  }
}

const STRICT_PATHS = routes
  .filter(({ strictThrottle }) => strictThrottle)
  .map(({ route }) => route.slice(route.indexOf(' ') + 1));
const isLogin = (path: string) => path.startsWith('/api/authenticate');

/**
 * Matches the POST requests for these paths, except those that a browser marks as sent for a page
 * of another site. The functions reject those, so that no page can use up the requests of its
 * visitor's address; counting them would.
 */
const requestsFor = (paths: readonly string[], corsOrigins: readonly string[]): Statement =>
  all(
    matches({ method: {} }, 'POST'),
    {
      orStatement: {
        statements: [
          // The spellings of a path that may reach its route, whose match is case-sensitive.
          ...paths.map((path) => matches(PATH, path, ['URL_DECODE', 'NORMALIZE_PATH'])),
          // API Gateway drops what follows an encoded question mark in a path, so a path with one
          // may reach any route. It is not normalized, which would remove the question mark of
          // `/api/authenticate%3F/..`.
          matches(PATH, '?', ['URL_DECODE'], 'CONTAINS'),
        ],
      },
    },
    not(
      all(
        matches({ singleHeader: { Name: 'sec-fetch-site' } }, 'cross-site'),
        ...corsOrigins.map((origin) => not(matches({ singleHeader: { Name: 'origin' } }, origin))),
      ),
    ),
  );

const PATH = { uriPath: {} };

/** WAF requires at least two statements to combine. */
const all = (first: Statement, ...others: Statement[]): Statement =>
  others.length > 0 ? { andStatement: { statements: [first, ...others] } } : first;
const not = (statement: Statement): Statement => ({ notStatement: { statement } });
const matches = (
  fieldToMatch: CfnWebACL.FieldToMatchProperty,
  searchString: string,
  transformations = ['NONE'],
  positionalConstraint = 'EXACTLY',
): Statement => ({
  byteMatchStatement: {
    fieldToMatch,
    positionalConstraint,
    searchString,
    textTransformations: transformations.map((type, priority) => ({ type, priority })),
  },
});
