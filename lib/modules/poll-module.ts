import type { Integration, ModuleReport } from '../integrations/integration.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { ignoreUnavailable } from '../table/change.ts';
import type { SnapshotTable } from '../table/snapshot.ts';
import type { Table } from '../table/table.ts';
import type { Precondition } from '../table/version.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { AuthorizedModule } from './authorized-module.ts';
import type { Report } from './module-contracts.ts';
import { readModule, type WantedConfiguration } from './read-module.ts';
import { recordReport, requireWanted } from './record-report.ts';
import { parseRunning } from './running.ts';

interface Poll {
  readonly precondition: Precondition;
  /** The header Gatehouse-Running. */
  readonly running: string | undefined;
}

/**
 * Reads what a module is wanted to run, and records what it says to run. A number that it could not
 * apply is not sent to it again, although it does not hold it. Fails as `readModule` does, and with
 * invalid.
 */
export async function pollModule(
  table: SnapshotTable,
  caller: AuthorizedCaller | AuthorizedModule,
  id: number,
  { precondition, running }: Poll,
): Promise<WantedConfiguration> {
  // A user holds no number: what users read also changes without a new one.
  if (!('clientId' in caller)) return readModule(table, caller, id, undefined);
  const { moduleRevision: wanted } = caller.integration;
  const report = knownNumbers(parseRunning(running), wanted);
  const hasFailed = precondition !== undefined && report?.failed === wanted;
  const [configuration] = await settleAll([
    hasFailed ? Promise.resolve({ wanted }) : readModule(table, caller, id, precondition),
    // The module states it again with its next poll.
    ignoreUnavailable(recordReport(table, caller, report)),
  ]);
  return configuration;
}

/**
 * A module can state a number that was never wanted after the table was replaced by an older one.
 * Its configuration is what corrects that, so it is not refused; the statement is not recorded.
 */
function knownNumbers(report: ModuleReport | undefined, wanted: number): ModuleReport | undefined {
  const isKnown = report && Math.max(report.running, report.failed ?? 0) <= wanted;
  return isKnown ? report : undefined;
}

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
    ...(failed !== undefined && failed !== null && { failed }),
    ...(reason && { reason }),
  };
  requireWanted(caller.integration, report);
  return recordReport(table, caller, report);
}
