import { Failure } from '../contract/failure.ts';
import type { ListQuery } from '../contract/list-query.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { entityKey, integrationIdOf } from '../table/keys.ts';
import { countEntities, listPage, type Page } from '../table/list.ts';
import { readBudget } from '../table/read-budget.ts';
import type { Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { Integration } from './integration.ts';
import { findIntegration, integrationOf } from './integration-table.ts';
import type { OpenParameter } from './parameter.ts';
import { findParameter, type Parameter, parameterOf } from './parameter-table.ts';
import { unseal } from './sealed-value.ts';

/** One parameter in the clear. Fails with forbidden, not-found. */
export async function readParameter(table: Table, caller: AuthorizedCaller, id: number): Promise<OpenParameter> {
  const [, parameter, integration] = await settleAll([
    caller.requireAuthorized(),
    findParameter(table, id),
    findIntegration(table, integrationIdOf(id)),
  ]);
  if (!parameter || !integration) throw new Failure('not-found');
  return open(parameter, integration);
}

/** A page of parameters in the clear. Fails with forbidden, read-budget-spent, parameter-list-too-long, page-too-deep. */
export async function readParameters(
  table: Table,
  caller: AuthorizedCaller,
  query: ListQuery,
): Promise<Page<OpenParameter>> {
  const spend = readBudget(table, caller);
  // Each value on the page costs a decryption besides.
  const spendWithDecryptions = (units: number) => spend(units + query.size);
  const page = await listPage(table, 'CONF', query, parameterOf, spendWithDecryptions);
  const owners = [...new Set(page.entities.map(({ integrationId }) => integrationId))];
  const items = await table.getAll(owners.map((id) => entityKey('INTEGRATION', id)));
  const integrations = new Map(items.map(integrationOf).map((integration) => [integration.id, integration]));
  // Where the integration is gone by now, so is the parameter.
  const present = page.entities.flatMap((parameter) => {
    const integration = integrations.get(parameter.integrationId);
    return integration ? [open(parameter, integration)] : [];
  });
  return { ...page, entities: await settleAll(present) };
}

/** How many parameters a list has. Fails with forbidden, parameter-list-too-long. */
export function countParameters(table: Table, caller: AuthorizedCaller, query: ListQuery): Promise<number> {
  return countEntities(table, 'CONF', query, parameterOf, readBudget(table, caller));
}

async function open(parameter: Parameter, integration: Integration): Promise<OpenParameter> {
  const { id, confName, confDescription, version } = parameter;
  return { id, integration, confName, confValue: await unseal(parameter.confValue, id), confDescription, version };
}
