import { Failure } from '../contract/failure.ts';
import { entityKey, integrationIdOf } from '../table/keys.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import {
  changeTotal,
  type Precondition,
  remove,
  requireVersion,
  versionIs,
} from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import type { Integration } from './integration.ts';
import { integrationChanged } from './integration-table.ts';
import {
  auditEventForParameter,
  findForChange,
  parameterBytesAfter,
  parameterChanges,
  type StoredParameter,
} from './parameter-table.ts';

/** Deletes a parameter. Fails with not-found, version-changed, forbidden, read-budget-spent. */
export async function deleteParameter(
  table: Table,
  caller: AuthorizedCaller,
  id: number,
  precondition: Precondition,
): Promise<void> {
  const budget = readBudget(table, caller);
  const ids = { integrationId: integrationIdOf(id), parameterId: id };
  await caller.change({
    loadEarly: () => budget.requireUnspent(),
    load: () => findForChange(table, budget, ids),
    decide: ({ loaded: { integration, parameter } }) => {
      if (!integration || !parameter) throw new Failure('not-found');
      requireVersion(parameter, precondition);
      const deleted = parameterDeleted(integration, parameter);
      return {
        writes: [integrationChanged(integration, deleted.integration), ...deleted.writes],
        result: undefined,
        event: deleted.event,
      };
    },
  });
}

/** Decides the deletion of a parameter. */
export function parameterDeleted(integration: Integration, parameter: StoredParameter) {
  const after: Integration = {
    ...integration,
    parameterCount: integration.parameterCount - 1,
    parameterBytes: parameterBytesAfter(integration, parameter, undefined),
  };
  const changes = parameterChanges(parameter, undefined);
  return {
    integration: after,
    writes: [
      remove(entityKey('CONF', parameter.id), versionIs(parameter)),
      changeTotal('CONF', -1),
    ],
    event: auditEventForParameter('parameter.deleted', parameter, integration, changes),
  };
}
