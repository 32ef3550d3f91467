import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as Target } from 'aws-cdk-lib/aws-events-targets';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import type { AdministrationTable } from './administration-table.ts';
import { GatehouseFunction } from './gatehouse-function.ts';

interface Props {
  readonly table: AdministrationTable;
  /** The folder of all bundles. */
  readonly bundles: string;
  readonly environment: string;
  readonly settings: Settings;
  readonly daily: NonNullable<Settings['dailyVerification']>;
}

/** Verifies the whole table once a day; an alarm reports findings and failed verifications. */
export class DailyVerification extends Construct {
  constructor(scope: Construct, id: string, { table, bundles, environment, settings, daily }: Props) {
    super(scope, id);
    const verification = new GatehouseFunction(this, 'Function', {
      file: 'verify-table',
      bundles,
      environmentName: environment,
      settings,
      description: 'verifies the table once a day',
      // A verification keeps about 3 KB per user in memory and takes minutes for a million items.
      memorySize: 2048,
      timeout: Duration.minutes(15),
      // A retry would report the same findings again.
      retryAttempts: 0,
    });
    table.grantWholeTableTo(verification);
    new Rule(this, 'Daily', { schedule: Schedule.rate(Duration.days(1)), targets: [new Target(verification)] });

    const alarm = new Alarm(this, 'Alarm', {
      alarmDescription:
        'Gatehouse: the table is not intact, or it could not be verified. ' +
        'Run npm run verify -- --table NAME for details.',
      metric: verification.metricErrors({ period: Duration.days(1), statistic: 'Sum' }),
      threshold: 1,
      evaluationPeriods: 1,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    if (daily.alarmTopic) alarm.addAlarmAction(new SnsAction(Topic.fromTopicArn(this, 'Topic', daily.alarmTopic)));
  }
}
