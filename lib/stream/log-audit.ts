import { auditView, entryOf } from '../audit/read-audits.ts';
import { setDeadline } from '../runtime/execution-environment.ts';
import { log, logError } from '../runtime/log.ts';
import type { Table } from '../table/table.ts';
import {
  type BatchResponse,
  type Invocation,
  parseRecord,
  type StreamRecord,
} from './stream-record.ts';

/**
 * Logs the audit entries of a batch of stream records, one line each in the form of
 * `GET /api/audits`, unless they have been deleted since. If they cannot be read, the whole batch
 * is handed over again: an entry is logged at least once, and duplicates have its `id`.
 */
export async function logAudit(
  { Records }: { readonly Records: readonly StreamRecord[] },
  { getRemainingTimeInMillis }: Invocation,
  table: Table,
): Promise<BatchResponse> {
  setDeadline(getRemainingTimeInMillis());
  const records = Records.map(parseRecord);
  try {
    const items = await table.getAll(records.map(({ key }) => key));
    for (const item of items) if (item) log(auditView(entryOf(item)));
    return { batchItemFailures: [] };
  } catch (error) {
    logError('auditDelayed', (error as Error).cause ?? error);
    return { batchItemFailures: records.slice(0, 1) };
  }
}
