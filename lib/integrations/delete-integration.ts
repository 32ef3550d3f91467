import { Failure } from '../contract/failure.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { sleepJittered } from '../runtime/sleep.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type Precondition, requireVersion } from '../table/version.ts';
import { changeTotal, remove, type Write } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import { auditEventForIntegration, findIntegration, revisionIs } from './integration-table.ts';
import { parameterRemoved, parametersOf } from './parameter-table.ts';

/** How many times an incomplete list is read again, and the bound of the wait before; milliseconds. */
const MAX_LISTS = 5;
const MAX_WAIT_MS = 100;

/** Deletes an integration and its parameters in one transaction. Fails with not-found, version-changed, forbidden. */
export async function deleteIntegration(
  table: Table,
  caller: AuthorizedCaller,
  id: number,
  precondition: Precondition,
): Promise<void> {
  const load = async () => {
    const [integration, listed] = await settleAll([findIntegration(table, id), parametersOf(table, id)]);
    let parameters = listed;
    // The list may lack the last creation, even if the integration was read before it: a query may see only some of the
    // writes of a transaction. A listed parameter that is gone fails its own condition. A count that stays different is
    // wrong, which does not prevent the deletion.
    for (let tries = 0; tries < MAX_LISTS && integration && parameters.length !== integration.parameterCount; tries++) {
      await sleepJittered(MAX_WAIT_MS);
      parameters = await parametersOf(table, id);
    }
    return { integration, parameters };
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
