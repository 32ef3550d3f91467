import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { nextVersion } from '../table/version.ts';
import { type Caller, changeAs } from '../users/caller.ts';
import type { Integration } from './integration.ts';
import { ReportRestart } from './integration-contracts.ts';
import { auditEventForIntegration, findIntegration, integrationChanged } from './integration-table.ts';

/**
 * A module says that it has restarted with the parameters of change n. It need not restart again, unless a parameter has
 * changed since: a report never hides a change that its module has not seen.
 * Fails with not-found, forbidden, invalid when there has been no such change yet.
 */
export function reportRestart(table: Table, caller: Caller, id: number, changes: number): Promise<Integration> {
  return changeAs(
    table,
    caller,
    ReportRestart.access,
    () => findIntegration(table, id),
    (before) => {
      if (!before) throw new Failure('not-found');
      const { module } = before;
      if (changes > (module?.changes ?? 0))
        throw new Failure('invalid', { fieldErrors: [{ field: 'changes', message: 'Size' }] });
      const event = auditEventForIntegration('integration.restarted', before);
      if (!module?.needsRestart || changes < module.changes) return { writes: [], result: before, event };
      const after: Integration = {
        ...before,
        module: { ...module, needsRestart: false },
        version: nextVersion(before.version),
      };
      return { writes: [integrationChanged(before, after)], result: after, event };
    },
  );
}
