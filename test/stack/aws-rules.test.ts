import { describe, expect, it } from 'vitest';
import { LIMITS, schemaViolations } from '../support/stack/deployment-rules.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { resolvedResources } from '../support/stack/resolved-template.ts';
import {
  backupTemplateOf,
  edgeTemplateOf,
  type Resource,
  templateOf,
} from '../support/stack/stack.ts';

/* What AWS would refuse in the templates, judged by its registry schemas and by its documents. */

// In the region of OTHER_SETTINGS, CloudFormation has no budgets.
const FULL = { ...OTHER_SETTINGS, region: 'eu-central-1', alarms: 'operators@example.com' };

function resolved(template: ReturnType<typeof templateOf>, region: string, partition = 'aws') {
  const place = { stack: 'Gatehouse-prod', region, partition };
  return resolvedResources(template.toJSON().Resources, place);
}

describe.each([
  ['a new environment', () => resolved(templateOf('dev'), 'eu-central-1'), 'eu-central-1'],
  ['every setting', () => resolved(templateOf('prod', FULL), FULL.region), FULL.region],
  ['the edge', () => resolved(edgeTemplateOf('prod', FULL), 'us-east-1'), 'us-east-1'],
  ['the backups', () => resolved(backupTemplateOf('prod', FULL), 'eu-west-1'), 'eu-west-1'],
  [
    'an environment in China',
    () => resolved(templateOf('prod', { region: 'cn-north-1' }), 'cn-north-1', 'aws-cn'),
    'cn-north-1',
  ],
  [
    'an environment in GovCloud',
    () => resolved(templateOf('prod', { region: 'us-gov-west-1' }), 'us-gov-west-1', 'aws-us-gov'),
    'us-gov-west-1',
  ],
])('%s', (_, resources, region) => {
  it('has no property that the schemas of its region reject', () => {
    expect(schemaViolations(resources(), region)).toEqual([]);
  });

  it('keeps within the limits that no schema states', () => {
    const found = Object.entries(LIMITS).map(([rule, violations]) => [
      rule,
      violations(resources()),
    ]);

    expect(found).toEqual(Object.keys(LIMITS).map((rule) => [rule, []]));
  });
});

type Resources = Record<string, Resource>;
type Properties = Resource['Properties'];

const full = resolved(templateOf('prod', FULL), FULL.region);
const edge = resolved(edgeTemplateOf('prod', FULL), 'us-east-1');

/** The properties of the first resource of a type. */
const first = (resources: Resources, type: string, fits = (_: Properties) => true): Properties =>
  Object.values(resources).find(({ Type, Properties }) => Type === type && fits(Properties))
    ?.Properties as Properties;

/** Adds copies of the first resource of a type. */
function repeat(
  resources: Resources,
  type: string,
  change = (_: Properties, _index: number) => {},
) {
  for (const index of [1, 2]) {
    const Properties = structuredClone(first(resources, type));
    change(Properties, index);
    resources[`Copy${index}`] = { Type: type, Properties };
  }
}

const MAPPING = 'AWS::Lambda::EventSourceMapping';
const hasPattern = ({ EventPattern }: Properties) => EventPattern !== undefined;

describe('a planted fault is found', () => {
  it.each([
    [
      'does not match pattern',
      'AWS::ApiGatewayV2::Integration',
      { CredentialsArn: 'arn:aws-eusc:iam::123456789012:role/Invoker' },
    ],
    ['exceeds maximum', 'AWS::IAM::Role', { Description: 'x'.repeat(1001) }],
    ['is not one of', 'AWS::Lambda::Function', { Architectures: ['arm32'] }],
    ['is a required property', 'AWS::DynamoDB::Table', { KeySchema: undefined }],
    ['is greater than the maximum', MAPPING, { BatchSize: 10_001 }],
    ['was unexpected', 'AWS::KMS::Key', { Rotates: true }],
  ])('by the schemas: a property that %s', (finding, Type, changes) => {
    const Properties = { ...first(full, Type), ...changes };

    const violations = schemaViolations({ Faulty: { Type, Properties } }, FULL.region);

    expect(violations).toEqual([expect.stringContaining(finding)]);
  });

  it('by the schemas: a type that the region lacks', () => {
    const Properties = first(full, 'AWS::Budgets::Budget');

    const violations = schemaViolations(
      { Faulty: { Type: 'AWS::Budgets::Budget', Properties } },
      'us-gov-west-1',
    );

    expect(violations).toEqual([expect.stringContaining('does not exist')]);
  });

  it.each(['AWS::Logs::LogGroup', 'AWS::CloudWatch::Alarm', 'AWS::Backup::BackupVault'])(
    'by the schemas: a second %s of the same name',
    (type) => {
      const resources = { Original: { Type: type, Properties: first(full, type) } };
      repeat(resources, type);

      expect(schemaViolations(resources, FULL.region)).toContainEqual(
        expect.stringContaining('should have unique values'),
      );
    },
  );

  const faults: Record<keyof typeof LIMITS, (resources: Resources) => void> = {
    'a name is used once': (resources) => repeat(resources, 'AWS::Lambda::Alias'),
    'a value is one that is documented': (resources) => {
      first(resources, 'AWS::Lambda::Function').MemorySize = 10_241;
    },
    'a stream has at most two mappings': (resources) =>
      repeat(resources, MAPPING, (mapping, index) => {
        mapping.FunctionName = `other-${index}`;
      }),
    'a filter of a mapping has a list at each leaf': (resources) => {
      first(resources, MAPPING).FilterCriteria.Filters[0].Pattern = '{"eventName":"INSERT"}';
    },
    'settings of a stage name its routes': (resources) => {
      first(resources, 'AWS::ApiGatewayV2::Stage').RouteSettings['POST /nowhere'] = {};
    },
    'a backup plan has a name of its own': (resources) =>
      repeat(resources, 'AWS::Backup::BackupPlan'),
    'the environment of a function has at most 4 KB': (resources) => {
      first(resources, 'AWS::Lambda::Function').Environment.Variables.LONG = 'x'.repeat(4096);
    },
    'the inline policies of a role have at most 10,240 characters': (resources) => {
      const Statement = [{ Resource: 'x'.repeat(10_240) }];
      first(resources, 'AWS::IAM::Role').Policies = [{ PolicyDocument: { Statement } }];
    },
    'an event pattern has at most 2,048 characters, the default quota': (resources) => {
      first(resources, 'AWS::Events::Rule', hasPattern).EventPattern.source = ['x'.repeat(2048)];
    },
    'an alarm evaluates at most a day, or a week in periods of an hour': (resources) => {
      first(resources, 'AWS::CloudWatch::Alarm').EvaluationPeriods = 1441;
    },
    'an alarm has a period of whole minutes, and no more datapoints than periods': (resources) => {
      first(resources, 'AWS::CloudWatch::Alarm').DatapointsToAlarm = 1441;
    },
    'an alarm has at most five actions for a state': (resources) => {
      first(resources, 'AWS::CloudWatch::Alarm').AlarmActions.push(...'12345');
    },
    'ARNs are of one partition': (resources) => {
      first(resources, 'AWS::Lambda::Function').Role = 'arn:aws-cn:iam::123456789012:role/Other';
    },
    'only symmetric keys rotate': (resources) => {
      first(resources, 'AWS::KMS::Key', ({ KeySpec }) =>
        KeySpec?.startsWith('ECC_'),
      ).EnableKeyRotation = true;
    },
    'AND and OR of a web ACL have at least two statements': (resources) => {
      const { Rules } = first(resources, 'AWS::WAFv2::WebACL');
      Rules.push({ Statement: { AndStatement: { Statements: [{}] } } });
    },
  };

  it.each(['AWS::ApiGatewayV2::Route', 'AWS::Logs::QueryDefinition', MAPPING])(
    'by the rule about names: a second %s of the same name',
    (type) => {
      const resources = structuredClone(full);
      repeat(resources, type);

      expect(LIMITS['a name is used once'](resources)).not.toEqual([]);
    },
  );

  it.each([
    ['AWS::ApiGatewayV2::Integration', { PayloadFormatVersion: '3.0' }],
    ['AWS::SNS::Subscription', { Protocol: 'mail' }],
    [
      'AWS::Backup::BackupPlan',
      { BackupPlan: { BackupPlanRule: [{ ScheduleExpression: 'rate(1 day)' }] } },
    ],
  ])('by the rule about values: one of %s', (Type, changes) => {
    const Properties = { ...first(full, Type), ...changes };

    expect(LIMITS['a value is one that is documented']({ Faulty: { Type, Properties } })).toEqual([
      Type,
    ]);
  });

  it.each(Object.entries(LIMITS))('by the rule: %s', (rule, violations) => {
    const resources = structuredClone({ ...full, ...edge });
    faults[rule as keyof typeof LIMITS](resources);

    expect(violations(resources)).not.toEqual([]);
  });
});
