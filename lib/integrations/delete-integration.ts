import { Failure } from '../contract/failure.ts';
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
  // Read in sequence: a parameter added after the first read changes the revision, which the commit checks.
  const load = async () => {
    const integration = await findIntegration(table, id);
    return integration && { integration, parameters: await parametersOf(table, id) };
  };
  await caller.change(load, (loaded) => {
    if (!loaded) throw new Failure('not-found');
    const { integration, parameters } = loaded;
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
