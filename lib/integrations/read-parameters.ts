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
import { ownerOf, PARAMETERS, type Parameter, parameterOf } from './parameter-table.ts';
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
): Promise<Page<DecryptedParameter>> => readAfter(undefined, table, caller, query);

/** Reads a page of parameters, after the one integration of the list had the `knownRevision`. */
async function readAfter(
  knownRevision: number | undefined,
  table: SnapshotTable,
  caller: AuthorizedCaller,
  query: ListQuery,
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
  // Of a list that has them all.
  const total = query.filters.length === 1 ? page.total : undefined;
  const [decryptedValues, { integrations, revision }] = await settleAll([
    mapConcurrently(page.entities, CONCURRENT_DECRYPTIONS_MAX, async ({ id, confValue, secret }) =>
      secret ? MASK : unseal(confValue, id),
    ),
    owner === undefined
      ? readIntegrations(table, page.entities, onConsumed)
      : readOwner(table, owner, { listed: page.entities, total, knownRevision }, onConsumed),
  ]);
  await budget.settle(consumed - decryptions);
  if (!integrations) return readAfter(revision, table, caller, query);
  // If the integration was deleted after the list was read, its parameters were deleted with it.
  const entities = page.entities.flatMap((parameter, index) => {
    const integration = integrations.get(parameter.integrationId);
    return integration ? [decrypted(parameter, decryptedValues[index] as string, integration)] : [];
  });
  return { ...page, entities };
}

interface Owners {
  /** The integrations by id; undefined if the list must be read again. */
  readonly integrations?: ReadonlyMap<number, Integration | undefined>;
  /** The revision of the one integration of the list. */
  readonly revision?: number;
}

/** The integrations of these parameters, by id. */
async function readIntegrations(
  table: Table,
  parameters: readonly Parameter[],
  onConsumed: OnConsumed,
): Promise<Owners> {
  const ids = [...new Set(parameters.map(({ integrationId }) => integrationId))];
  const keys = ids.map((id) => entityKey('INTEGRATION', id));
  const items = await table.getAll(keys, onConsumed);
  const found = ids.map((id, index) => [id, items[index] && integrationOf(items[index])] as const);
  return { integrations: new Map(found) };
}

/**
 * The integration of the listed parameters as of a moment at which they were as given, and in their
 * `total` all of its own, if there is one. Reading it before or after the list is not enough: both
 * reads may see only some of the writes of a transaction. The number of parameters that it records
 * can be damaged: if it had the `knownRevision` before the list was read, nothing has changed.
 */
async function readOwner(
  table: SnapshotTable,
  owner: number,
  {
    listed: parameters,
    total,
    knownRevision,
  }: {
    listed: readonly Parameter[];
    total: number | undefined;
    knownRevision: number | undefined;
  },
  onConsumed: OnConsumed,
): Promise<Owners> {
  if (parameters.length === 0) return { integrations: new Map() };
  const keys = [
    entityKey('INTEGRATION', owner),
    ...parameters.map(({ id }) => entityKey('CONF', id)),
  ];
  const [item, ...current] = await table.snapshot(keys, onConsumed);
  if (!item) return { integrations: new Map() };
  const integration = integrationOf(item);
  const { revision, parameterCount } = integration;
  const hasAll = total === undefined || total === parameterCount || revision === knownRevision;
  const isCurrent = parameters.every(({ version }, index) => current[index]?.version === version);
  return hasAll && isCurrent ? { integrations: new Map([[owner, integration]]) } : { revision };
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

function decrypted(
  { id, confName, confDescription, secret, secretVersion, version }: Parameter,
  confValue: string,
  integration: Integration,
): DecryptedParameter {
  return { id, integration, confName, confValue, confDescription, secret, secretVersion, version };
}
