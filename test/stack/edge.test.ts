import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { runInNewContext } from 'node:vm';
import { App } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { readTemplate } from '../../infra/local/stack/template.ts';
import { edgeStackName } from '../../infra/settings/edge.ts';
import { EdgeStack } from '../../infra/stack/edge-stack.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import {
  assemblyOf,
  edgeTemplateOf,
  type Resource,
  resourcesOf,
  templateOf,
} from '../support/stack/stack.ts';

/* Facts about the template of the edge. Each one states a resource in full. */

const edge = edgeTemplateOf('prod', OTHER_SETTINGS);
const TAGS = [{ Key: 'gatehouse:environment', Value: 'prod' }];

/** The only resource of a type, with its logical id. */
function only(type: string): [string, Resource] {
  const found = Object.entries(resourcesOf(edge, type));
  expect(found).toHaveLength(1);
  return found[0] as [string, Resource];
}
const artifactsOf = (changes: typeof OTHER_SETTINGS | Record<string, never>) =>
  JSON.parse(readFileSync(join(assemblyOf('prod', changes), 'manifest.json'), 'utf8')).artifacts;

describe('the stack of the edge', () => {
  it('exists only in an environment with an edge', () => {
    templateOf('prod');

    expect(Object.keys(artifactsOf({})).filter((name) => name.includes('Edge'))).toEqual([]);
    expect(() => {
      const settings = { ...OTHER_SETTINGS, edge: undefined };
      return new EdgeStack(new App(), 'Edge', { environment: 'prod', settings });
    }).toThrow('An edge requires the settings domain and edge');
  });

  it('is in us-east-1 and tagged like that of the API, and neither depends on the other', () => {
    const { environment, properties, dependencies } =
      artifactsOf(OTHER_SETTINGS)['GatehouseEdge-prod'];
    const api = artifactsOf(OTHER_SETTINGS)['Gatehouse-prod'];

    expect(environment).toBe('aws://unknown-account/us-east-1');
    expect(properties.tags).toEqual({ 'gatehouse:environment': 'prod' });
    expect([dependencies, api.dependencies]).toEqual([
      ['GatehouseEdge-prod.assets'],
      ['Gatehouse-prod.assets'],
    ]);
  });

  it.each([
    { keepData: true, unprotected: false, isProtected: true },
    { keepData: true, unprotected: true, isProtected: false },
    { keepData: false, unprotected: false, isProtected: false },
  ])('is protected against deletion like that of the API: %o', ({ isProtected, ...changes }) => {
    const { terminationProtection } = new EdgeStack(new App(), 'Edge', {
      environment: 'prod',
      settings: { ...OTHER_SETTINGS, ...changes },
    });

    expect(terminationProtection).toBe(isProtected);
  });

  it('consists of a distribution with function and policy, and a web ACL', () => {
    const { Description, Resources, Outputs } = edge.toJSON();
    const types = Object.values(Resources as Record<string, Resource>).map(({ Type }) => Type);
    const [distribution] = only('AWS::CloudFront::Distribution');

    expect(Description).toBe('Gatehouse: the edge in front of the API');
    const cloudFront = ['Distribution', 'Function', 'OriginRequestPolicy'].map(
      (type) => `AWS::CloudFront::${type}`,
    );
    expect(types.sort()).toEqual([...cloudFront, 'AWS::WAFv2::WebACL']);
    expect(Outputs).toEqual({
      EdgeTarget: { Value: { 'Fn::GetAtt': [distribution, 'DomainName'] } },
    });
  });

  it('is not what the local cloud runs', () => {
    expect(readTemplate(assemblyOf('prod', OTHER_SETTINGS)).stack).toBe('Gatehouse-prod');
  });
});

describe('the distribution', () => {
  it('forwards everything except Host and cookies, with the secret, and caches nothing', () => {
    const [functionId] = only('AWS::CloudFront::Function');
    const [policyId, { Properties: policy }] = only('AWS::CloudFront::OriginRequestPolicy');
    const [webAcl] = only('AWS::WAFv2::WebACL');
    const [, { Properties }] = only('AWS::CloudFront::Distribution');
    const [origin] = Properties.DistributionConfig.Origins;

    expect(policy.OriginRequestPolicyConfig).toMatchObject({
      HeadersConfig: { HeaderBehavior: 'allExcept', Headers: ['Host'] },
      CookiesConfig: { CookieBehavior: 'none' },
      QueryStringsConfig: { QueryStringBehavior: 'all' },
    });
    expect(Properties).toEqual({
      DistributionConfig: {
        Aliases: ['api.one.example'],
        Comment: 'Gatehouse prod',
        CustomErrorResponses: [400, 403, 404, 405, 414, 500, 501, 502, 503, 504].map(
          (ErrorCode) => ({
            ErrorCode,
            ErrorCachingMinTTL: 0,
          }),
        ),
        DefaultCacheBehavior: {
          AllowedMethods: ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'POST', 'DELETE'],
          // CachingDisabled.
          CachePolicyId: '4135ea2d-6df8-44a3-9df3-4b5a84be39ad',
          OriginRequestPolicyId: { Ref: policyId },
          Compress: false,
          FunctionAssociations: [
            {
              EventType: 'viewer-request',
              FunctionARN: { 'Fn::GetAtt': [functionId, 'FunctionARN'] },
            },
          ],
          TargetOriginId: origin.Id,
          ViewerProtocolPolicy: 'https-only',
        },
        Enabled: true,
        HttpVersion: 'http2and3',
        IPV6Enabled: true,
        Origins: [
          {
            Id: expect.any(String),
            DomainName: 'gate.one.example',
            CustomOriginConfig: {
              OriginProtocolPolicy: 'https-only',
              OriginReadTimeout: 30,
              OriginSSLProtocols: ['TLSv1.2'],
            },
            OriginCustomHeaders: [
              {
                HeaderName: 'gatehouse-edge-secret',
                HeaderValue: '{{resolve:secretsmanager:gate/edge-2:SecretString:::}}',
              },
            ],
          },
        ],
        ViewerCertificate: {
          AcmCertificateArn: OTHER_SETTINGS.edge.certificate,
          MinimumProtocolVersion: 'TLSv1.2_2021',
          SslSupportMethod: 'sni-only',
        },
        WebACLId: { 'Fn::GetAtt': [webAcl, 'Arn'] },
      },
      Tags: TAGS,
    });
  });

  it('waits longer for the origin than any function may take', () => {
    const timeouts = Object.values(
      resourcesOf(templateOf('prod', OTHER_SETTINGS), 'AWS::Lambda::Function'),
    )
      .filter(({ Properties }) => Properties.Environment.Variables.EDGE_SECRET_HASHES)
      .map(({ Properties }) => Properties.Timeout);

    expect(Math.max(...timeouts)).toBeLessThan(30);
  });
});

describe('the function of the distribution', () => {
  const [, { Properties }] = only('AWS::CloudFront::Function');

  /**
   * Runs the deployed code on a request with these headers, as CloudFront does: their names are in
   * lower case.
   */
  const run = (headers: object, ip: string) =>
    runInNewContext(`${Properties.FunctionCode}; handler(event)`, {
      event: {
        viewer: { ip },
        request: { method: 'GET', uri: '/api/health', querystring: { a: 1 }, headers },
      },
    });

  it('runs on the JavaScript runtime 2.0', () => {
    expect(Properties.FunctionConfig.Runtime).toBe('cloudfront-js-2.0');
    expect(Properties.AutoPublish).toBe(true);
  });

  it.each(['203.0.113.7', '2001:db8::7'])('states the address of the client: %s', (ip) => {
    const headers = { authorization: { value: 'Bearer x' } };

    expect(run(headers, ip)).toEqual({
      method: 'GET',
      uri: '/api/health',
      querystring: { a: 1 },
      headers: { ...headers, 'gatehouse-client-address': { value: ip } },
    });
  });

  it('replaces every address that the client sends', () => {
    const forged = {
      value: '198.51.100.1',
      multiValue: [{ value: '198.51.100.1' }, { value: '198.51.100.2' }],
    };

    expect(run({ 'gatehouse-client-address': forged }, '203.0.113.7').headers).toEqual({
      'gatehouse-client-address': { value: '203.0.113.7' },
    });
  });
});

describe('the web ACL', () => {
  const [, { Properties }] = only('AWS::WAFv2::WebACL');
  const metrics = (MetricName: string) => ({
    MetricName,
    CloudWatchMetricsEnabled: true,
    SampledRequestsEnabled: true,
  });
  const rule = (Name: string, Priority: number, statement: object) => ({
    Name,
    Priority,
    Statement: {
      RateBasedStatement: { AggregateKeyType: 'IP', EvaluationWindowSec: 300, ...statement },
    },
    Action: {
      Block: {
        CustomResponse: {
          ResponseCode: 429,
          CustomResponseBodyKey: 'too-many-requests',
          ResponseHeaders: [{ Name: 'Retry-After', Value: '300' }],
        },
      },
    },
    VisibilityConfig: metrics(Name),
  });
  const pathMatches = (PositionalConstraint: string, SearchString: string, ...types: string[]) => ({
    ByteMatchStatement: {
      FieldToMatch: { UriPath: {} },
      PositionalConstraint,
      SearchString,
      TextTransformations: types.map((Type, Priority) => ({ Priority, Type })),
    },
  });
  const isPath = (path: string) => pathMatches('EXACTLY', path, 'URL_DECODE', 'NORMALIZE_PATH');

  const isEqual = (FieldToMatch: object, SearchString: string) => ({
    ByteMatchStatement: {
      FieldToMatch,
      PositionalConstraint: 'EXACTLY',
      SearchString,
      TextTransformations: [{ Type: 'NONE', Priority: 0 }],
    },
  });
  const not = (Statement: object) => ({ NotStatement: { Statement } });
  const allOf = (...Statements: object[]) => ({ AndStatement: { Statements } });
  const header = (Name: string, value: string) => isEqual({ SingleHeader: { Name } }, value);
  const isForeign = OTHER_SETTINGS.corsOrigins.map((origin) => not(header('origin', origin)));
  /** What is no request for these paths in the name of a page that no setting allows. */
  const requestsFor = (...paths: string[]) =>
    allOf(
      isEqual({ Method: {} }, 'POST'),
      {
        OrStatement: {
          Statements: [...paths.map(isPath), pathMatches('CONTAINS', '?', 'URL_DECODE')],
        },
      },
      not(allOf(header('sec-fetch-site', 'cross-site'), ...isForeign)),
    );

  it('limits each address: its logins, its resets, and all its requests', () => {
    expect(Properties).toEqual({
      Description: 'Limits the requests of each IP address',
      Scope: 'CLOUDFRONT',
      DefaultAction: { Allow: {} },
      VisibilityConfig: metrics('GatehouseEdge-prod'),
      Rules: [
        rule('logins', 0, {
          Limit: 31,
          ScopeDownStatement: requestsFor('/api/authenticate'),
        }),
        rule('resets', 1, {
          Limit: 31,
          ScopeDownStatement: requestsFor(
            '/api/account/reset-password/init',
            '/api/account/reset-password/finish',
          ),
        }),
        rule('requests', 2, { Limit: 1009 }),
      ],
      CustomResponseBodies: {
        'too-many-requests': { ContentType: 'APPLICATION_JSON', Content: expect.any(String) },
      },
      Tags: TAGS,
    });
  });

  it.each([
    ['/api/authenticate', true],
    ['/api/%61uthenticate', true],
    ['//api/./authenticate', true],
    ['/api/authenticate%3Fx', true],
    ['/api/authenticate%3F%2F..%2F..', true],
    ['/api/authenticate%253Fx', false],
    ['/api/users/%61dmin', false],
    ['/api/Authenticate', false],
  ])('counts a request for %s as a login: %s', (path, isLogin) => {
    const transform: Record<string, (text: string) => string> = {
      URL_DECODE: decodeURIComponent,
      NORMALIZE_PATH: posix.normalize,
    };
    const [, { OrStatement }] =
      Properties.Rules[0].Statement.RateBasedStatement.ScopeDownStatement.AndStatement.Statements;
    const { Statements } = OrStatement;

    const matching = (Statements as ReturnType<typeof pathMatches>[]).filter(
      ({ ByteMatchStatement: statement }) => {
        const text = statement.TextTransformations.reduce(
          (result, { Type }) => transform[Type]?.(result) ?? '',
          path,
        );
        const { SearchString, PositionalConstraint } = statement;
        return PositionalConstraint === 'CONTAINS'
          ? text.includes(SearchString)
          : text === SearchString;
      },
    );

    expect(matching.length > 0).toBe(isLogin);
  });

  it('responds with a problem like that of the login throttle', () => {
    expect(JSON.parse(Properties.CustomResponseBodies['too-many-requests'].Content)).toEqual({
      type: 'https://www.jhipster.tech/problem/problem-with-message',
      title: 'Too Many Requests',
      status: 429,
      detail: expect.stringMatching(/too many requests from one address: .* in Retry-After$/),
      message: 'error.http.429',
    });
  });

  it('has the metrics that the dashboard of the API shows', () => {
    const [dashboard] = Object.values(
      resourcesOf(templateOf('prod', OTHER_SETTINGS), 'AWS::CloudWatch::Dashboard'),
    ) as [Resource];
    const body = JSON.stringify(dashboard.Properties.DashboardBody).replaceAll('\\"', '"');

    for (const { Name } of Properties.Rules) {
      expect(body).toContain(
        `["AWS/WAFV2","BlockedRequests","Rule","${Name}","WebACL","${edgeStackName('prod')}",{"region":"us-east-1"`,
      );
    }
  });
});
