import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as Target } from 'aws-cdk-lib/aws-events-targets';
import { Construct } from 'constructs';
import { PARTITION } from '../../../lib/operations/item-kinds.ts';
import { issuerVariables } from '../../settings/issuers.ts';
import type { AdministrationTable } from './administration-table.ts';
import { type Deployment, GatehouseFunction } from './gatehouse-function.ts';

/** Stores the keys of issuers of tokens, the only part of the stack that calls outwards. */
export class IssuerKeys extends Construct {
  readonly fetcher: GatehouseFunction;

  constructor(scope: Construct, id: string, table: AdministrationTable, deployment: Deployment) {
    super(scope, id);
    this.fetcher = new GatehouseFunction(this, 'Function', deployment, {
      file: 'fetch-issuer-keys',
      log: 'fetch-issuer-keys',
      description: 'fetches the keys of identity providers every minute',
      memorySize: 256,
      timeout: Duration.seconds(20),
      // The next one is a minute away.
      retryAttempts: 0,
      variables: issuerVariables(deployment.settings),
    });
    table.grantTo(this.fetcher, { get: [PARTITION.issuerKeys], put: [PARTITION.issuerKeys] });
    new Rule(this, 'EveryMinute', {
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [new Target(this.fetcher)],
    });
  }
}
