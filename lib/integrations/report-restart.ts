import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { nextVersion } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import type { Integration } from './integration.ts';
import {
  auditEventForIntegration,
  findIntegration,
  integrationChangedUnseen,
} from './integration-table.ts';

/**
 * Records that a module has restarted with the parameters as of change number `changes`. The
 * restart flag is cleared only if no parameter has changed since, so a report never hides a change
 * that the module has not loaded. Fails with not-found, forbidden, and with invalid when `changes`
 * is higher than the number of changes so far.
 */
export function reportRestart(
  table: Table,
  caller: AuthorizedCaller,
  id: number,
  changes: number,
): Promise<Integration> {
  return caller.change({
    load: () => findIntegration(table, id),
    decide: ({ loaded: before }) => {
      if (!before) throw new Failure('not-found');
      const { module } = before;
      const max = module?.changes ?? 0;
      if (changes > max)
        throw new Failure('invalid', { fieldErrors: [{ field: 'changes', message: 'Size', max }] });
      const event = auditEventForIntegration('integration.restarted', before, []);
      if (!module?.needsRestart || changes < module.changes)
        return { writes: [], result: before, event };
      const after: Integration = {
        ...before,
        module: { needsRestart: false, changes: module.changes },
        version: nextVersion(before.version),
      };
      // With another number, the module would restart again.
      const write = integrationChangedUnseen(before, after);
      return { writes: [write], result: after, event };
    },
  });
}
