import { Aws, Duration, Stack, Validations } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  MathExpression,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Match, Rule, RuleTargetInput } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { Settings } from '../../settings/settings.ts';
import type { Metrics } from './metrics.ts';

interface Props extends Pick<Settings, 'dailyVerification' | 'edge'> {
  readonly recipient: string;
  readonly metrics: Metrics;
  readonly keyArns: readonly string[];
}

type Condition = Pick<AlarmProps, 'metric' | 'threshold'> & Partial<AlarmProps>;

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
const HOUR = Duration.hours(1);

const withRunbook = (name: string, meaning: string): string =>
  `${meaning} What to do: docs/runbook.md#${name}`;

/**
 * The alarms, and the topic that notifies the recipient. Each has a section of the same name in
 * docs/runbook.md, and a saved query. One alarm covers all functions: an error of any function is a
 * 5xx of the API, and an alarm per function would cost more than it tells.
 */
export class Alarms extends Construct {
  readonly all: Alarm[] = [];
  /** Those that a bad deployment raises within minutes. */
  readonly ofDeployments: Alarm[];
  private readonly topic: ITopic;

  constructor(
    scope: Construct,
    id: string,
    { recipient, metrics, keyArns, dailyVerification, edge }: Props,
  ) {
    super(scope, id);
    this.topic = this.openTopic(recipient);

    this.ofDeployments = [
      this.add('server-errors', 'The API responds with 5xx.', {
        metric: metrics.serverErrors.with({ period: MINUTE }),
        threshold: 3,
        evaluationPeriods: 5,
        datapointsToAlarm: 2,
      }),
      this.add('defects', 'A function has logged an unexpected error.', {
        metric: metrics.rejections('unexpected').with({ period: MINUTE }),
        threshold: 1,
      }),
      // Functions log no defect of these. During a canary, they are a tenth of the requests: too
      // few for server-errors.
      this.add('failed-invocations', 'A function could not start, crashed or exceeded its time.', {
        metric: metrics.failedInvocations.with({ period: MINUTE }),
        threshold: 1,
      }),
    ];
    this.add(
      'unavailable',
      'Requests end with 503: changes conflict for too long, or AWS does not respond.',
      {
        metric: metrics.rejections('unavailable'),
        threshold: 10,
      },
    );
    this.add('throttled', 'API Gateway, Lambda or DynamoDB throttles.', {
      metric: new MathExpression({
        expression: 'SUM([gateway, functions, reads, writes])',
        usingMetrics: {
          gateway: metrics.gatewayThrottles,
          functions: metrics.functionThrottles,
          reads: metrics.readThrottles,
          writes: metrics.writeThrottles,
        },
        period: FIVE_MINUTES,
      }),
      threshold: 10,
    });
    // With few requests, p99 is the slowest one. Three periods in a row are more than cold starts.
    const slow = { threshold: 2000, evaluationPeriods: 3 };
    this.add('slow-logins', 'One login in a hundred takes longer than two seconds.', {
      metric: metrics.duration('login', Stats.p(99)),
      ...slow,
    });
    this.add('slow-changes', 'One change in a hundred takes longer than two seconds.', {
      metric: metrics.duration('change', Stats.p(99)),
      ...slow,
    });
    this.add('mail-not-sent', 'A mail could not be sent.', {
      metric: metrics.mailsNotSent,
      threshold: 1,
    });
    this.add('mail-delayed', 'Mail has waited for more than five minutes.', {
      metric: metrics.mailDelay,
      threshold: FIVE_MINUTES.toMilliseconds(),
    });
    this.add(
      'too-many-attempts',
      'The login throttle rejects many requests: passwords may be guessed.',
      {
        metric: metrics.rejections('too-many-attempts'),
        threshold: 50,
      },
    );
    if (edge) {
      // Not one of deployments: anybody who reaches the API directly could roll them back.
      this.add(
        'not-from-edge',
        'Requests without the secret of the edge: it may not match the hashes.',
        {
          metric: metrics.rejections('not-from-edge'),
          threshold: 10,
        },
      );
    }
    if (dailyVerification) this.addForVerification(metrics);
    this.notifyOfKeyStates(keyArns);
  }

  private addForVerification({ findings, verifications }: Metrics): void {
    this.add('table-not-intact', 'The daily verification has findings.', {
      metric: findings.with({ period: HOUR }),
      threshold: 1,
      // Until the next verification.
      evaluationPeriods: 24,
      datapointsToAlarm: 1,
    });
    this.add('verification-missing', 'No verification was completed for 26 hours.', {
      metric: verifications.with({ period: HOUR }),
      threshold: 1,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      evaluationPeriods: 26,
      treatMissingData: TreatMissingData.BREACHING,
    });
  }

  private add(name: string, meaning: string, condition: Condition): Alarm {
    const alarm = new Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: withRunbook(name, meaning),
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...condition,
    });
    const action = new SnsAction(this.topic);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    this.all.push(alarm);
    return alarm;
  }

  /**
   * KMS has no metric of a key's state, so an event notifies of the calls that make a key unusable.
   */
  private notifyOfKeyStates(keyArns: readonly string[]): void {
    const name = 'key-states';
    const { stackName } = Stack.of(this);
    const meaning = `A key of ${stackName} was disabled, or its deletion was scheduled.`;
    const description = withRunbook(name, meaning);
    const rule = new Rule(this, name, {
      description,
      eventPattern: {
        source: ['aws.kms'],
        detailType: ['AWS API Call via CloudTrail'],
        detail: {
          eventSource: ['kms.amazonaws.com'],
          eventName: ['DisableKey', 'ScheduleKeyDeletion'],
          resources: { ARN: keyArns },
          // A refused attempt is recorded too.
          errorCode: Match.doesNotExist(),
        },
      },
      targets: [new SnsTopic(this.topic, { message: RuleTargetInput.fromText(description) })],
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
