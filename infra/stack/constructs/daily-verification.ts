import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as Target } from 'aws-cdk-lib/aws-events-targets';
import { Construct } from 'constructs';
import { PARTITION } from '../../../lib/operations/item-kinds.ts';
import type { AdministrationTable } from './administration-table.ts';
import { type Deployment, GatehouseFunction } from './gatehouse-function.ts';

/** Logs the number of findings, which raises alarms, and stores what the overview counts. */
export class DailyVerification extends Construct {
  readonly verifier: GatehouseFunction;

  constructor(scope: Construct, id: string, table: AdministrationTable, deployment: Deployment) {
    super(scope, id);
    this.verifier = new GatehouseFunction(this, 'Function', deployment, {
      file: 'verify-table',
      log: 'verify-table',
      description: 'verifies the table once a day',
      // A verification keeps about 3 KB per user in memory and takes minutes for a million items.
      memorySize: 2048,
      timeout: Duration.minutes(15),
      // A retry would report the same findings again.
      retryAttempts: 0,
    });
    table.grantWholeTableTo(this.verifier);
    table.grantTo(this.verifier, { put: [PARTITION.overview] });
    new Rule(this, 'Daily', {
      schedule: Schedule.rate(Duration.days(1)),
      targets: [new Target(this.verifier)],
    });
  }
}
