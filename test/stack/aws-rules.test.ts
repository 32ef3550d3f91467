import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { routeId } from '../../infra/stack/constructs/endpoint-function.ts';
import { consoleRoutes, routes } from '../../routes.ts';
import { LIMITS, resolvedResources, schemaViolations } from '../support/stack/deployment-rules.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import {
  assemblyOf,
  backupTemplateOf,
  edgeTemplateOf,
  type Resource,
  synthesizeInProcess,
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
  it('by the schemas: a property beyond its maximum', () => {
    const Properties = { ...first(full, 'AWS::IAM::Role'), Description: 'x'.repeat(1001) };

    const violations = schemaViolations(
      { Faulty: { Type: 'AWS::IAM::Role', Properties } },
      FULL.region,
    );

    expect(violations).toEqual([expect.stringContaining('exceeds maximum')]);
  });

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

interface Suppressed {
  readonly ruleName: string;
  readonly reason: string;
  readonly violatingConstructs: { constructPath: string }[];
}

it('the production stacks with all options pass AWS Solutions, with reasons', () => {
  const { domain, edge } = OTHER_SETTINGS;
  const changes = {
    dailyVerification: true,
    domain,
    edge,
    backup: { region: 'eu-west-1', days: 35 },
    signingKeys: ['SigningKey2', 'SigningKey'],
  };
  const folder = assemblyOf('prod', changes);
  synthesizeInProcess('prod', changes, (app) =>
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app)),
  );

  const { pluginReports } = JSON.parse(
    readFileSync(join(folder, 'validation-report.json'), 'utf8'),
  );
  const report = pluginReports.find(
    ({ pluginName }: { pluginName: string }) => pluginName === 'AwsSolutions',
  );
  const suppressed: Suppressed[] = report.suppressedViolations;
  expect(report).toMatchObject({ conclusion: 'success', violations: [] });
  const names = suppressed.map(({ ruleName }) => ruleName.replace(/<\w+\.Arn>/, 'FUNCTION'));
  expect([...new Set(names)]).toEqual([
    'AwsSolutions-APIG4',
    // dynamodb:ListStreams, and cloudwatch:DescribeAlarms of CodeDeploy, support no resources.
    'AwsSolutions-IAM5[Resource::*]',
    // Of AWS Backup, which requires this policy.
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup]',
    // Of CodeDeploy: the versions and aliases of the functions of the canary.
    'AwsSolutions-IAM5[Resource::FUNCTION:*]',
    // Of the edge: no restriction by country, and no access log of its own.
    'AwsSolutions-CFR1',
    'AwsSolutions-CFR3',
  ]);
  const rows = [...routes, ...consoleRoutes];
  const reasons = rows.map((row) =>
    suppressed.flatMap(({ reason, violatingConstructs: [first] }) =>
      first?.constructPath === `Gatehouse-prod/Entrance/${routeId(row)}/Resource` ? [reason] : [],
    ),
  );
  expect(reasons).toEqual(
    rows.map(({ contract }) => [
      expect.stringMatching(
        contract.access === 'public'
          ? /^Public by its contract/
          : /^The function verifies the token/,
      ),
    ]),
  );
});
