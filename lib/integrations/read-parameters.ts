import { Failure } from '../contract/failure.ts';
import type { ListQuery } from '../contract/list-query.ts';
import { mapConcurrently, settleAll } from '../runtime/waiting.ts';
import { entityKey, integrationIdOf } from '../table/keys.ts';
import { countEntities, idsIn, listPage } from '../table/list.ts';
import { readBudget } from '../table/read-budget.ts';
import type { SnapshotTable } from '../table/snapshot.ts';
import type { Page } from '../table/steps.ts';
import type { OnConsumed, Table } from '../table/table.ts';
import type { AuthorizedCaller } from '../users/caller.ts';
import type { Integration } from './integration.ts';
import { integrationOf } from './integration-table.ts';
import { type DecryptedParameter, MASK } from './parameter.ts';
import { decrypted, ownerOf, PARAMETERS, type Parameter, parameterOf } from './parameter-table.ts';
import { CONCURRENT_DECRYPTIONS_MAX, openUnseal } from './sealed-value.ts';

/*
 * A module reports the number of the last change that it has loaded. Beside a value, the
 * integration must therefore not have a later change of that value: the module would report a
 * change that it has never seen.
 */

/**
 * Reads and decrypts a parameter. Fails with forbidden, read-budget-spent, not-found, unavailable.
 */
export async function readParameter(
  table: SnapshotTable,
  caller: AuthorizedCaller,
  id: number,
): Promise<DecryptedParameter> {
  const budget = readBudget(table, caller);
  // Before the value is read: it can have 16 KB.
  await budget.requireUnspent();
  // A decryption is charged as one unit.
  let consumed = 1;
  const keys = [entityKey('CONF', id), entityKey('INTEGRATION', integrationIdOf(id))];
  const [parameter, integration] = await table.snapshot(keys, (units) => {
    consumed += units;
  });
  const decrypt = async () => {
    if (!parameter || !integration) throw new Failure('not-found');
    const stored = parameterOf(parameter);
    const confValue = stored.secret ? MASK : await openUnseal()(stored.confValue, id);
    return decrypted(stored, confValue, integrationOf(integration));
  };
  const [result] = await settleAll([decrypt(), budget.settle(consumed)]);
  return result;
}

/**
 * Reads and decrypts a page of parameters. With a filter on one integration, it is read as of the
 * same moment as the values; the integrations of any other page can be newer. Fails with forbidden,
 * read-budget-spent, unavailable, parameter-list-too-long, page-too-deep.
 */
export const readParameters = (
  table: SnapshotTable,
  caller: AuthorizedCaller,
  query: ListQuery,
): Promise<Page<DecryptedParameter>> => readPage(table, caller, query, undefined);

/** The same, after the integration that the filter names had the `knownRevision`. */
async function readPage(
  table: SnapshotTable,
  caller: AuthorizedCaller,
  query: ListQuery,
  knownRevision: number | undefined,
): Promise<Page<DecryptedParameter>> {
  const budget = readBudget(table, caller);
  const owner = ownerOf(query.filters);
  // A decryption is charged as one unit: before the page is read, for each value that it can hold,
  // or afterwards if these are of one integration, which has few data keys.
  const values = Math.min(query.size, idsIn(query.filters)?.length ?? query.size);
  const decryptions = owner === undefined ? values : 0;
  let due = decryptions;
  async function spend(units: number): Promise<number> {
    const [charge, added] = [units + due, due];
    due = 0;
    return (await budget.spend(charge)) - added;
  }
  const page = await listPage({ ...PARAMETERS, table, budget: { ...budget, spend } }, query);
  let consumed = 0;
  const onConsumed = (units: number) => {
    consumed += units;
  };
  const unseal = openUnseal({ onDecryption: () => onConsumed(1) });
  const [decryptedValues, integrations] = await settleAll([
    mapConcurrently(page.entities, CONCURRENT_DECRYPTIONS_MAX, async ({ id, confValue, secret }) =>
      secret ? MASK : unseal(confValue, id),
    ),
    owner === undefined
      ? readIntegrations(table, page.entities, onConsumed)
      : readOwner(table, owner, page.entities, onConsumed),
  ]).finally(() => budget.settle(consumed - decryptions));
  const named = owner === undefined ? undefined : integrations?.get(owner);
  // Another parameter could have been created and changed since a list of all of them was read; or
  // the integration has a wrong number, and the revision is the one before that list.
  const lacksSome =
    named &&
    query.filters.length === 1 &&
    // Unknown after a cursor, where the page before has shown an older revision in that case.
    page.total !== undefined &&
    page.total !== named.parameterCount &&
    named.revision !== knownRevision;
  if (!integrations || lacksSome) return readPage(table, caller, query, named?.revision);
  // If the integration was deleted after the list was read, its parameters were deleted with it.
  const entities = page.entities.flatMap((parameter, index) => {
    const integration = integrations.get(parameter.integrationId);
    return integration ? [decrypted(parameter, decryptedValues[index] as string, integration)] : [];
  });
  return { ...page, entities };
}

type Integrations = ReadonlyMap<number, Integration | undefined>;

/** The integrations of these parameters, by id. */
async function readIntegrations(
  table: Table,
  parameters: readonly Parameter[],
  onConsumed: OnConsumed,
): Promise<Integrations> {
  const ids = [...new Set(parameters.map(({ integrationId }) => integrationId))];
  const keys = ids.map((id) => entityKey('INTEGRATION', id));
  const items = await table.getAll(keys, onConsumed);
  return new Map(ids.map((id, index) => [id, items[index] && integrationOf(items[index])]));
}

/**
 * The integration of these parameters as of a moment at which they were as given; undefined if they
 * have changed. Reading it before or after the list is not enough: both reads may see only some of
 * the writes of a transaction.
 */
async function readOwner(
  table: SnapshotTable,
  owner: number,
  parameters: readonly Parameter[],
  onConsumed: OnConsumed,
): Promise<Integrations | undefined> {
  if (parameters.length === 0) return new Map();
  const keys = [
    entityKey('INTEGRATION', owner),
    ...parameters.map(({ id }) => entityKey('CONF', id)),
  ];
  const [integration, ...current] = await table.snapshot(keys, onConsumed);
  const isCurrent = parameters.every(({ version }, index) => current[index]?.version === version);
  return isCurrent || !integration
    ? new Map([[owner, integration && integrationOf(integration)]])
    : undefined;
}

/**
 * Counts the parameters that match the filters. Fails with forbidden, read-budget-spent,
 * parameter-list-too-long.
 */
export function countParameters(
  table: Table,
  caller: AuthorizedCaller,
  query: ListQuery,
): Promise<number> {
  return countEntities({ ...PARAMETERS, table, budget: readBudget(table, caller) }, query);
}
