import { Aws, Duration, Stack, Validations } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { type EventPattern, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { CANARY_ALARMS } from '../../settings/environment.ts';
import { sharedExecutions } from '../../settings/limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { serviceOfAccount } from './environment-stack.ts';
import type { Metrics } from './metrics.ts';
import { type Watched, watchedEvents } from './watched-and-forwarded-events.ts';

interface Monitored extends Watched {
  readonly metrics: Metrics;
}

type Condition = Partial<AlarmProps> &
  Pick<AlarmProps, 'metric'> & {
    readonly meaning: string;
  };

/**
 * The alarms, and the topic that notifies the recipient. Each has a section of the same name in
 * docs/runbook.md, and most have a saved query. One alarm covers all functions: an error of any
 * function is a 5xx of the API, and an alarm per function would cost more than it tells.
 */
export class Alarms extends Construct {
  readonly all: Alarm[] = [];
  readonly ofDeployments: Alarm[] = [];

  constructor(scope: Construct, id: string, recipient: string, props: Monitored) {
    super(scope, id);
    const topic = this.openTopic(recipient);
    // The policy of a topic of the operator's own decides who may publish there.
    const publisher = recipient.startsWith('arn:')
      ? undefined
      : new Role(this, 'Publisher', { assumedBy: serviceOfAccount('events') });
    const action = new SnsAction(topic);
    const { runbookUrl = 'docs/runbook.md' } = props.settings;
    const describe = (name: string, meaning: string) =>
      `${meaning} What to do: ${runbookUrl}#${name}`;
    for (const [name, { meaning, ...condition }] of Object.entries(conditions(props))) {
      const alarm = new Alarm(this, name, {
        alarmName: `${Stack.of(this).stackName}-${name}`,
        alarmDescription: describe(name, meaning),
        threshold: 1,
        evaluationPeriods: 1,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: TreatMissingData.NOT_BREACHING,
        ...condition,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      this.all.push(alarm);
      if (CANARY_ALARMS.some((stopping) => stopping === name)) this.ofDeployments.push(alarm);
    }
    for (const [name, { meaning, pattern }] of Object.entries(watchedEvents(props))) {
      const description = describe(name, meaning(Stack.of(this).stackName));
      this.notifyOf(name, description, pattern, topic, publisher);
    }
  }

  /** Notifies once, and not when it is over. */
  private notifyOf(
    name: string,
    description: string,
    eventPattern: EventPattern,
    topic: ITopic,
    role: Role | undefined,
  ): void {
    const rule = new Rule(this, name, {
      description,
      eventPattern,
      targets: [
        new SnsTopic(topic, {
          message: RuleTargetInput.fromText(description),
          // A statement for EventBridge in the policy of the topic would permit all rules, even of
          // other accounts.
          ...(role && { role }),
        }),
      ],
    });
    Validations.of(rule).acknowledge({
      id: 'Annotation::@aws-cdk/aws-events:ruleUnresolvedEnvironment',
      reason:
        'The topic is in the region of the stack, as the settings require, and in its account',
    });
  }

  private openTopic(recipient: string): ITopic {
    if (recipient.startsWith('arn:')) return Topic.fromTopicArn(this, 'Topic', recipient);
    const topic = new Topic(this, 'Topic', { enforceSSL: true });
    topic.addSubscription(new EmailSubscription(recipient));
    topic.addToResourcePolicy(
      new PolicyStatement({
        actions: ['sns:Publish'],
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
      }),
    );
    return topic;
  }
}

/**
 * In 15 minutes, the window of the login throttle. By default, it rejects a source after 100, so
 * that ten sources are needed: more than a client with an outdated password.
 */
const MANY_WRONG_PASSWORDS = 1000;

function conditions({ settings, metrics }: Monitored): Record<string, Condition> {
  const everyMinute = { period: Duration.minutes(1) };
  // With few requests, p99 is the slowest one. Three periods in a row are more than cold starts.
  const slow = { threshold: 2000, evaluationPeriods: 3 };
  return {
    'server-errors': {
      meaning: 'The API responds with 5xx.',
      metric: metrics.serverErrors.with(everyMinute),
      threshold: 3,
      evaluationPeriods: 5,
      datapointsToAlarm: 2,
    },
    defects: {
      meaning: 'A function has logged an unexpected error.',
      metric: metrics.rejections('unexpected').with(everyMinute),
    },
    // Functions log no defect of these. During a canary, they are a tenth of the requests: too few
    // for server-errors.
    'failed-invocations': {
      meaning: 'A function could not start, crashed or exceeded its time.',
      metric: metrics.failedInvocations.with(everyMinute),
    },
    unavailable: {
      meaning: 'Requests end with 503: changes conflict for too long, or AWS does not respond.',
      metric: metrics.rejections('unavailable'),
      threshold: 10,
    },
    throttled: {
      meaning: 'API Gateway, Lambda or DynamoDB throttles.',
      metric: sumOf({
        gateway: metrics.gatewayThrottles,
        functions: metrics.functionThrottles,
        reads: metrics.readThrottles,
        writes: metrics.writeThrottles,
      }),
      threshold: 10,
      // With FILL, a period whose data arrives late must be evaluated again:
      // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
      evaluationPeriods: 2,
      datapointsToAlarm: 1,
    },
    concurrency: {
      meaning: 'Four fifths of the concurrent executions that all functions share are in use.',
      metric: metrics.unreservedExecutions,
      threshold: Math.floor(0.8 * sharedExecutions(settings)),
    },
    'slow-logins': {
      meaning: 'One login in a hundred takes longer than two seconds.',
      metric: metrics.duration('login', 'p99'),
      ...slow,
    },
    'slow-changes': {
      meaning: 'One change in a hundred takes longer than two seconds.',
      metric: metrics.duration('change', 'p99'),
      ...slow,
    },
    ...mailConditions(metrics),
    'audit-delayed': {
      meaning: 'The audit of API tokens and the log of the audit trail are an hour behind.',
      metric: metrics.auditDelay,
      threshold: Duration.hours(1).toMilliseconds(),
    },
    'too-many-attempts': {
      meaning: 'The login throttle rejects many requests: passwords may be guessed.',
      metric: metrics.rejections('too-many-attempts'),
      threshold: 50,
    },
    'bad-credentials': {
      meaning: 'Many logins fail below the limits of the login throttle: passwords may be guessed.',
      metric: metrics.rejections('bad-credentials').with({ period: Duration.minutes(15) }),
      threshold: MANY_WRONG_PASSWORDS,
    },
    ...accessConditions(settings, metrics),
    ...(settings.edge && {
      // Does not roll back: anybody who reaches the API directly could raise it.
      'not-from-edge': {
        meaning: 'Requests without the secret of the edge: it may not match the hashes.',
        metric: metrics.rejections('not-from-edge'),
        threshold: 10,
      },
    }),
    ...(settings.dailyVerification && verificationConditions(metrics)),
  };
}

/** About the ways in besides passwords. */
const accessConditions = (settings: Settings, metrics: Metrics): Record<string, Condition> => ({
  ...(settings.issuers.length + settings.moduleIssuers.length > 0 && {
    'issuer-keys': {
      meaning: 'The keys of an issuer of tokens could not be fetched for an hour.',
      metric: metrics.missingKeys,
    },
  }),
  ...(settings.ssoOnly && {
    'emergency-account': {
      meaning: 'The emergency account was armed, or somebody has logged in to it.',
      metric: metrics.emergencies.with({ period: Duration.minutes(1) }),
    },
  }),
});

function mailConditions(metrics: Metrics): Record<string, Condition> {
  // SES reports the rates only with mail. Half of those at which it reviews an account:
  // https://docs.aws.amazon.com/ses/latest/dg/reputationdashboardmessages.html
  const rate = { evaluationPeriods: 24, datapointsToAlarm: 1 };
  const hourly = { period: Duration.hours(1) };
  return {
    'mail-not-sent': {
      meaning: 'A mail could not be sent.',
      metric: metrics.mailsNotSent,
    },
    'mail-delayed': {
      meaning: 'Mail has waited for more than five minutes.',
      metric: metrics.mailDelay,
      threshold: Duration.minutes(5).toMilliseconds(),
    },
    bounces: {
      meaning: 'Mail bounces so often that SES may stop sending it.',
      metric: metrics.bounceRate.with(hourly),
      threshold: 0.025,
      ...rate,
    },
    complaints: {
      meaning: 'Mail is reported as spam so often that SES may stop sending it.',
      metric: metrics.complaintRate.with(hourly),
      threshold: 0.0005,
      ...rate,
    },
  };
}

/**
 * Has a value in every period. While a metric of DynamoDB has no data, an alarm keeps its state,
 * whatever its setting, and so could stay in ALARM for ever:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
 */
const sumOf = (usingMetrics: Record<string, IMetric>): MathExpression =>
  new MathExpression({
    expression: Object.keys(usingMetrics)
      .map((name) => `FILL(${name}, 0)`)
      .join(' + '),
    usingMetrics,
  });

function verificationConditions(metrics: Metrics): Record<string, Condition> {
  const hourly = { period: Duration.hours(1) };
  return {
    'table-not-intact': {
      meaning: 'The daily verification has findings.',
      metric: metrics.findings.with(hourly),
      // Until the next verification.
      evaluationPeriods: 24,
      datapointsToAlarm: 1,
    },
    modules: {
      meaning: 'A module failed, is behind, was not seen or is about to lose its last credential.',
      metric: metrics.modulesToWatch.with(hourly),
      // Until the next verification.
      evaluationPeriods: 24,
      datapointsToAlarm: 1,
    },
    'verification-missing': {
      meaning: 'No verification was completed for 26 hours.',
      metric: metrics.verifications.with(hourly),
      threshold: 1,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      evaluationPeriods: 26,
      treatMissingData: TreatMissingData.BREACHING,
    },
  };
}
