import { auditEntry } from '../audit/audit-entry.ts';
import { auditView, entryOf } from '../audit/read-audits.ts';
import { setDeadline } from '../runtime/execution-environment.ts';
import { log, logError } from '../runtime/log.ts';
import { loadDecideCommit } from '../table/change.ts';
import type { Key } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, set } from '../table/write.ts';
import { isTokenUse, type TokenUse, userOfTokenUse } from '../tokens/api-token.ts';
import { armingKey, logEmergency } from '../users/emergency-account.ts';
import { actorOf, auditEventFor, findUser } from '../users/user-table.ts';
import {
  type BatchResponse,
  type Invocation,
  parseRecord,
  type StreamRecord,
} from './stream-record.ts';

/**
 * Logs the audit entries of a batch of stream records, one line each in the form of
 * `GET /api/audits`, unless they have been deleted since, adds an entry for the first use of an API
 * token from a network, and raises an alarm when the emergency account is armed. If they cannot be
 * read, the whole batch is handed over again: an entry is logged at least once, and duplicates have
 * its `id`.
 */
export async function logAudit(
  { Records }: { readonly Records: readonly StreamRecord[] },
  { getRemainingTimeInMillis }: Invocation,
  table: Table,
): Promise<BatchResponse> {
  setDeadline(getRemainingTimeInMillis());
  const records = Records.map(parseRecord);
  try {
    const entries: typeof records = [];
    for (const record of records) {
      if (isTokenUse(record.key)) await auditUse(table, record.key);
      else if (record.key.pk === armingKey.pk) logEmergency('armed');
      else entries.push(record);
    }
    const items = await table.getAll(entries.map(({ key }) => key));
    for (const item of items) if (item) log(auditView(entryOf(item)));
    return { batchItemFailures: [] };
  } catch (error) {
    logError('auditDelayed', (error as Error).cause ?? error);
    return { batchItemFailures: records.slice(0, 1) };
  }
}

/** Adds the entry of a use once, however often its record is handed over. */
function auditUse(table: Table, key: Key): Promise<void> {
  const load = async () => {
    const use = (await table.get(key)) as unknown as TokenUse | undefined;
    return { use, user: use && (await findUser(table, userOfTokenUse(key))) };
  };
  return loadDecideCommit(table, load, ({ use, user }, now) => {
    if (!use || !user || use.isAudited) return { writes: [], result: undefined };
    const { source, series: session } = use;
    const event = auditEventFor('token.used', user, []);
    return {
      writes: [
        set(key, { isAudited: true }, attributesAre({ isAudited: undefined, series: session })),
        auditEntry(actorOf(user, { source, session }), event, now),
      ],
      result: undefined,
    };
  });
}
