import { pick } from '../contract/entity-fields.ts';
import { Failure } from '../contract/failure.ts';
import type { Table } from '../table/table.ts';
import { nextVersion, type Precondition, requireVersion } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { EDITABLE_INTEGRATION_FIELDS, type Integration } from './integration.ts';
import type { IntegrationChange } from './integration-contracts.ts';
import {
  auditEventForIntegration,
  findIntegration,
  integrationChanged,
  integrationChanges,
} from './integration-table.ts';

/**
 * Updates an integration; an omitted description is kept. Fails with unknown-id, version-changed,
 * forbidden.
 */
export function updateIntegration(
  table: Table,
  caller: AuthorizedCaller,
  changes: IntegrationChange,
  precondition: Precondition,
): Promise<Integration> {
  return caller.change({
    load: () => findIntegration(table, changes.id),
    decide: ({ loaded: before }) => {
      if (!before) throw new Failure('unknown-id');
      requireVersion(before, precondition);
      const after: Integration = {
        ...before,
        ...pick(changes, EDITABLE_INTEGRATION_FIELDS),
        version: nextVersion(before.version),
      };
      const event = auditEventForIntegration(
        'integration.updated',
        before,
        integrationChanges(before, after),
      );
      return { writes: [integrationChanged(before, after)], result: after, event };
    },
  });
}
