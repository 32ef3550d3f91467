import { pick } from '../contract/entity-fields.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { changeTotal, claim, firstVersion } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import { EDITABLE_INTEGRATION_FIELDS, type Integration } from './integration.ts';
import type { NewIntegration } from './integration-contracts.ts';
import { auditEventForIntegration, integrationChanges } from './integration-table.ts';

/** Creates an integration. Fails with forbidden. */
export async function createIntegration(
  table: Table,
  caller: AuthorizedCaller,
  fields: NewIntegration,
): Promise<Integration> {
  return caller.change({
    prepare: () => table.nextId('INTEGRATION'),
    decide: ({ prepared: id }) => {
      const integration = newIntegration(id, fields);
      return {
        writes: [
          claim(entityKey('INTEGRATION', id), { ...integration }, 'retry'),
          changeTotal('INTEGRATION', 1),
        ],
        result: integration,
        event: auditEventForIntegration(
          'integration.created',
          integration,
          integrationChanges(undefined, integration),
        ),
      };
    },
  });
}

/** Completes a new integration, which has no parameters yet. */
export function newIntegration(
  id: number,
  fields: Omit<NewIntegration, 'id'> & Pick<Integration, 'managedBy'>,
): Integration {
  return {
    id,
    ...pick(fields, [...EDITABLE_INTEGRATION_FIELDS, 'managedBy']),
    parameterCount: 0,
    parametersEver: 0,
    parameterBytes: 0,
    version: firstVersion(),
    revision: 1,
    moduleRevision: 1,
  };
}
