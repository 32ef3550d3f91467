import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { runInNewContext } from 'node:vm';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { EdgeStack } from '../../infra/stack/edge-stack.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import {
  propertiesOf as allPropertiesOf,
  assemblyOf,
  edgeTemplateOf,
  type Resource,
  resourcesOf,
  templateOf,
} from '../support/stack/stack.ts';

/*
 * The facts of the edge that security depends on. other-settings.txt lists its resources.
 */

const edge = edgeTemplateOf('prod', OTHER_SETTINGS);
const propertiesOf = (type: string): Resource['Properties'] => allPropertiesOf(edge, type)[0] ?? {};
const artifactsOf = (changes: object) =>
  JSON.parse(readFileSync(join(assemblyOf('prod', changes), 'manifest.json'), 'utf8')).artifacts;
const newStack = (changes: object) =>
  new EdgeStack(new App(), 'Edge', {
    environment: 'prod',
    settings: { ...OTHER_SETTINGS, ...changes },
  });

describe('the stack of the edge', () => {
  it('exists only in an environment with an edge', () => {
    templateOf('prod');

    expect(Object.keys(artifactsOf({})).filter((name) => name.includes('Edge'))).toEqual([]);
    expect(() => newStack({ edge: undefined })).toThrow(
      'An edge requires the settings domain and edge',
    );
  });

  it('is in us-east-1, and neither depends on the other', () => {
    const { environment, properties, dependencies } =
      artifactsOf(OTHER_SETTINGS)['GatehouseEdge-prod'];

    expect(environment).toBe('aws://123456789012/us-east-1');
    // Tags of a stack reach its resources.
    expect(properties.tags ?? {}).toEqual({});
    expect(dependencies).toEqual(['GatehouseEdge-prod.assets']);
    expect(artifactsOf(OTHER_SETTINGS)['Gatehouse-prod'].dependencies).toEqual([
      'Gatehouse-prod.assets',
    ]);
  });

  it.each([
    [true, false, true],
    [true, true, false],
    [false, false, false],
  ])('with keepData %s and unprotected %s is protected: %s', (keepData, unprotected, expected) => {
    expect(newStack({ keepData, unprotected }).terminationProtection).toBe(expected);
  });

  it('logs what it blocks, without tokens, for as long as other logs are kept', () => {
    expect(propertiesOf('AWS::Logs::LogGroup')).toMatchObject({
      LogGroupName: 'aws-waf-logs-GatehouseEdge-prod',
      RetentionInDays: OTHER_SETTINGS.logRetentionDays,
    });
    const { LoggingFilter } = propertiesOf('AWS::WAFv2::LoggingConfiguration');
    expect(LoggingFilter).toMatchObject({
      DefaultBehavior: 'DROP',
      Filters: [{ Behavior: 'KEEP', Conditions: [{ ActionCondition: { Action: 'BLOCK' } }] }],
    });
    expect(propertiesOf('AWS::WAFv2::WebACL').DataProtectionConfig.DataProtections).toMatchObject([
      {
        Field: { FieldType: 'SINGLE_HEADER', FieldKeys: ['authorization'] },
        Action: 'SUBSTITUTION',
      },
    ]);
  });
});

it('the expiry of its certificate and its errors are forwarded to another region', () => {
  const rulesWith = (changes: object) =>
    allPropertiesOf(Template.fromStack(newStack(changes)), 'AWS::Events::Rule');

  const rules = rulesWith({});
  expect(rules.map(({ EventPattern }) => EventPattern.resources)).toEqual([
    [OTHER_SETTINGS.edge.certificate],
    [{ 'Fn::GetAtt': [expect.stringMatching(/^Errors/), 'Arn'] }],
  ]);
  for (const { Targets } of rules)
    expect(JSON.stringify(Targets)).toMatch(/:events:eu-north-1:.*:event-bus\/default/);
  expect(rulesWith({ region: 'us-east-1' })).toEqual([]);
  expect(rulesWith({ alarms: undefined })).toEqual([]);
});

it('an alarm counts the errors that clients receive, if there is a recipient', () => {
  const alarm = propertiesOf('AWS::CloudWatch::Alarm');
  const limits = { Threshold: 10, EvaluationPeriods: 2, TreatMissingData: 'notBreaching' };
  const silent = Template.fromStack(newStack({ alarms: undefined }));

  expect(alarm).toMatchObject({ AlarmName: 'GatehouseEdge-prod-errors', ...limits });
  expect(JSON.stringify(alarm)).toContain('5xxErrorRate');
  expect(resourcesOf(silent, 'AWS::CloudWatch::Alarm')).toEqual({});
});

describe('the distribution', () => {
  it('forwards all except Host and cookies, over TLS with the secret, and caches nothing', () => {
    const { DistributionConfig: config } = propertiesOf('AWS::CloudFront::Distribution');
    const { OriginRequestPolicyConfig } = propertiesOf('AWS::CloudFront::OriginRequestPolicy');

    expect(OriginRequestPolicyConfig).toMatchObject({
      HeadersConfig: { HeaderBehavior: 'allExcept', Headers: ['Host'] },
      CookiesConfig: { CookieBehavior: 'none' },
      QueryStringsConfig: { QueryStringBehavior: 'all' },
    });
    expect(config).toMatchObject({
      DefaultCacheBehavior: {
        // CachingDisabled.
        CachePolicyId: '4135ea2d-6df8-44a3-9df3-4b5a84be39ad',
        ViewerProtocolPolicy: 'https-only',
      },
      Origins: [
        {
          CustomOriginConfig: { OriginProtocolPolicy: 'https-only', OriginReadTimeout: 30 },
          OriginCustomHeaders: [
            {
              HeaderName: 'gatehouse-edge-secret',
              HeaderValue: '{{resolve:secretsmanager:gate/edge-2:SecretString:::}}',
            },
          ],
        },
      ],
      ViewerCertificate: { MinimumProtocolVersion: 'TLSv1.2_2021' },
    });
    expect(
      config.CustomErrorResponses.filter(
        ({ ErrorCachingMinTTL }: Record<string, number>) => ErrorCachingMinTTL !== 0,
      ),
    ).toEqual([]);
  });

  it('caches nothing but the assets of the console, and shows errors as they are', () => {
    const { DefaultCacheBehavior, CacheBehaviors, CustomErrorResponses } = propertiesOf(
      'AWS::CloudFront::Distribution',
    ).DistributionConfig;
    const { CachePolicyId: _, ...forwarding } = DefaultCacheBehavior;

    expect(CacheBehaviors).toEqual([
      {
        ...forwarding,
        PathPattern: '/console/assets/*',
        // CachingOptimized: as long as the response says, and for each content coding.
        CachePolicyId: '658327ea-f89d-4fab-a63d-7e88639e58f6',
      },
    ]);
    for (const response of CustomErrorResponses)
      expect(Object.keys(response).sort()).toEqual(['ErrorCachingMinTTL', 'ErrorCode']);
    const without = Template.fromStack(newStack({ console: false }));
    expect(JSON.stringify(without.toJSON())).not.toContain('console');
  });

  it('waits longer for the origin than any function may take', () => {
    const functions = resourcesOf(templateOf('prod', OTHER_SETTINGS), 'AWS::Lambda::Function');
    const timeouts = Object.values(functions)
      .filter(({ Properties }) => Properties.Environment.Variables.EDGE_SECRET_HASHES)
      .map(({ Properties }) => Properties.Timeout);

    expect(Math.max(...timeouts)).toBeLessThan(30);
  });

  it('states the address of the client in place of every one that the client sends', () => {
    const { FunctionCode } = propertiesOf('AWS::CloudFront::Function');
    const forged = {
      value: '198.51.100.1',
      multiValue: [{ value: '198.51.100.1' }, { value: '198.51.100.2' }],
    };
    const headers = { authorization: { value: 'Bearer x' }, 'gatehouse-client-address': forged };
    const request = { method: 'GET', uri: '/api/health', querystring: { a: 1 }, headers };

    const forwarded = runInNewContext(`${FunctionCode}; handler(event)`, {
      event: { viewer: { ip: '2001:db8::7' }, request: structuredClone(request) },
    });

    expect(forwarded).toEqual({
      ...request,
      headers: { ...headers, 'gatehouse-client-address': { value: '2001:db8::7' } },
    });
  });
});

interface ByteMatch {
  readonly ByteMatchStatement: {
    readonly SearchString: string;
    readonly PositionalConstraint: string;
    readonly TextTransformations: readonly { readonly Type: string }[];
  };
}

describe('the web ACL', () => {
  const { Rules } = propertiesOf('AWS::WAFv2::WebACL');

  it('limits each address: its logins, its resets, and all its requests', () => {
    expect(
      Rules.map(
        ({ Name, Statement: { RateBasedStatement: rate }, Action }: Resource['Properties']) => [
          Name,
          rate.AggregateKeyType,
          rate.Limit,
          Action.Block.CustomResponse.ResponseCode,
        ],
      ),
    ).toEqual([
      ['logins', 'IP', 31, 429],
      ['resets', 'IP', 31, 429],
      ['requests', 'IP', 1009, 429],
    ]);
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
      Rules[0].Statement.RateBasedStatement.ScopeDownStatement.AndStatement.Statements;
    const { Statements } = OrStatement;

    const matching = (Statements as ByteMatch[]).filter(({ ByteMatchStatement: statement }) => {
      const text = statement.TextTransformations.reduce(
        (result, { Type }) => transform[Type]?.(result) ?? '',
        path,
      );
      const { SearchString, PositionalConstraint } = statement;
      return PositionalConstraint === 'CONTAINS'
        ? text.includes(SearchString)
        : text === SearchString;
    });

    expect(matching.length > 0).toBe(isLogin);
  });
});
