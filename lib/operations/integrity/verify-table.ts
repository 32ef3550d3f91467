import { log } from '../../runtime/log.ts';
import { KINDS, SEQUENCES } from '../../table/keys.ts';
import type { TableScanner } from '../../table/table-scanner.ts';
import type { Overview } from '../overview/count-overview.ts';
import { type Verdict, verifyParameters, verifySequence, verifyTotal } from './counters.ts';
import { verifyCredentials } from './credentials.ts';
import { findDefect } from './find-defect.ts';
import type { Finding, FindingKind } from './finding.ts';
import { verifyGuards } from './guards.ts';
import { verifyRoster } from './roster.ts';
import { type PendingRestart, type Survey, survey } from './survey.ts';

/** The number of items and entities, the defects, and the checks without a result. */
export interface Verification {
  readonly items: number;
  readonly users: number;
  readonly integrations: number;
  readonly parameters: number;
  readonly findings: readonly Finding[];
  /** One sentence per check that had no result because the items kept changing. */
  readonly undecided: readonly string[];
  /** The integration that has waited longest for its module to restart. */
  readonly oldestPendingRestart: PendingRestart | undefined;
  /** The integrations whose module somebody should look after. */
  readonly modulesToWatch: readonly number[];
  /** Mails that have waited for an hour without an attempt to send them. */
  readonly waitingMails: number;
  readonly overview: Overview;
}

/**
 * Verifies every item and every rule that spans items. Scans the whole table once without changing
 * it, and reads mismatched items again in one transaction: the service may run meanwhile, and a
 * change in progress is not a finding. `onProgress` receives the number of items read so far. Fails
 * with NotGatehouseTable, with NewerFormat if this code may not know all items, or with SDK errors.
 */
export async function verifyTable(
  table: TableScanner,
  onProgress = (_items: number): void => undefined,
): Promise<Verification> {
  const seen = await survey(table, onProgress);
  const verdicts: Verdict[] = [
    { findings: await verifyItems(table, seen) },
    { findings: await verifyGuards(table, seen) },
    { findings: await verifyRoster(table, seen) },
    { findings: await verifyCredentials(table, seen) },
    await verifyParameters(table, seen),
  ];
  for (const kind of SEQUENCES) verdicts.push(await verifySequence(table, seen, kind));
  for (const kind of KINDS) verdicts.push(await verifyTotal(table, seen, kind));
  return {
    items: seen.items,
    users: seen.counts.USER,
    integrations: seen.counts.INTEGRATION,
    parameters: seen.counts.CONF,
    findings: verdicts.flatMap(({ findings }) => findings),
    undecided: verdicts.flatMap(({ undecided }) => undecided ?? []),
    oldestPendingRestart: seen.oldestPendingRestart,
    modulesToWatch: seen.modulesToWatch,
    waitingMails: seen.waitingMails,
    overview: seen.overview,
  };
}

async function verifyItems(table: TableScanner, { defective }: Survey): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const key of defective) {
    const [item] = await table.snapshot([key]);
    const defect = item && findDefect(item);
    if (defect) findings.push(defect);
  }
  return findings;
}

/** The number of findings by kind; kinds without findings are left out. */
function countByKind(findings: readonly Finding[]): Partial<Record<FindingKind, number>> {
  const counts: Partial<Record<FindingKind, number>> = {};
  for (const { kind } of findings) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Throws if there are findings. What was undecided is checked again the next day. */
export function requireIntact({ findings }: Verification): void {
  if (findings.length > 0)
    throw new Error(
      'The table is not intact: run npm run admin -- verify --table NAME for details',
    );
}

/**
 * Logs kinds and counts only: the text of a finding can contain a login or an e-mail address. The
 * numbers for which there are alarms are metrics.
 */
export function logVerification(verification: Verification): void {
  const { items, findings, undecided, oldestPendingRestart: oldest } = verification;
  log(
    {
      verified: items,
      findings: findings.length,
      undecided: undecided.length,
      oldestPendingRestartSeconds: oldest ? Math.round((Date.now() - oldest.since) / 1000) : 0,
      oldestPendingRestartId: oldest?.integrationId,
      modulesToWatch: verification.modulesToWatch.length,
      moduleToWatchId: verification.modulesToWatch[0],
      mailsNotSent: verification.waitingMails,
      ...countByKind(findings),
    },
    { field: 'findings', unit: 'Count', dimensions: [[]] },
    { field: 'oldestPendingRestartSeconds', unit: 'Seconds', dimensions: [[]] },
    { field: 'modulesToWatch', unit: 'Count', dimensions: [[]] },
    { field: 'mailsNotSent', unit: 'Count', dimensions: [[]] },
  );
}
