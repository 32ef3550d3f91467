import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { PARTITION } from '../../../lib/operations/item-kinds.ts';
import type { AdministrationTable } from './administration-table.ts';
import { type Deployment, functionLog, GatehouseFunction } from './gatehouse-function.ts';

/** Writes each new entry of the audit trail to a log, from which other systems receive it. */
export class AuditLog extends Construct {
  readonly writer: GatehouseFunction;

  constructor(
    scope: Construct,
    id: string,
    {
      table,
      days,
      deployment,
    }: { table: AdministrationTable; days: number; deployment: Deployment },
  ) {
    super(scope, id);
    this.writer = new GatehouseFunction(this, 'Function', deployment, {
      file: 'log-audit',
      log: functionLog(this, 'Log', 'audit', days),
      description: 'logs the audit trail',
      memorySize: 512,
      timeout: Duration.minutes(1),
    });
    table.grantTo(this.writer, { batchGet: [PARTITION.audit] });
    table.handOver([PARTITION.audit], this.writer, {
      // As many as can be read at once. The entries of a month have one partition key, and their
      // order would not outlast a second batch in work.
      batchSize: 100,
      parallelizationFactor: 1,
      // As long as the stream keeps them.
      maxRecordAge: Duration.hours(24),
    });
  }
}
