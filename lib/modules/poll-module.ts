import type { Integration, ModuleReport } from '../integrations/integration.ts';
import { wantedOf } from '../integrations/integration.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { ignoreUnavailable } from '../table/change.ts';
import type { SnapshotTable } from '../table/snapshot.ts';
import type { Table } from '../table/table.ts';
import type { Precondition } from '../table/version.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { AuthorizedModule } from './authorized-module.ts';
import type { Report } from './module-contracts.ts';
import { readModule, type WantedConfiguration } from './read-module.ts';
import { recordReport } from './record-report.ts';
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
  if (!('clientId' in caller)) return readModule(table, caller, id, precondition);
  const report = parseRunning(running);
  const wanted = wantedOf(caller.integration);
  const hasFailed = precondition !== undefined && report?.failed === wanted;
  const [configuration] = await settleAll([
    hasFailed ? Promise.resolve({ wanted }) : readModule(table, caller, id, precondition),
    // The module states it again with its next poll.
    ignoreUnavailable(recordReport(table, caller, report)),
  ]);
  return configuration;
}

/** Records a report of a module. Fails as `recordReport` does. */
export function reportModule(
  table: Table,
  caller: unknown,
  { running, failed, reason }: Report,
): Promise<Integration> {
  const report: ModuleReport = {
    running,
    ...(failed !== undefined && failed !== null && { failed }),
    ...(reason && { reason }),
  };
  return recordReport(table, caller as AuthorizedModule, report);
}
