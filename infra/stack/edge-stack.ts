import { CfnOutput, Duration, SecretValue, Stack, Tags, Validations } from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AllowedMethods,
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
import { CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import type { Construct } from 'constructs';
import { EDGE_HEADERS } from '../../lib/http/edge.ts';
import { routes } from '../../routes.ts';
import { EDGE_REGION } from '../settings/edge.ts';
import type { Settings } from '../settings/settings.ts';
import { EDGE_RULES, type EdgeRule } from './constructs/metrics.ts';
import { EDGE_REJECTION } from './edge-rejection.ts';

/** States the client's address, in place of whatever the client sends under this name. */
const STATE_CLIENT_ADDRESS = `function handler(event) {
  var request = event.request;
  request.headers['${EDGE_HEADERS.clientAddress}'] = { value: event.viewer.ip };
  return request;
}
`;

/**
 * CloudFront keeps errors for ten seconds unless told otherwise, even those that must not be
 * stored.
 */
const CACHED_ERRORS = [400, 403, 404, 405, 414, 500, 501, 502, 503, 504];

const WINDOW_SECONDS = 300;

/**
 * The edge of one environment: CloudFront and WAF in front of the API. The stack of the API does
 * not refer to it.
 */
export class EdgeStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    { environment, settings }: { environment: string; settings: Settings },
  ) {
    const tags = { 'gatehouse:environment': environment };
    const { domain, edge, keepData, unprotected } = settings;
    if (!domain || !edge) throw new Error('An edge requires the settings domain and edge');
    super(scope, id, {
      description: 'Gatehouse: the edge in front of the API',
      env: { region: EDGE_REGION },
      terminationProtection: keepData && !unprotected,
      tags,
    });
    for (const [name, value] of Object.entries(tags)) Tags.of(this).add(name, value);

    const distribution = new Distribution(this, 'Distribution', {
      comment: `Gatehouse ${environment}`,
      domainNames: [edge.hostName],
      certificate: Certificate.fromCertificateArn(this, 'Certificate', edge.certificate),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      enableIpv6: true,
      webAclId: this.webAcl(edge, settings.corsOrigins).attrArn,
      defaultBehavior: {
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
      },
      errorResponses: CACHED_ERRORS.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
    });
    Validations.of(distribution).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-CFR1', reason: 'Users may be anywhere' },
      {
        id: 'AwsSolutions::AwsSolutions-CFR3',
        reason:
          'The functions log each request with the address of its client, and WAF keeps ' +
          'samples of those it blocks',
      },
    );
    new CfnOutput(this, 'EdgeTarget', { value: distribution.distributionDomainName });
  }

  private webAcl(
    { requestsPerSource, loginsPerSource }: NonNullable<Settings['edge']>,
    corsOrigins: readonly string[],
  ): CfnWebACL {
    const metricsOf = (metricName: string): CfnWebACL.VisibilityConfigProperty => ({
      metricName,
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: true,
    });
    const blockAbove = (
      name: EdgeRule,
      limit: number,
      scopeDownStatement?: CfnWebACL.StatementProperty,
    ) => ({
      name,
      priority: EDGE_RULES.indexOf(name),
      statement: {
        rateBasedStatement: {
          aggregateKeyType: 'IP',
          evaluationWindowSec: WINDOW_SECONDS,
          limit,
          ...(scopeDownStatement && { scopeDownStatement }),
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
      visibilityConfig: metricsOf(name),
    });
    return new CfnWebACL(this, 'WebAcl', {
      description: 'Limits the requests of each IP address',
      scope: 'CLOUDFRONT',
      defaultAction: { allow: {} },
      visibilityConfig: metricsOf(this.stackName),
      customResponseBodies: {
        'too-many-requests': {
          contentType: 'APPLICATION_JSON',
          content: JSON.stringify(EDGE_REJECTION.body),
        },
      },
      rules: [
        blockAbove('logins', loginsPerSource, requestsFor(LOGIN_PATHS, corsOrigins)),
        blockAbove('resets', loginsPerSource, requestsFor(RESET_PATHS, corsOrigins)),
        blockAbove('requests', requestsPerSource),
      ],
    });
  }
}

const STRICT_PATHS = routes
  .filter(({ strictThrottle }) => strictThrottle)
  .map(({ route }) => route.slice(route.indexOf(' ') + 1));
const RESET_PATHS = STRICT_PATHS.filter((path) => path.includes('/reset-password/'));
const LOGIN_PATHS = STRICT_PATHS.filter((path) => !RESET_PATHS.includes(path));

/**
 * Matches the POST requests for these paths, except those that a browser marks as sent for a page
 * of another site. The functions reject those, so that no page can use up the requests of its
 * visitor's address; counting them would.
 */
function requestsFor(
  paths: readonly string[],
  corsOrigins: readonly string[],
): CfnWebACL.StatementProperty {
  const isCrossSite = headerIs('sec-fetch-site', 'cross-site');
  const isForeign = corsOrigins.map((origin) => not(headerIs('origin', origin)));
  return {
    andStatement: {
      statements: [
        isEqual({ method: {} }, 'POST'),
        { orStatement: { statements: [...paths.map(isPath), HAS_QUESTION_MARK] } },
        not(
          isForeign.length > 0
            ? { andStatement: { statements: [isCrossSite, ...isForeign] } }
            : isCrossSite,
        ),
      ],
    },
  };
}

const not = (statement: CfnWebACL.StatementProperty): CfnWebACL.StatementProperty => ({
  notStatement: { statement },
});
const isEqual = (
  fieldToMatch: CfnWebACL.FieldToMatchProperty,
  searchString: string,
): CfnWebACL.StatementProperty => ({
  byteMatchStatement: {
    fieldToMatch,
    positionalConstraint: 'EXACTLY',
    searchString,
    textTransformations: [{ type: 'NONE', priority: 0 }],
  },
});
const headerIs = (name: string, value: string) => isEqual({ singleHeader: { Name: name } }, value);

const pathMatches = (
  positionalConstraint: 'EXACTLY' | 'CONTAINS',
  searchString: string,
  transformations: readonly string[],
): CfnWebACL.StatementProperty => ({
  byteMatchStatement: {
    fieldToMatch: { uriPath: {} },
    positionalConstraint,
    searchString,
    textTransformations: transformations.map((type, priority) => ({ type, priority })),
  },
});

/** Matches the spellings of a path that may reach its route, whose match is case-sensitive. */
const isPath = (path: string) => pathMatches('EXACTLY', path, ['URL_DECODE', 'NORMALIZE_PATH']);

/**
 * API Gateway drops what follows an encoded question mark in a path, so a path with one may reach
 * any route. It is not normalized, which would remove the question mark of
 * `/api/authenticate%3F/..`.
 */
const HAS_QUESTION_MARK = pathMatches('CONTAINS', '?', ['URL_DECODE']);
