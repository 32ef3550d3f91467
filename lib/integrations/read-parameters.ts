import { Failure } from '../contract/failure.ts';
import type { ListQuery } from '../contract/list-query.ts';
import { mapConcurrently, settleAll } from '../runtime/settle-all.ts';
import { entityKey, integrationIdOf } from '../table/keys.ts';
import { countEntities, listPage, type Page } from '../table/list.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { Integration } from './integration.ts';
import { findIntegration, integrationOf } from './integration-table.ts';
import type { DecryptedParameter } from './parameter.ts';
import { findParameter, type Parameter, parameterOf } from './parameter-table.ts';
import { unseal } from './sealed-value.ts';

/** Below the number of connections, so that no call to KMS times out while it waits for one. */
const MAX_CONCURRENT_DECRYPTIONS = 32;

/** Reads and decrypts a parameter. Fails with forbidden, not-found. */
export async function readParameter(table: Table, caller: AuthorizedCaller, id: number): Promise<DecryptedParameter> {
  const [, parameter, integration] = await settleAll([
    caller.requireAuthorized(),
    findParameter(table, id),
    findIntegration(table, integrationIdOf(id)),
  ]);
  if (!parameter || !integration) throw new Failure('not-found');
  return decrypt(parameter, integration);
}

/**
 * Reads and decrypts a page of parameters. Fails with forbidden, read-budget-spent, parameter-list-too-long,
 * page-too-deep.
 */
export async function readParameters(
  table: Table,
  caller: AuthorizedCaller,
  query: ListQuery,
): Promise<Page<DecryptedParameter>> {
  const spend = readBudget(table, caller);
  // Each value on the page also costs a KMS decryption, which the budget allows only to an authorized caller.
  const spendWithDecryptions = (units: number) => spend(units + query.size);
  const page = await listPage(table, 'CONF', query, parameterOf, spendWithDecryptions);
  const owners = [...new Set(page.entities.map(({ integrationId }) => integrationId))];
  const items = await table.getAll(owners.map((id) => entityKey('INTEGRATION', id)));
  const integrations = new Map(items.map((item, index) => [owners[index], item && integrationOf(item)]));
  // If the integration was deleted after the list was read, its parameters were deleted with it.
  const present = page.entities.flatMap((parameter) => {
    const integration = integrations.get(parameter.integrationId);
    return integration ? [{ parameter, integration }] : [];
  });
  const decrypted = await mapConcurrently(present, MAX_CONCURRENT_DECRYPTIONS, ({ parameter, integration }) =>
    decrypt(parameter, integration),
  );
  return { ...page, entities: decrypted };
}

/** Counts the parameters that match the filters. Fails with forbidden, read-budget-spent, parameter-list-too-long. */
export function countParameters(table: Table, caller: AuthorizedCaller, query: ListQuery): Promise<number> {
  return countEntities(table, 'CONF', query, parameterOf, readBudget(table, caller));
}

async function decrypt(parameter: Parameter, integration: Integration): Promise<DecryptedParameter> {
  const { id, confName, confDescription, version } = parameter;
  return { id, integration, confName, confValue: await unseal(parameter.confValue, id), confDescription, version };
}
