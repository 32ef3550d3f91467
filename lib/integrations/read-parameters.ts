import { Failure } from '../contract/failure.ts';
import type { ListQuery } from '../contract/list-query.ts';
import { mapConcurrently, settleAll } from '../runtime/settle-all.ts';
import { entityKey, integrationIdOf } from '../table/keys.ts';
import { countEntities, listPage, ownerOf, type Page } from '../table/list.ts';
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

/*
 * A module reports the number of the last change that it has loaded. Beside a value, the integration must therefore not
 * have a later change of that value: the module would report a change that it has never seen.
 */

/** Reads and decrypts a parameter. Fails with forbidden, not-found. */
export async function readParameter(table: Table, caller: AuthorizedCaller, id: number): Promise<DecryptedParameter> {
  const [, parameter, integration] = await settleAll([
    caller.requireAuthorized(),
    findParameter(table, id),
    findIntegration(table, integrationIdOf(id)),
  ]);
  if (!parameter || !integration) throw new Failure('not-found');
  // The integration may have been read after a change of the parameter. To read it first would take a round trip more.
  const [decrypted, current] = await settleAll([decrypt(parameter, integration), findParameter(table, id)]);
  return current?.version === parameter.version ? decrypted : readParameter(table, caller, id);
}

/**
 * Reads and decrypts a page of parameters. With a filter on one integration, that is read first; integrations of any
 * other page can be newer than the values. Fails with forbidden, read-budget-spent, parameter-list-too-long,
 * page-too-deep.
 */
export async function readParameters(
  table: Table,
  caller: AuthorizedCaller,
  query: ListQuery,
): Promise<Page<DecryptedParameter>> {
  const spend = readBudget(table, caller);
  const owner = ownerOf(query.filters);
  const early = readIntegrations(table, owner === undefined ? [] : [owner]);
  // Called before the parameters are read. Each value on the page also costs a KMS decryption, which the budget allows
  // only to an authorized caller.
  const spendAfterOwner = async (units: number) => (await settleAll([spend(units + query.size), early]))[0];
  const [page, known] = await settleAll([listPage(table, 'CONF', query, parameterOf, spendAfterOwner), early]);
  const owners = [...new Set(page.entities.map(({ integrationId }) => integrationId))];
  const integrations = owner === undefined ? await readIntegrations(table, owners) : known;
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

/** The integrations with these ids, by id. */
async function readIntegrations(table: Table, ids: readonly number[]): Promise<Map<number, Integration | undefined>> {
  const items = await table.getAll(ids.map((id) => entityKey('INTEGRATION', id)));
  return new Map(ids.map((id, index) => [id, items[index] && integrationOf(items[index])]));
}

/** Counts the parameters that match the filters. Fails with forbidden, read-budget-spent, parameter-list-too-long. */
export function countParameters(table: Table, caller: AuthorizedCaller, query: ListQuery): Promise<number> {
  return countEntities(table, 'CONF', query, parameterOf, readBudget(table, caller));
}

async function decrypt(parameter: Parameter, integration: Integration): Promise<DecryptedParameter> {
  const { id, confName, confDescription, version } = parameter;
  return { id, integration, confName, confValue: await unseal(parameter.confValue, id), confDescription, version };
}
