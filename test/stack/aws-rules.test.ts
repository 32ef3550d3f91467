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
    for (const [rule, { find }] of Object.entries(LIMITS))
      expect(find(resources()), rule).toEqual([]);
  });
});

it.each(Object.entries(LIMITS))('a planted fault is found: %s', (_, { find, faults }) => {
  const edge = resolved(edgeTemplateOf('prod', FULL), 'us-east-1');
  const resources = { ...resolved(templateOf('prod', FULL), FULL.region), ...edge };
  for (const [type, changes] of faults) {
    const Properties = Object.values(resources).find(({ Type }) => Type === type)?.Properties;
    const copy = { Type: type, Properties: { ...Properties, ...changes } };

    expect(find({ ...resources, One: copy, Two: copy }), type).not.toEqual([]);
  }
});

it('a planted property beyond its maximum is found by the schemas', () => {
  const planted = resolved(templateOf('dev'), 'eu-central-1');
  for (const { Type, Properties } of Object.values(planted))
    if (Type === 'AWS::IAM::Role') Properties.Description = 'x'.repeat(1001);

  expect(schemaViolations(planted, 'eu-central-1')).not.toEqual([]);
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
