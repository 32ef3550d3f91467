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

/** What AWS refuses although its schemas do not say so: what each rule finds in resources. */
export const LIMITS = {
  'a name is used once': (resources) => repeated(Object.values(resources).flatMap(identitiesOf)),
  // More readers of a shard would be throttled.
  'a value is one that is documented': (resources) =>
    Object.entries(DOCUMENTED).flatMap(([type, isDocumented]) =>
      of(resources, type)
        .filter((properties) => !isDocumented(properties))
        .map(() => type),
    ),
  'a stream has at most two mappings': (resources) =>
    of(resources, 'AWS::Lambda::EventSourceMapping').flatMap(
      ({ EventSourceArn: stream }, index, all) =>
        all.slice(0, index).filter((other) => other.EventSourceArn === stream).length > 1
          ? [stream]
          : [],
    ),
  'a filter of a mapping has a list at each leaf': (resources) =>
    of(resources, 'AWS::Lambda::EventSourceMapping').flatMap(({ FilterCriteria }) =>
      FilterCriteria.Filters.map((filter: { Pattern: string }) => filter.Pattern).filter(
        (pattern: string) => leaves(JSON.parse(pattern)).some((leaf) => !Array.isArray(leaf)),
      ),
    ),
  'settings of a stage name its routes': (resources) => {
    const routes = new Set(routeKeys(resources));
    return of(resources, 'AWS::ApiGatewayV2::Stage').flatMap(({ ApiId, RouteSettings = {} }) =>
      Object.keys(RouteSettings).filter((key) => !routes.has(`${ApiId} ${key}`)),
    );
  },
  'a backup plan has a name of its own': (resources) =>
    repeated(
      of(resources, 'AWS::Backup::BackupPlan').map((plan) => plan.BackupPlan.BackupPlanName),
    ),
  'the environment of a function has at most 4 KB': (resources) =>
    of(resources, 'AWS::Lambda::Function')
      .map(({ Environment }) => JSON.stringify(Environment.Variables))
      .filter((text) => Buffer.byteLength(text) > 4096),
  'the inline policies of a role have at most 10,240 characters': (resources) =>
    [
      ...of(resources, 'AWS::IAM::Role').map(({ Policies = [] }) => Policies),
      // The CDK puts at most one policy beside a role.
      ...of(resources, 'AWS::IAM::Policy').map((policy) => [policy]),
    ].flatMap((policies: Resource['Properties'][]) => {
      const documents = policies.map(({ PolicyDocument }) => JSON.stringify(PolicyDocument));
      return documents.join('').length > 10_240 ? [policies[0]?.PolicyName] : [];
    }),
  'an event pattern has at most 2,048 characters, the default quota': (resources) =>
    of(resources, 'AWS::Events::Rule')
      .map(({ EventPattern = {} }) => JSON.stringify(EventPattern))
      .filter((text) => text.length > 2048),
  'an alarm evaluates at most a day, or a week in periods of an hour': (resources) =>
    of(resources, 'AWS::CloudWatch::Alarm').flatMap((alarm) =>
      periods(alarm)
        .filter(
          (period) =>
            period * alarm.EvaluationPeriods > (period < HOUR_SECONDS ? 1 : 7) * DAY_SECONDS,
        )
        .map(() => alarm.AlarmName),
    ),
  'an alarm has a period of whole minutes, and no more datapoints than periods': (resources) =>
    of(resources, 'AWS::CloudWatch::Alarm').flatMap((alarm) =>
      periods(alarm).some((period) => period % 60 !== 0) ||
      alarm.DatapointsToAlarm > alarm.EvaluationPeriods
        ? [alarm.AlarmName]
        : [],
    ),
  'an alarm has at most five actions for a state': (resources) =>
    of(resources, 'AWS::CloudWatch::Alarm').flatMap(({ AlarmName, AlarmActions, OKActions }) =>
      [AlarmActions, OKActions].some((actions = []) => actions.length > 5) ? [AlarmName] : [],
    ),
  'ARNs are of one partition': (resources) => {
    const arns = [...JSON.stringify(resources).matchAll(/\barn:(aws[\w-]*):/g)];
    return [...new Set(arns.map(([, partition = '']) => partition))].slice(1);
  },
  'only symmetric keys rotate': (resources) =>
    of(resources, 'AWS::KMS::Key').flatMap(
      ({ KeySpec = 'SYMMETRIC_DEFAULT', EnableKeyRotation }) =>
        EnableKeyRotation && KeySpec !== 'SYMMETRIC_DEFAULT' ? [KeySpec] : [],
    ),
  'AND and OR of a web ACL have at least two statements': (resources) =>
    [
      ...JSON.stringify(of(resources, 'AWS::WAFv2::WebACL'), (key, value) =>
        /^(And|Or)Statement$/.test(key) && value.Statements.length < 2 ? 'TOO FEW' : value,
      ).matchAll(/"(And|Or)Statement":"TOO FEW"/g),
    ].map(([text]) => text),
} satisfies Record<string, (resources: Resources) => string[]>;

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
