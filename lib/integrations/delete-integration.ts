import { Failure } from '../contract/failure.ts';
import { entityKey } from '../table/keys.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import {
  changeTotal,
  type Precondition,
  remove,
  requireVersion,
  type Write,
} from '../table/write.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import type { Integration } from './integration.ts';
import { credentialKey } from './integration-items.ts';
import {
  auditEventForIntegration,
  findIntegration,
  integrationChanges,
  revisionIs,
} from './integration-table.ts';
import { allParametersOf, type Parameter } from './parameter-table.ts';

/**
 * Deletes an integration, its parameters and its credentials in one transaction. Fails with
 * not-found, version-changed, forbidden, read-budget-spent.
 */
export async function deleteIntegration(
  table: Table,
  caller: AuthorizedCaller,
  id: number,
  precondition: Precondition,
): Promise<void> {
  const budget = readBudget(table, caller);
  const load = async () => {
    const integration = await findIntegration(table, id);
    // Before the parameters are read: they can have 192 KiB.
    if (!integration) throw new Failure('not-found');
    requireVersion(integration, precondition);
    let consumed = 0;
    const parameters = await allParametersOf(table, integration, (units) => {
      consumed += units;
    });
    await budget.settle(consumed);
    return { integration, parameters };
  };
  await caller.change({
    loadEarly: () => budget.requireUnspent(),
    load,
    decide: ({ loaded: { integration, parameters } }) =>
      integrationDeleted(integration, parameters),
  });
}

/** Decides the deletion of an integration with all its parameters. */
export function integrationDeleted(integration: Integration, parameters: readonly Parameter[]) {
  const writes: Write[] = [
    remove(entityKey('INTEGRATION', integration.id), revisionIs(integration)),
    changeTotal('INTEGRATION', -1),
    ...parameters.map(({ id }) => remove(entityKey('CONF', id))),
    ...(integration.credentials ?? []).map(({ clientId }) => remove(credentialKey(clientId))),
    ...(parameters.length > 0 ? [changeTotal('CONF', -parameters.length)] : []),
  ];
  return {
    writes,
    result: undefined,
    event: auditEventForIntegration(
      'integration.deleted',
      integration,
      integrationChanges(integration, undefined),
    ),
  };
}
