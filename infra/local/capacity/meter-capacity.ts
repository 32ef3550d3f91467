import type { Meter } from '../calls/aws-call.ts';
import { openAdmission } from './admission.ts';
import { meterKeyReads, meterPages } from './meter-reads.ts';
import { meterWrites } from './meter-writes.ts';
import { openThroughput, type TableMaximum } from './throughput.ts';

/*
 * DynamoDB limits the throughput of a partition and of a table, and throttles calls above it; the
 * embedded engine does not. The rules and their sources are in
 * docs/adr/0003-local-cloud-runs-the-template.md.
 */

interface CapacityOptions {
  readonly region: string;
  readonly tableMaximum: TableMaximum;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** Throttles the calls to the tables of a region as DynamoDB would. */
export function meterCapacity({
  region,
  tableMaximum,
  now = () => performance.now(),
}: CapacityOptions): Meter {
  const throughput = openThroughput(tableMaximum, now);
  const admit = openAdmission(region, throughput);
  const meterWrite = meterWrites(admit, now);
  const meterKeyRead = meterKeyReads(admit, throughput);
  const meterPage = meterPages(admit, throughput);
  const meters: Record<string, Meter> = {
    PutItem: meterWrite,
    UpdateItem: meterWrite,
    DeleteItem: meterWrite,
    BatchWriteItem: meterWrite,
    TransactWriteItems: meterWrite,
    GetItem: meterKeyRead,
    BatchGetItem: meterKeyRead,
    TransactGetItems: meterKeyRead,
    Query: meterPage,
    Scan: meterPage,
  };
  return (call, forward, batchGetItem) =>
    meters[call.operation]?.(call, forward, batchGetItem) ?? forward(call.input);
}
