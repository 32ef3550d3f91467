import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { nextVersion } from '../table/version.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { Integration } from './integration.ts';
import { auditEventForIntegration, findIntegration, integrationChanged } from './integration-table.ts';

/**
 * A module says that it has restarted with the parameters of change n. It need not restart again, unless a parameter has
 * changed since: a report never hides a change that its module has not seen.
 * Fails with not-found, forbidden, invalid when there has been no such change yet.
 */
export function reportRestart(
  table: Table,
  caller: AuthorizedCaller,
  id: number,
  changes: number,
): Promise<Integration> {
  return caller.change(
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
