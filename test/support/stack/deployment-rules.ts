import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, CloudFormationValidatePlugin } from 'aws-cdk-lib';
import { identitiesOf } from '../../../infra/commands/deploy/refusals.ts';
import type { Resource } from './stack.ts';

type Resources = Readonly<Record<string, Resource>>;

// The CDK brings it, with the registry schemas of all regions. At synthesis it sees references.
const validator = new CloudFormationValidatePlugin({ includeDefaultRules: false });

/** What AWS's own validator finds in resources without references. */
export function schemaViolations(resources: Resources, region: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-resolved-'));
  const templatePath = join(folder, 'template.json');
  writeFileSync(templatePath, JSON.stringify({ Resources: resources }));
  const { violations } = validator.validate({
    templatePaths: [templatePath],
    stackTemplates: [{ stackConstructPath: '', templatePath, accountId: undefined, region }],
    appConstruct: new App(),
  });
  rmSync(folder, { recursive: true });
  return violations.map(
    ({ description, violatingResources: [first] }) => `${first?.resourceLogicalId} ${description}`,
  );
}

const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3600;

interface Limit {
  readonly find: (resources: Resources) => string[];
  /** Changes of resources of a type, two copies of which then violate the rule. */
  readonly faults: readonly [type: string, changes: object][];
}

const LONG = 'x'.repeat(10_240);
const ALARM = 'AWS::CloudWatch::Alarm';
const MAPPING = 'AWS::Lambda::EventSourceMapping';
const NAMED = ['AWS::ApiGatewayV2::Route', 'AWS::Lambda::Alias', 'AWS::Logs::QueryDefinition'];
const SINGLE = { Statement: { AndStatement: { Statements: [{}] } } };

/** What AWS refuses although its schemas do not say so. */
export const LIMITS = {
  'a name is used once': {
    find: (resources) => repeated(Object.values(resources).flatMap(identitiesOf)),
    faults: [...NAMED, MAPPING].map((type) => [type, {}]),
  },
  'a value is one that is documented': {
    find: (resources) =>
      Object.entries(DOCUMENTED).flatMap(([type, isDocumented]) =>
        of(resources, type)
          .filter((properties) => !isDocumented(properties))
          .map(() => type),
      ),
    faults: [
      ['AWS::Lambda::Function', { MemorySize: 10_241 }],
      ['AWS::ApiGatewayV2::Integration', { PayloadFormatVersion: '3.0' }],
      ['AWS::SNS::Subscription', { Protocol: 'mail' }],
    ],
  },
  // More readers of a shard would be throttled.
  'a stream has at most two mappings': {
    find: (resources) =>
      of(resources, MAPPING).flatMap(({ EventSourceArn: stream }, index, all) =>
        all.slice(0, index).filter((other) => other.EventSourceArn === stream).length > 1
          ? [stream]
          : [],
      ),
    faults: [[MAPPING, {}]],
  },
  'a filter of a mapping has a list at each leaf': {
    find: (resources) =>
      of(resources, MAPPING).flatMap(({ FilterCriteria }) =>
        FilterCriteria.Filters.map((filter: { Pattern: string }) => filter.Pattern).filter(
          (pattern: string) => leaves(JSON.parse(pattern)).some((leaf) => !Array.isArray(leaf)),
        ),
      ),
    faults: [[MAPPING, { FilterCriteria: { Filters: [{ Pattern: '{"eventName":"INSERT"}' }] } }]],
  },
  'settings of a stage name its routes': {
    find: (resources) => {
      const routes = new Set(routeKeys(resources));
      return of(resources, 'AWS::ApiGatewayV2::Stage').flatMap(({ ApiId, RouteSettings = {} }) =>
        Object.keys(RouteSettings).filter((key) => !routes.has(`${ApiId} ${key}`)),
      );
    },
    faults: [['AWS::ApiGatewayV2::Stage', { RouteSettings: { 'POST /nowhere': {} } }]],
  },
  'a backup plan has a name of its own': {
    find: (resources) =>
      repeated(
        of(resources, 'AWS::Backup::BackupPlan').map((plan) => plan.BackupPlan.BackupPlanName),
      ),
    faults: [['AWS::Backup::BackupPlan', {}]],
  },
  'the environment of a function has at most 4 KB': {
    find: (resources) =>
      of(resources, 'AWS::Lambda::Function')
        .map(({ Environment }) => JSON.stringify(Environment.Variables))
        .filter((text) => Buffer.byteLength(text) > 4096),
    faults: [['AWS::Lambda::Function', { Environment: { Variables: { LONG } } }]],
  },
  'the inline policies of a role have at most 10,240 characters': {
    find: (resources) =>
      [
        ...of(resources, 'AWS::IAM::Role').map(({ Policies = [] }) => Policies),
        // The CDK puts at most one policy beside a role.
        ...of(resources, 'AWS::IAM::Policy').map((policy) => [policy]),
      ].flatMap((policies: Resource['Properties'][]) => {
        const documents = policies.map(({ PolicyDocument }) => JSON.stringify(PolicyDocument));
        return documents.join('').length > 10_240 ? [policies[0]?.PolicyName] : [];
      }),
    faults: [['AWS::IAM::Role', { Policies: [{ PolicyName: 'long', PolicyDocument: LONG }] }]],
  },
  'an event pattern has at most 2,048 characters, the default quota': {
    find: (resources) =>
      of(resources, 'AWS::Events::Rule')
        .map(({ EventPattern = {} }) => JSON.stringify(EventPattern))
        .filter((text) => text.length > 2048),
    faults: [['AWS::Events::Rule', { EventPattern: { source: [LONG] } }]],
  },
  'an alarm evaluates at most a day, or a week in periods of an hour': {
    find: (resources) =>
      of(resources, ALARM).flatMap((alarm) =>
        periods(alarm)
          .filter(
            (period) =>
              period * alarm.EvaluationPeriods > (period < HOUR_SECONDS ? 1 : 7) * DAY_SECONDS,
          )
          .map(() => alarm.AlarmName),
      ),
    faults: [[ALARM, { Period: 60, EvaluationPeriods: 1441 }]],
  },
  'an alarm has a period of whole minutes, and no more datapoints than periods': {
    find: (resources) =>
      of(resources, ALARM).flatMap((alarm) =>
        periods(alarm).some((period) => period % 60 !== 0) ||
        alarm.DatapointsToAlarm > alarm.EvaluationPeriods
          ? [alarm.AlarmName]
          : [],
      ),
    faults: [[ALARM, { DatapointsToAlarm: 1441 }]],
  },
  'an alarm has at most five actions for a state': {
    find: (resources) =>
      of(resources, ALARM).flatMap(({ AlarmName, AlarmActions, OKActions }) =>
        [AlarmActions, OKActions].some((actions = []) => actions.length > 5) ? [AlarmName] : [],
      ),
    faults: [[ALARM, { AlarmActions: [...'123456'] }]],
  },
  'ARNs are of one partition': {
    find: (resources) => {
      const arns = [...JSON.stringify(resources).matchAll(/\barn:(aws[\w-]*):/g)];
      return [...new Set(arns.map(([, partition = '']) => partition))].slice(1);
    },
    faults: [['AWS::Lambda::Function', { Role: 'arn:aws-cn:iam::1:role/R' }]],
  },
  'only symmetric keys rotate': {
    find: (resources) =>
      of(resources, 'AWS::KMS::Key').flatMap(
        ({ KeySpec = 'SYMMETRIC_DEFAULT', EnableKeyRotation }) =>
          EnableKeyRotation && KeySpec !== 'SYMMETRIC_DEFAULT' ? [KeySpec] : [],
      ),
    faults: [['AWS::KMS::Key', { KeySpec: 'ECC', EnableKeyRotation: true }]],
  },
  'AND and OR of a web ACL have at least two statements': {
    find: (resources) =>
      [
        ...JSON.stringify(of(resources, 'AWS::WAFv2::WebACL'), (key, value) =>
          /^(And|Or)Statement$/.test(key) && value.Statements.length < 2 ? 'TOO FEW' : value,
        ).matchAll(/"(And|Or)Statement":"TOO FEW"/g),
      ].map(([text]) => text),
    faults: [['AWS::WAFv2::WebACL', { Rules: [SINGLE] }]],
  },
} satisfies Record<string, Limit>;

/** Whether values are right that the schemas do not limit, by type. */
const DOCUMENTED: Readonly<Record<string, (properties: Resource['Properties']) => boolean>> = {
  'AWS::Lambda::Function': ({ MemorySize: size }) => size >= 128 && size <= 10_240,
  'AWS::ApiGatewayV2::Integration': ({ PayloadFormatVersion: version }) => version === '2.0',
  'AWS::SNS::Subscription': ({ Protocol }) => /^(email|https)$/.test(Protocol),
  'AWS::Backup::BackupPlan': ({ BackupPlan }) =>
    BackupPlan.BackupPlanRule.every(({ ScheduleExpression }: Resource['Properties']) =>
      /^cron\(/.test(ScheduleExpression),
    ),
};

const of = (resources: Resources, type: string) =>
  Object.values(resources).flatMap(({ Type, Properties }) => (Type === type ? [Properties] : []));

const repeated = (names: readonly string[]) =>
  names.filter((name, index) => names.indexOf(name) !== index);

const routeKeys = (resources: Resources) =>
  of(resources, 'AWS::ApiGatewayV2::Route').map(({ ApiId, RouteKey }) => `${ApiId} ${RouteKey}`);

const leaves = (pattern: unknown): unknown[] =>
  typeof pattern === 'object' && pattern !== null && !Array.isArray(pattern)
    ? Object.values(pattern).flatMap(leaves)
    : [pattern];

function periods({ Period, Metrics = [] }: Resource['Properties']): number[] {
  return Period === undefined
    ? Metrics.flatMap((metric: Resource['Properties']) => metric.MetricStat?.Period ?? [])
    : [Period];
}

interface Place {
  readonly stack: string;
  readonly partition: string;
  readonly region: string;
}

const ACCOUNT = '123456789012';
const UUID = '1234abcd-12ab-34cd-56ef-1234567890ab';
const KEY = 'mrk-1234abcd12ab34cd56ef1234567890ab';

/** What AWS returns for a reference, by type and attribute. */
const VALUES: Readonly<Record<string, string>> = {
  'AWS::ApiGatewayV2::Api': 'a1b2c3d4e5',
  'AWS::ApiGatewayV2::Api.ApiEndpoint': 'https://a1b2c3d4e5.execute-api.REGION.amazonaws.com',
  'AWS::ApiGatewayV2::DomainName': 'NAME',
  'AWS::ApiGatewayV2::Integration': 'x1y2z3a',
  'AWS::Backup::BackupPlan.BackupPlanId': UUID,
  'AWS::Backup::BackupVault.BackupVaultName': 'NAME',
  'AWS::CloudFront::Distribution': 'E1A2B3C4D5F6G7',
  'AWS::CloudFront::Function.FunctionARN': 'arn:PARTITION:cloudfront::ACCOUNT:function/NAME',
  'AWS::CloudFront::OriginRequestPolicy': UUID,
  'AWS::CloudWatch::Alarm': 'NAME',
  'AWS::CloudWatch::Alarm.Arn': 'arn:PARTITION:cloudwatch:REGION:ACCOUNT:alarm:NAME',
  'AWS::CodeDeploy::Application': 'NAME',
  'AWS::DynamoDB::Table': 'NAME',
  'AWS::DynamoDB::Table.Arn': 'arn:PARTITION:dynamodb:REGION:ACCOUNT:table/NAME',
  'AWS::DynamoDB::Table.StreamArn':
    'arn:PARTITION:dynamodb:REGION:ACCOUNT:table/NAME/stream/2030-01-01T00:00:00.000',
  'AWS::Events::Rule.Arn': 'arn:PARTITION:events:REGION:ACCOUNT:rule/NAME',
  'AWS::IAM::Role': 'NAME',
  'AWS::IAM::Role.Arn': 'arn:PARTITION:iam::ACCOUNT:role/NAME',
  'AWS::KMS::Key': KEY,
  'AWS::KMS::Key.Arn': `arn:PARTITION:kms:REGION:ACCOUNT:key/${KEY}`,
  'AWS::KMS::ReplicaKey.Arn': `arn:PARTITION:kms:REGION:ACCOUNT:key/${KEY}`,
  'AWS::Lambda::Alias': 'arn:PARTITION:lambda:REGION:ACCOUNT:function:NAME:live',
  'AWS::Lambda::Function': 'NAME',
  'AWS::Lambda::Function.Arn': 'arn:PARTITION:lambda:REGION:ACCOUNT:function:NAME',
  'AWS::Lambda::Version.Version': '7',
  'AWS::Logs::LogGroup': 'NAME',
  'AWS::Logs::LogGroup.Arn': 'arn:PARTITION:logs:REGION:ACCOUNT:log-group:NAME:*',
  'AWS::SNS::Topic': 'arn:PARTITION:sns:REGION:ACCOUNT:NAME',
  'AWS::WAFv2::WebACL.Arn': `arn:PARTITION:wafv2:REGION:ACCOUNT:global/webacl/NAME/${UUID}`,
};

/**
 * The resources of a template as AWS would receive them: every reference is replaced by a value of
 * the same form, because rules about ARNs and names say nothing about references. An unknown
 * reference stops it, by name.
 */
export function resolvedResources(
  resources: Readonly<Record<string, Resource>>,
  { stack, partition, region }: Place,
): Record<string, Resource> {
  const pseudoParameters: Readonly<Record<string, string>> = {
    'AWS::AccountId': ACCOUNT,
    'AWS::Partition': partition,
    'AWS::Region': region,
    'AWS::StackName': stack,
  };

  function valueFor(id: string, attribute = ''): string {
    const { Type = id, Properties = {} } = resources[id] ?? {};
    const shape = pseudoParameters[id] ?? VALUES[`${Type}${attribute}`];
    if (shape === undefined) throw new Error(`What is ${Type}${attribute}?`);
    // CloudFormation shortens the names that it generates to what the strictest type accepts.
    const generated = `${stack}-${id}`.slice(0, 51).concat('-1A2B3C4D5E6F');
    return shape
      .replace('NAME', Properties[`${Type.split('::')[2]}Name`] ?? generated)
      .replace('PARTITION', partition)
      .replace('REGION', region)
      .replace('ACCOUNT', ACCOUNT);
  }

  function resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const [[name = '', argument] = [], ...others] = Object.entries(value);
    if (others.length > 0 || !/^(Ref|Fn::.*)$/.test(name))
      return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, resolve(of)]));
    switch (name) {
      case 'Ref':
        return valueFor(argument);
      case 'Fn::GetAtt':
        return valueFor(argument[0], `.${argument[1]}`);
      case 'Fn::Join':
        return argument[1].map(resolve).join(argument[0]);
      case 'Fn::Sub':
        return argument.replace(/\$\{([^}]+)\}/g, (_: string, id: string) => valueFor(id));
      case 'Fn::GetStackOutput':
        return `arn:${partition}:kms:${argument.Region}:${ACCOUNT}:key/${KEY}`;
      default:
        throw new Error(`What does ${name} return?`);
    }
  }

  return Object.fromEntries(
    Object.entries(resources).map(([id, { Type, Properties }]) => [
      id,
      { Type, Properties: resolve(Properties ?? {}) as Resource['Properties'] },
    ]),
  );
}
