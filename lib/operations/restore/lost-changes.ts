import {
  type AuditedAction,
  auditPartition,
  PERMANENT_AUDIT_PARTITION,
} from '../../audit/audit-entry.ts';
import { entryOf, type ListedEntry } from '../../audit/read-audits.ts';
import type { Table } from '../../table/table.ts';

/** Actions that leave nothing to repeat, or nothing that an adoption does not settle. */
const NOTHING_LOST: ReadonlySet<AuditedAction> = new Set<AuditedAction>([
  'reset.requested',
  'email.requested',
  'session.started',
  'session.ended',
  'sessions.ended',
  'token.created',
  'token.deleted',
  'token.used',
  'secondFactor.requested',
  'login.failed',
  'login.throttled',
  'login.codeRejected',
  'emergency.armed',
  'emergency.disarmed',
  'emergency.used',
  'integration.restarted',
  'module.reported',
]);

const [BEFORE_ALL_TIMES, AFTER_ALL_TIMES] = ['0', '~'];
const PAGE_ENTRIES = 1000;
/** The maximum of `auditDays` is ten years. */
const MONTHS_MAX = 120;

/**
 * The changes since the backup, oldest first: the entries in the audit trail of the original that
 * the restored table lacks.
 */
export async function lostChanges(
  table: Table,
  original: Table,
  now: number,
): Promise<readonly ListedEntry[]> {
  const { lost } = await entriesLost(table, original, PERMANENT_AUDIT_PARTITION);
  const at = new Date(`${new Date(now).toISOString().slice(0, 7)}-01`);
  for (let n = 0; n < MONTHS_MAX; n++) {
    const month = await entriesLost(table, original, auditPartition(at.toISOString().slice(0, 7)));
    lost.push(...month.lost);
    if (month.isComplete) break;
    at.setUTCMonth(at.getUTCMonth() - 1);
  }
  return lost
    .filter(({ action }) => !NOTHING_LOST.has(action))
    .sort((one, other) => (one.time < other.time ? -1 : 1));
}

/**
 * The entries of a partition that the restored table lacks. They are searched from the newest on,
 * up to a page of which the restored table has every entry: the order in which concurrent changes
 * are committed can differ from the order of their times.
 */
async function entriesLost(table: Table, original: Table, partition: string) {
  const lost: ListedEntry[] = [];
  for (let to = AFTER_ALL_TIMES; ; ) {
    const range = { from: BEFORE_ALL_TIMES, to, backwards: true, limit: PAGE_ENTRIES };
    const page = (await original.query(partition, range)).filter(({ sk }) => sk !== to);
    const [newest, oldest] = [page[0], page.at(-1)];
    if (!newest || !oldest) return { lost, isComplete: false };
    const restored = await table.query(partition, { from: oldest.sk, to: newest.sk });
    const present = new Set(restored.map(({ sk }) => sk));
    const missing = page.filter(({ sk }) => !present.has(sk));
    if (missing.length === 0) return { lost, isComplete: true };
    lost.push(...missing.map(entryOf));
    to = oldest.sk;
  }
}
