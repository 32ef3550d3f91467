import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolve } from '../../infra/local/stack/template.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import {
  backupTemplateOf,
  edgeTemplateOf,
  propertiesOf,
  type Resource,
  resourcesOf,
  templateOf,
} from '../support/stack/stack.ts';

const { domain, edge, backup } = OTHER_SETTINGS;
const { ssoOnly, issuers } = OTHER_SETTINGS;
const prod = templateOf('prod', { domain, edge, backup, issuers, ssoOnly, auditLogDays: 150 });
const RUNBOOK = readFileSync(join(import.meta.dirname, '../../docs/runbook.md'), 'utf8');
/** They are about what no log of the stack has. */
const WITHOUT_QUERY = [
  ...['bounces', 'complaints', 'concurrency', 'table-changes', 'backups', 'backup-changes'],
  ...['edge-errors', 'certificates'],
];
const PARTS = ['Meaning', 'Where to look', 'What to do', 'When it is over'];

const sections = new Map(
  RUNBOOK.split(/^## /m)
    .slice(1)
    .map((text) => {
      const [title = '', ...lines] = text.split('\n');
      return [title, lines.join('\n')] as const;
    }),
);
/** Everything that notifies, by the name of its section. */
const notifiers = new Map<string, string>([
  ...propertiesOf(prod, 'AWS::CloudWatch::Alarm').map(
    ({ AlarmName, AlarmDescription }) =>
      [AlarmName.replace(/^Gatehouse-prod-/, ''), AlarmDescription] as const,
  ),
  ...propertiesOf(prod, 'AWS::Events::Rule').flatMap(({ EventPattern, Description }) =>
    EventPattern ? [[Description.replace(/^.*#/, ''), Description] as const] : [],
  ),
]);

describe('the runbook', () => {
  it('has a section for every alarm, and an alarm for every section', () => {
    expect([...sections.keys()].sort()).toEqual([...notifiers.keys()].sort());
  });

  it.each([...notifiers])('has all parts about %s, whose alarm links it', (name, description) => {
    const parts = (sections.get(name) ?? '').matchAll(/^\*\*([^*]+)\.\*\*/gm);

    expect([...parts].map(([, part]) => part)).toEqual(PARTS);
    expect(description).toMatch(new RegExp(`What to do: docs/runbook\\.md#${name}$`));
  });

  it('names the saved query of every section that has one', () => {
    const names = propertiesOf(prod, 'AWS::Logs::QueryDefinition').map(({ Name }) =>
      Name.replace('Gatehouse-prod/', ''),
    );

    expect(names.sort()).toEqual(
      [...notifiers.keys(), 'request', 'logins', 'rejected-callers']
        .filter((name) => !WITHOUT_QUERY.includes(name))
        .sort(),
    );
    for (const name of names) expect(RUNBOOK).toMatch(new RegExp(`query\\s\`${name}\``));
  });

  it('has a command that invokes the daily verification and no other function', () => {
    const [, prefix = ''] = /starts_with\(LogicalResourceId, '(\w+)'\)/.exec(RUNBOOK) ?? [];
    const found = Object.entries(resourcesOf(prod, 'AWS::Lambda::Function')).filter(([id]) =>
      id.startsWith(prefix),
    );

    expect(found.map(([, { Properties }]) => Properties.Description)).toEqual([
      expect.stringMatching('verifies the table once a day'),
    ]);
  });

  it('lists every alarm in its table, with those that roll back a deployment', () => {
    const rows = [...RUNBOOK.matchAll(/^\| \[([\w-]+)\]\(#\1\) \|.*\| (yes )?\|$/gm)];

    expect(rows.map(([, name]) => name).sort()).toEqual([...notifiers.keys()].sort());
    expect(rows.filter(([, , rollsBack]) => rollsBack).map(([, name]) => name)).toEqual([
      'server-errors',
      'defects',
      'failed-invocations',
    ]);
  });
});

const TABLE = 'arn:table';

const resourcesIn = (template: typeof prod) =>
  new Map(
    Object.keys(template.toJSON().Resources).map((id) => {
      const Arn = id === 'Table' ? TABLE : `arn:${id}`;
      return [id, { ref: id, attributes: { Arn, BackupPlanId: id } }];
    }),
  );

/** Whether an event matches a pattern of EventBridge, of the kinds that the rules contain. */
function matches(pattern: unknown, event: unknown): boolean {
  if (Array.isArray(event) && !Array.isArray(pattern))
    return event.some((each) => matches(pattern, each));
  if (Array.isArray(pattern))
    return [event].flat().some((value) => pattern.some((rule) => satisfies(rule, value)));
  return Object.entries(pattern as object).every(([name, inner]) =>
    name === '$or'
      ? inner.some((alternative: unknown) => matches(alternative, event))
      : matches(inner, (event as Record<string, unknown> | undefined)?.[name]),
  );
}

function satisfies(rule: unknown, value: unknown): boolean {
  if (typeof rule !== 'object') return rule === value;
  const { exists, prefix, numeric } = rule as Resource['Properties'];
  if (exists !== undefined) return (value !== undefined) === exists;
  if (prefix !== undefined) return String(value).startsWith(prefix);
  return numeric?.[0] === '<=' && Number(value) <= numeric[1];
}

const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:operators_1';

describe('the alarms', () => {
  it.each([
    ['the topic of the settings', { alarms: TOPIC }, TOPIC, []],
    [
      'the address of the settings, through a topic of the stack',
      {},
      expect.objectContaining({ Ref: expect.any(String) }),
      [expect.objectContaining({ Endpoint: 'operators@example.com', Protocol: 'email' })],
    ],
  ])('notify %s when they begin and when they are over', (_, changes, topic, subscriptions) => {
    const template = templateOf('prod', changes);
    const actions = propertiesOf(template, 'AWS::CloudWatch::Alarm').map(
      ({ AlarmActions, OKActions }) => [AlarmActions, OKActions],
    );
    const events = propertiesOf(template, 'AWS::Events::Rule').filter(
      ({ EventPattern }) => EventPattern,
    );

    expect(actions).toEqual(actions.map(() => [[topic], [topic]]));
    expect(events.map(({ Targets }) => Targets)).toEqual(
      ['key-states', 'table-changes'].map(() => [expect.objectContaining({ Arn: topic })]),
    );
    expect(propertiesOf(template, 'AWS::SNS::Subscription')).toEqual(subscriptions);
  });

  it('do not exist without a recipient', () => {
    const silent = templateOf('dev', { dailyVerification: true });

    expect(propertiesOf(silent, 'AWS::CloudWatch::Alarm')).toEqual([]);
    expect(propertiesOf(silent, 'AWS::SNS::Topic')).toEqual([]);
    expect(propertiesOf(silent, 'AWS::Events::Rule')).toHaveLength(1);
  });

  it('are silent without data, except that the daily verification must have some', () => {
    const loud = [prod, edgeTemplateOf('prod', { domain, edge, backup, auditLogDays: 150 })]
      .flatMap((template) => propertiesOf(template, 'AWS::CloudWatch::Alarm'))
      .filter(({ TreatMissingData }) => TreatMissingData !== 'notBreaching');

    const hourly = { TreatMissingData: 'breaching', Period: 3600, EvaluationPeriods: 26 };
    expect(loud).toMatchObject([{ AlarmName: 'Gatehouse-prod-verification-missing', ...hourly }]);
  });

  it('about throttling has a value in every period, as metrics of DynamoDB do not', () => {
    const ofTable = propertiesOf(prod, 'AWS::CloudWatch::Alarm').filter((alarm) =>
      JSON.stringify(alarm).includes('AWS/DynamoDB'),
    );

    expect(ofTable).toMatchObject([{ EvaluationPeriods: 2, DatapointsToAlarm: 1 }]);
    expect(ofTable[0]?.Metrics[0].Expression).toBe(
      'FILL(gateway, 0) + FILL(functions, 0) + FILL(reads, 0) + FILL(writes, 0)',
    );
    for (const { MetricTransformations } of propertiesOf(prod, 'AWS::Logs::MetricFilter'))
      expect(MetricTransformations).toMatchObject([{ DefaultValue: 0 }]);
  });

  it('link to the runbook of the settings', () => {
    const template = templateOf('prod', { runbookUrl: 'https://wiki.example.com/gatehouse' });
    const links = [
      ...propertiesOf(template, 'AWS::CloudWatch::Alarm').map(
        ({ AlarmDescription }) => AlarmDescription,
      ),
      ...propertiesOf(template, 'AWS::Events::Rule').flatMap(({ EventPattern, Targets }) =>
        EventPattern ? [Targets[0].Input] : [],
      ),
    ];

    for (const link of links)
      expect(link).toMatch(/What to do: https:\/\/wiki\.example\.com\/gatehouse#[a-z-]+"?$/);
  });

  it.each([
    [{}, 480],
    [{ loginConcurrency: 50 }, 640],
    [{ loginConcurrency: 1000 }, 80],
    [{ unreservedConcurrency: 3000 }, 2400],
  ])(
    'about concurrency begins at four fifths of what the functions share: %j',
    (changes, limit) => {
      const alarms = propertiesOf(templateOf('prod', changes), 'AWS::CloudWatch::Alarm');

      const alarm = alarms.find(
        ({ MetricName }) => MetricName === 'UnreservedConcurrentExecutions',
      );
      expect(alarm).toMatchObject({ Statistic: 'Maximum', Threshold: limit });
      expect(alarm?.ComparisonOperator).toBe('GreaterThanOrEqualToThreshold');
    },
  );

  it('about the verification and the edge, and their queries, exist only with them', () => {
    const template = templateOf('prod', { dailyVerification: false });
    const names = ['AWS::CloudWatch::Alarm', 'AWS::Logs::QueryDefinition'].flatMap((type) =>
      propertiesOf(template, type).map(({ AlarmName, Name }) => AlarmName ?? Name),
    );

    expect(names).toHaveLength(15 + 16);
    expect(names.join()).not.toMatch(/verification|intact|edge/);
  });
});

/** The dimensions of each namespace or metric: CloudWatch knows a metric by all of them. */
const DIMENSIONS: Record<string, readonly string[]> = {
  'AWS/ApiGateway': ['ApiId'],
  'AWS/CloudFront': ['DistributionId,Region'],
  'AWS/DynamoDB': ['TableName'],
  // Of all functions of the account.
  'AWS/Lambda': [''],
  'AWS/Lambda IteratorAge': ['FunctionName'],
  'AWS/SES': [''],
  'AWS/WAFV2': ['Rule,WebACL'],
  'Gatehouse/prod': [''],
  'Gatehouse/prod milliseconds': ['failure', 'kind'],
};

describe('the metrics of alarms and of the dashboard', () => {
  const changes = { ...OTHER_SETTINGS, alarms: 'operators@example.com' };
  const templates = [
    templateOf('prod', changes),
    edgeTemplateOf('prod', changes),
    backupTemplateOf('prod', changes),
  ];
  const ofAlarms = templates
    .flatMap((template) => propertiesOf(template, 'AWS::CloudWatch::Alarm'))
    .flatMap((alarm): Resource['Properties'][] => [
      alarm,
      ...(alarm.Metrics ?? []).map(({ MetricStat }: Resource['Properties']) => MetricStat?.Metric),
    ])
    .filter((metric) => metric?.Namespace)
    .map(({ Namespace, MetricName, Dimensions = [] }) => [
      Namespace,
      MetricName,
      Dimensions.map(({ Name }: { Name: string }) => Name),
    ]);
  const [dashboard] = propertiesOf(templates[0] as typeof prod, 'AWS::CloudWatch::Dashboard');
  const { widgets } = JSON.parse(
    resolve(dashboard?.DashboardBody, resourcesIn(templates[0] as typeof prod), 'eu-north-1'),
  );
  const ofDashboard = widgets
    .flatMap(({ properties: { metrics = [] } }: Resource['Properties']) => metrics)
    .filter(([first]: unknown[]) => typeof first === 'string')
    .map(([namespace, metric, ...rest]: unknown[]) => [
      namespace,
      metric,
      rest.filter((part, index) => index % 2 === 0 && typeof part === 'string'),
    ]);

  it('have the dimensions under which they are reported', () => {
    const used = new Set<string>();
    const others = [...ofAlarms, ...ofDashboard].filter(([namespace, metric, names]) => {
      const key = `${namespace} ${metric}` in DIMENSIONS ? `${namespace} ${metric}` : namespace;
      used.add(key);
      return !DIMENSIONS[key]?.includes(names.sort().join());
    });

    expect(others).toEqual([]);
    expect([...used].sort()).toEqual(Object.keys(DIMENSIONS));
  });
});

describe('the rules', () => {
  const resources = resourcesIn(prod);
  const patterns = propertiesOf(prod, 'AWS::Events::Rule').flatMap(({ EventPattern }) =>
    EventPattern ? [resolve(EventPattern, resources, 'eu-central-1')] : [],
  );
  const called = (service: string, eventName: string, detail: object) => ({
    source: `aws.${service}`,
    'detail-type': 'AWS API Call via CloudTrail',
    detail: { eventSource: `${service}.amazonaws.com`, eventName, ...detail },
  });
  const [replica] =
    JSON.stringify(patterns).match(/arn:[^"]*kms:eu-west-1[^"]*key\/PepperKey/) ?? [];
  const ofReplica = { resources: [{ ARN: replica }] };
  const JOB = 'Backup Job State Change';
  const failed = { state: 'FAILED', resourceArn: TABLE };
  const ofKey = { resources: [{ ARN: 'arn:PepperKey' }] };
  const ofTable = (tableName: string, by = {}) => ({ requestParameters: { tableName }, ...by });
  const ofBackup = { requestParameters: { backupArn: `${TABLE}/backup/1` } };
  const byService = { userIdentity: { invokedBy: 'service.amazonaws.com' } };
  const changed = (alarm: string, value: string) => ({
    source: 'aws.cloudwatch',
    'detail-type': 'CloudWatch Alarm State Change',
    resources: [JSON.stringify(patterns).match(/arn:[^"]*:us-east-1:[^"]*:alarm:/) + alarm],
    detail: { state: { value } },
  });
  const planDeleted = (backupPlanId: string) =>
    called('backup', 'DeleteBackupPlan', { requestParameters: { backupPlanId } });
  const ofVault = (backupVaultName: string) => ({ requestParameters: { backupVaultName } });
  const ofCopies = ofVault('GatehouseBackup-prod');
  const deletedIn = (vault: string, by: object = {}) =>
    called('backup', 'DeleteRecoveryPoint', { ...ofVault(vault), ...by });
  const expiry = (certificate: string, DaysToExpiry: number) => ({
    source: 'aws.acm',
    'detail-type': 'ACM Certificate Approaching Expiration',
    resources: [certificate],
    detail: { DaysToExpiry },
  });

  it.each([
    ['a key is disabled', true, called('kms', 'DisableKey', ofKey)],
    ['KMS refuses to disable it', false, called('kms', 'DisableKey', { ...ofKey, errorCode: 'x' })],
    ['a foreign key is disabled', false, called('kms', 'DisableKey', { resources: [] })],
    ['somebody makes a grant', true, called('kms', 'CreateGrant', ofKey)],
    ['DynamoDB makes a grant', false, called('kms', 'CreateGrant', { ...ofKey, ...byService })],
    ['the table is deleted', true, called('dynamodb', 'DeleteTable', ofTable(TABLE))],
    ['the stack updates it', true, called('dynamodb', 'UpdateTable', ofTable('Table', byService))],
    ['another table is updated', false, called('dynamodb', 'UpdateTable', ofTable('other'))],
    ['a backup is deleted', true, called('dynamodb', 'DeleteBackup', ofBackup)],
    ['AWS deletes one', false, called('dynamodb', 'DeleteBackup', { ...ofBackup, ...byService })],
    ['the plan of the backups is deleted', true, planDeleted('BackupPlan14914BEB')],
    ['another plan is deleted', false, planDeleted('other')],
    ['a backup in the vault is deleted', true, deletedIn('Gatehouse-prod')],
    ['one in a foreign vault is deleted', false, deletedIn('Default')],
    ['AWS Backup deletes what has expired', false, deletedIn('Gatehouse-prod', byService)],
    ['a copy is shortened', true, called('backup', 'UpdateRecoveryPointLifecycle', ofCopies)],
    ['a backup fails', true, { source: 'aws.backup', 'detail-type': JOB, detail: failed }],
    ['a replica is to be deleted', true, called('kms', 'ScheduleKeyDeletion', ofReplica)],
    ['the edge fails', true, changed('GatehouseEdge-prod-errors', 'ALARM')],
    ['the edge has recovered', false, changed('GatehouseEdge-prod-errors', 'OK')],
    ['the certificate of the edge expires in a day', true, expiry(edge.certificate, 1)],
    ['a certificate expires in 30 days', true, expiry(domain.certificate, 30)],
    ['one expires in 31 days', false, expiry(domain.certificate, 31)],
  ])('notify when %s: %s', (_, expected, event) => {
    expect(patterns.some((pattern) => matches(pattern, event))).toBe(expected);
  });
});

it.each([
  ['too-many-attempts', 'integrationStatus != "-"', 'sourceIp', {}],
  ['bad-credentials', 'status = "401"', 'sourceIp', {}],
  ['too-many-attempts', '^filter failure = "too-many-attempts"', 'clientAddress', { domain, edge }],
  ['bad-credentials', '^filter failure = "bad-credentials"', 'clientAddress', { domain, edge }],
])('the query %s filters by %s and counts by %s', (name, filter, address, changes) => {
  const queries = propertiesOf(templateOf('prod', changes), 'AWS::Logs::QueryDefinition');
  const query = queries.find(({ Name }) => Name.endsWith(`/${name}`));

  expect(query?.LogGroupNames).toHaveLength(1);
  expect(query?.QueryString).toMatch(new RegExp(`${filter}\n\\| stats .* by ${address}, route`));
});

it.each([
  ['topic', TOPIC, 'SNS'],
  ['address', 'operators@example.com', 'EMAIL'],
])('a budget notifies the %s of the alarms of the costs of its environment', (_, alarms, type) => {
  const Subscribers = [{ Address: alarms, SubscriptionType: type }];
  const template = templateOf('prod', { alarms, monthlyBudget: 151 });

  expect(propertiesOf(template, 'AWS::Budgets::Budget')).toMatchObject([
    {
      Budget: {
        BudgetLimit: { Amount: 151, Unit: 'USD' },
        CostFilters: { TagKeyValue: ['user:gatehouse:environment$prod'] },
      },
      NotificationsWithSubscribers: [
        { Notification: { NotificationType: 'ACTUAL', Threshold: 80 }, Subscribers },
        { Notification: { NotificationType: 'FORECASTED', Threshold: 100 }, Subscribers },
      ],
    },
  ]);
  expect(propertiesOf(prod, 'AWS::Budgets::Budget')).toEqual([]);
});
