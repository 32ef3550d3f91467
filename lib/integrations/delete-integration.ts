import { Failure } from '../contract/failure.ts';
import { sleepJittered } from '../runtime/waiting.ts';
import { entityKey } from '../table/keys.ts';
import { type ReadBudget, readBudget } from '../table/read-budget.ts';
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
import { type Parameter, parametersOf } from './parameter-table.ts';

/** How many times an incomplete list is read again. */
const LISTS_MAX = 5;
/** The bound of the wait before it is read again. */
const WAIT_MS_MAX = 100;

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
    return { integration, parameters: await readParameters(table, budget, integration) };
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

/**
 * Reads all parameters of an integration and charges the caller. The list may lack the last
 * creation, even if the integration was read before it: a query may see only some of the writes of
 * a transaction. Every change of a parameter changes the revision, which is a condition of the
 * deletion. A count that stays different is wrong, which does not prevent it.
 */
async function readParameters(
  table: Table,
  budget: ReadBudget,
  { id, parameterCount }: Integration,
): Promise<Parameter[]> {
  let consumed = 0;
  const list = () =>
    parametersOf(table, id, (units) => {
      consumed += units;
    });
  let parameters = await list();
  for (let tries = 0; tries < LISTS_MAX && parameters.length !== parameterCount; tries++) {
    await sleepJittered(WAIT_MS_MAX);
    parameters = await list();
  }
  await budget.settle(consumed);
  return parameters;
}
