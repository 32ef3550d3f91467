import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { routes } from '../../routes.ts';
import { OTHER_SETTINGS } from '../support/stack/other-settings.ts';
import { type Resource, resourcesOf, templateOf } from '../support/stack/stack.ts';

const { domain, edge } = OTHER_SETTINGS;
const prod = templateOf('prod', { domain, edge });
const RUNBOOK = readFileSync(join(import.meta.dirname, '../../docs/runbook.md'), 'utf8');
/** Sections about the alarms as a whole. */
const OTHER_SECTIONS = ['What it costs'];
const PARTS = ['Meaning', 'Where to look', 'What to do', 'When it is over'];

const sections = new Map(
  RUNBOOK.split(/^## /m)
    .slice(1)
    .map((text) => {
      const [title = '', ...lines] = text.split('\n');
      return [title, lines.join('\n')] as const;
    }),
);
const propertiesOf = (template: typeof prod, type: string) =>
  Object.values(resourcesOf(template, type)).map(({ Properties }: Resource) => Properties);
/** Everything that notifies, by the name of its section. */
const notifiers = new Map<string, string>([
  ...propertiesOf(prod, 'AWS::CloudWatch::Alarm').map(
    ({ AlarmName, AlarmDescription }) =>
      [AlarmName.replace(/^Gatehouse-prod-/, ''), AlarmDescription] as const,
  ),
  ...propertiesOf(prod, 'AWS::Events::Rule').flatMap(({ EventPattern, Description }) =>
    EventPattern ? [['key-states', Description] as const] : [],
  ),
]);

describe('the runbook', () => {
  it('has a section for every alarm, and an alarm for every section', () => {
    expect([...sections.keys()].filter((title) => !OTHER_SECTIONS.includes(title)).sort()).toEqual(
      [...notifiers.keys()].sort(),
    );
  });

  it.each([...notifiers])('is linked by the alarm %s', (name, description) => {
    expect(description).toMatch(new RegExp(`What to do: docs/runbook\\.md#${name}$`));
  });

  it.each([...notifiers.keys()])(
    'explains %s: meaning, where to look, what to do, when it is over',
    (name) => {
      const found = [...(sections.get(name) ?? '').matchAll(/^\*\*([^*]+)\.\*\*/gm)].map(
        ([, part]) => part,
      );

      expect(found).toEqual(PARTS);
    },
  );

  it('names the saved query of every section', () => {
    const names = propertiesOf(prod, 'AWS::Logs::QueryDefinition').map(({ Name }) =>
      Name.replace('Gatehouse-prod/', ''),
    );

    expect(names.sort()).toEqual([...notifiers.keys(), 'request'].sort());
    for (const name of names) expect(RUNBOOK).toContain(`query \`${name}\``);
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

describe('every alarm', () => {
  const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:operators_1';

  it('notifies the topic of the settings when it begins and when it is over', () => {
    const template = templateOf('prod', { alarms: TOPIC });

    expect(propertiesOf(template, 'AWS::SNS::Topic')).toEqual([]);
    for (const { AlarmActions, OKActions } of propertiesOf(template, 'AWS::CloudWatch::Alarm')) {
      expect([AlarmActions, OKActions]).toEqual([[TOPIC], [TOPIC]]);
    }
    const [keyStates] = propertiesOf(template, 'AWS::Events::Rule').filter(
      ({ EventPattern }) => EventPattern,
    );
    expect(keyStates?.Targets).toMatchObject([{ Arn: TOPIC }]);
  });

  it('notifies the address of the settings, through a topic of the stack', () => {
    const [[topic] = []] = Object.entries(resourcesOf(prod, 'AWS::SNS::Topic'));

    expect(propertiesOf(prod, 'AWS::SNS::Subscription')).toEqual([
      { Endpoint: 'operators@example.com', Protocol: 'email', TopicArn: { Ref: topic } },
    ]);
    for (const { AlarmActions } of propertiesOf(prod, 'AWS::CloudWatch::Alarm'))
      expect(AlarmActions).toEqual([{ Ref: topic }]);
  });

  it('does not exist without a recipient', () => {
    const silent = templateOf('dev', { dailyVerification: true });

    expect(propertiesOf(silent, 'AWS::CloudWatch::Alarm')).toEqual([]);
    expect(propertiesOf(silent, 'AWS::SNS::Topic')).toEqual([]);
    expect(propertiesOf(silent, 'AWS::Events::Rule')).toHaveLength(1);
  });

  it('treats missing data as good, except for the verification that must run daily', () => {
    const breaching = propertiesOf(prod, 'AWS::CloudWatch::Alarm').filter(
      ({ TreatMissingData }) => TreatMissingData !== 'notBreaching',
    );

    expect(breaching).toMatchObject([
      {
        AlarmName: 'Gatehouse-prod-verification-missing',
        TreatMissingData: 'breaching',
        Period: 3600,
      },
    ]);
    expect(breaching[0]?.EvaluationPeriods).toBe(26);
  });

  it('evaluates a percentile of few requests too', () => {
    for (const alarm of propertiesOf(prod, 'AWS::CloudWatch::Alarm'))
      expect(alarm).not.toHaveProperty('EvaluateLowSampleCountPercentile');
  });

  it('about keys ignores attempts that KMS refuses', () => {
    const [pattern] = propertiesOf(prod, 'AWS::Events::Rule').flatMap(
      ({ EventPattern }) => EventPattern ?? [],
    );

    expect(pattern.detail).toMatchObject({
      eventName: ['DisableKey', 'ScheduleKeyDeletion'],
      errorCode: [{ exists: false }],
    });
  });

  it('about the verification exists only with the verification', () => {
    const names = propertiesOf(
      templateOf('prod', { dailyVerification: false }),
      'AWS::CloudWatch::Alarm',
    ).map(({ AlarmName }) => AlarmName);

    expect(names).toHaveLength(10);
    expect(names.join()).not.toMatch(/verification|intact/);
  });
});

it('the alarm of the edge counts the requests that did not come from it', () => {
  const [alarm] = propertiesOf(prod, 'AWS::CloudWatch::Alarm').filter(({ AlarmName }) =>
    /not-from-edge$/.test(AlarmName),
  );

  expect(alarm).toMatchObject({
    Namespace: 'Gatehouse/prod',
    MetricName: 'milliseconds',
    Statistic: 'SampleCount',
    Dimensions: [{ Name: 'failure', Value: 'not-from-edge' }],
    Threshold: 10,
    Period: 300,
    EvaluationPeriods: 1,
  });
});

describe('an environment without an edge', () => {
  const direct = templateOf('prod');
  const queries = propertiesOf(direct, 'AWS::Logs::QueryDefinition');

  it('has neither its alarm nor its query', () => {
    expect(
      propertiesOf(direct, 'AWS::CloudWatch::Alarm').filter(({ AlarmName }) =>
        /edge/.test(AlarmName),
      ),
    ).toEqual([]);
    expect(queries.filter(({ Name }) => /edge/.test(Name))).toEqual([]);
  });

  it('finds addresses of clients in the access log, or with an edge in the functions', () => {
    const find = (template: typeof prod) => {
      const [query] = propertiesOf(template, 'AWS::Logs::QueryDefinition').filter(({ Name }) =>
        Name.endsWith('/too-many-attempts'),
      );
      return [query?.LogGroupNames.length, query?.QueryString];
    };

    expect(find(direct)).toEqual([
      1,
      expect.stringMatching(/integrationStatus != "-"\n\| stats .* by sourceIp, route/),
    ]);
    expect(find(prod)).toEqual([
      routes.length,
      expect.stringMatching(
        /^filter failure = "too-many-attempts"\n\| stats .* by clientAddress, route/,
      ),
    ]);
  });
});

describe('the dashboard', () => {
  const [{ DashboardName, DashboardBody } = {}] = propertiesOf(
    templateOf('dev'),
    'AWS::CloudWatch::Dashboard',
  );

  it('exists in every environment, under the name of the stack and of its region', () => {
    expect(DashboardName).toBe('Gatehouse-dev-eu-central-1');
  });

  it('shows what an operator asks first', () => {
    const titles = [...JSON.stringify(DashboardBody).matchAll(/\\"title\\":\\"([^"\\]+)\\"/g)].map(
      ([, title]) => title,
    );

    expect(titles).toEqual([
      'Requests',
      'Latency (ms), p50 and p99',
      'Responses of the API',
      'Rejections by failure code',
      'Conflicts and retries',
      'Throttles',
      'Capacity: read units per second',
      'Capacity: write units per second',
      'Calls to KMS',
      'Mail of the account',
      'Mail not sent, and the longest wait of a mail (ms)',
      'Findings of the daily verification',
      'Oldest pending restart of a module (hours), measured once a day',
    ]);
  });

  it('shows the age of the oldest pending restart in hours, with one point a day', () => {
    const [{ DashboardBody: body } = {}] = propertiesOf(prod, 'AWS::CloudWatch::Dashboard');
    const [, widget] = JSON.stringify(body).split('Oldest pending restart');

    expect(widget).toContain(
      '{\\"label\\":\\"hours\\",\\"expression\\":\\"seconds / 3600\\",\\"period\\":86400}',
    );
    expect(widget).toContain(
      '[\\"Gatehouse/prod\\",\\"oldestPendingRestartSeconds\\",' +
        '{\\"id\\":\\"seconds\\",\\"visible\\":false,\\"period\\":86400,\\"stat\\":\\"Maximum\\"}]',
    );
  });

  it('shows the capacity against the maxima of the settings', () => {
    const body = JSON.stringify(DashboardBody);

    for (const value of [4000, 2000])
      expect(body).toContain(`\\"value\\":${value},\\"label\\":\\"tableMaximum\\"`);
  });
});
