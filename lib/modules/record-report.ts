import { auditEntry, changesBetween } from '../audit/audit-entry.ts';
import { Failure } from '../contract/failure.ts';
import type { Integration, ModuleReport } from '../integrations/integration.ts';
import { auditEventForIntegration } from '../integrations/integration-table.ts';
import { loadDecideCommit } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { attributesAre, EXISTS, set } from '../table/write.ts';
import { hourOf } from '../tokens/secret.ts';
import type { AuthorizedModule } from './module-caller.ts';
import type { Report } from './module-contracts.ts';

/**
 * At most this many reports are recorded in this time: a stolen credential could otherwise keep the
 * integration busy, so that its own deletion conflicts. The next poll repeats the numbers of the
 * rest, but no reason.
 */
const TIMES_MAX = 3;
const WINDOW_MS = 1000;

/** How many entries of the audit trail the reports of a module cause in an hour, at most. */
const ENTRIES_MAX = 10;
const HOUR_MS = 3_600_000;

/**
 * Records a report of a module. Fails with invalid for a number that was never wanted, and as
 * `recordReport` does.
 */
export function reportModule(
  table: Table,
  caller: AuthorizedModule,
  { running, failed, reason }: Report,
): Promise<Integration> {
  const report: ModuleReport = {
    running,
    failed: failed ?? undefined,
    reason: reason || undefined,
  };
  requireWanted(caller.integration, report);
  return recordReport(table, caller, report);
}

/**
 * Records what a module runs, if that is not recorded yet: in a transaction that requires that its
 * credential has not been deleted, with an audit entry unless the hour has ENTRIES_MAX. While
 * nothing changes, it only records once an hour that the module was seen. Fails with invalid-token,
 * and with unavailable.
 */
export async function recordReport(
  table: Table,
  module: AuthorizedModule,
  report: ModuleReport | undefined,
): Promise<Integration> {
  const seen = hourOf(Date.now());
  if (!report || isRecorded(module.integration, report)) {
    if (module.integration.seen !== seen) await recordSeen(table, module.integration, seen);
    return module.integration;
  }
  let loaded: Integration | undefined = module.integration;
  const load = async () => {
    const integration = loaded ?? (await module.reload());
    loaded = undefined;
    return integration;
  };
  return loadDecideCommit(table, load, (before, now) => {
    const { since = 0, times = 0, failed, reason: reasonBefore } = before.report ?? {};
    const counted =
      now - since < WINDOW_MS ? { since, times: times + 1 } : { since: now, times: 1 };
    if (counted.times > TIMES_MAX || isRecorded(before, report))
      return { writes: [], result: before };
    // A poll repeats no reason: the reason of the same failure stays.
    const isSameFailure = report.failed !== undefined && report.failed === failed;
    const reason = report.reason ?? (isSameFailure ? reasonBefore : undefined);
    const { isAudited, leftOut, audited } = auditedReports(before.report?.audited, now);
    const stored: ModuleReport = { ...report, reason, ...counted, audited };
    const event = auditEventForIntegration('module.reported', before, [
      ...changesBetween(before.report, stored, ['running', 'failed', 'reason']),
      ...(leftOut > 0 ? [{ field: 'leftOut', to: leftOut }] : []),
    ]);
    const { clientId, source } = module;
    const actor = { id: 0, login: clientId, source, session: clientId };
    return {
      writes: [
        set(
          entityKey('INTEGRATION', before.id),
          { report: stored, seen },
          // A report does not change the revision.
          attributesAre({ revision: before.revision, report: before.report }),
        ),
        ...(isAudited ? [auditEntry(actor, event, now)] : []),
      ],
      result: { ...before, report: stored, seen },
    };
  });
}

/**
 * Whether a report is audited, the number of those before it that were not, and what is stored of
 * that. Otherwise a module that flaps, or a stolen credential, would flood the audit trail.
 */
function auditedReports(
  before: ModuleReport['audited'],
  now: number,
): { isAudited: boolean; leftOut: number; audited: ModuleReport['audited'] } {
  const { since, entries } =
    before && now - before.since < HOUR_MS ? before : { since: now, entries: 0 };
  const { leftOut = 0, lastLeftOut } = before ?? {};
  return entries < ENTRIES_MAX
    ? { isAudited: true, leftOut, audited: { since, entries: entries + 1, lastLeftOut } }
    : {
        isAudited: false,
        leftOut,
        audited: { since, entries, leftOut: leftOut + 1, lastLeftOut: now },
      };
}

/** Fails with invalid for a number that was never wanted. */
function requireWanted(
  { moduleRevision: max }: Integration,
  { running, failed = 0 }: ModuleReport,
): void {
  const fieldErrors = Object.entries({ running, failed })
    .filter(([, number]) => number > max)
    .map(([field]) => ({ field, message: 'Size', max }) as const);
  if (fieldErrors.length > 0) throw new Failure('invalid', { fieldErrors });
}

function isRecorded({ report }: Integration, { running, failed, reason }: ModuleReport): boolean {
  return (
    report !== undefined &&
    report.running === running &&
    report.failed === failed &&
    (reason === undefined || report.reason === reason)
  );
}

async function recordSeen(table: Table, { id }: Integration, seen: string): Promise<void> {
  await table.update(set(entityKey('INTEGRATION', id), { seen }, EXISTS));
}
