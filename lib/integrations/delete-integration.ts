import { Failure } from '../contract/failure.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type Precondition, requireVersion } from '../table/version.ts';
import { changeTotal, remove, type Write } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { auditEventForIntegration, findIntegration, revisionIs } from './integration-table.ts';
import { parameterRemoved, parametersOf } from './parameter-table.ts';

/** Deletes an integration and its parameters in one transaction. Fails with not-found, version-changed, forbidden. */
export async function deleteIntegration(
  table: Table,
  caller: AuthorizedCaller,
  id: number,
  precondition: Precondition,
): Promise<void> {
  const load = async () => {
    const [integration, parameters] = await settleAll([findIntegration(table, id), parametersOf(table, id)]);
    // The reads may straddle a change. A listed parameter that is gone fails its own condition; one that the list lacks
    // shows in the count. Read again, after the integration: any later change fails the condition on its revision.
    const isComplete = !integration || parameters.length === integration.parameterCount;
    return { integration, parameters: isComplete ? parameters : await parametersOf(table, id) };
  };
  await caller.change(load, ({ integration, parameters }) => {
    if (!integration) throw new Failure('not-found');
    requireVersion(integration, precondition);
    const writes: Write[] = [
      remove(entityKey('INTEGRATION', id), revisionIs(integration)),
      changeTotal('INTEGRATION', -1),
      ...parameters.map(parameterRemoved),
      ...(parameters.length > 0 ? [changeTotal('CONF', -parameters.length)] : []),
    ];
    return { writes, result: undefined, event: auditEventForIntegration('integration.deleted', integration) };
  });
}
