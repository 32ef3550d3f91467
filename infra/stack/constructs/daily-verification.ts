import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as Target } from 'aws-cdk-lib/aws-events-targets';
import { Construct } from 'constructs';
import type { AdministrationTable } from './administration-table.ts';
import { type Deployment, GatehouseFunction } from './gatehouse-function.ts';

interface Props extends Deployment {
  readonly table: AdministrationTable;
}

/**
 * Verifies the whole table once a day and logs the number of findings, on which there are alarms.
 */
export class DailyVerification extends Construct {
  readonly logGroupName: string;

  constructor(scope: Construct, id: string, { table, ...deployment }: Props) {
    super(scope, id);
    const verification = new GatehouseFunction(this, 'Function', {
      ...deployment,
      file: 'verify-table',
      description: 'verifies the table once a day',
      // A verification keeps about 3 KB per user in memory and takes minutes for a million items.
      memorySize: 2048,
      timeout: Duration.minutes(15),
      // A retry would report the same findings again.
      retryAttempts: 0,
    });
    table.grantWholeTableTo(verification);
    new Rule(this, 'Daily', {
      schedule: Schedule.rate(Duration.days(1)),
      targets: [new Target(verification)],
    });
    this.logGroupName = verification.logGroup.logGroupName;
  }
}
