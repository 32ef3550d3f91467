import type { Integration } from '../../integrations/integration.ts';
import { INTEGRATIONS } from '../../integrations/integration-table.ts';
import { allParametersOf, type Parameter } from '../../integrations/parameter-table.ts';
import { openUnseal } from '../../integrations/sealed-value.ts';
import { emailKey } from '../../mail/address.ts';
import { mapConcurrently, settleAll } from '../../runtime/waiting.ts';
import { entityKey, idText, type Key } from '../../table/keys.ts';
import type { Item, OnConsumed, Table } from '../../table/table.ts';
import type { User } from '../../users/user.ts';
import { emailGuardKey, loginGuardKey } from '../../users/user-items.ts';
import { userOf } from '../../users/user-table.ts';
import type { Files } from './plan-contracts.ts';

interface IntegrationWithParameters {
  readonly integration: Integration;
  readonly parameters: readonly Parameter[];
}

/** What files are compared with. */
export interface State {
  /** The users of the files, or all if users are pruned. */
  readonly users: ReadonlyMap<string, User>;
  /** The ids of the users who have the addresses of the files, by the form that is unique. */
  readonly owners: ReadonlyMap<string, number>;
  /** The integrations of the files, and those that the set manages if integrations are pruned. */
  readonly integrations: readonly IntegrationWithParameters[];
  /** The values of those that are no secrets, by the id. */
  readonly values: ReadonlyMap<number, string>;
}

/** What one BatchGetItem reads, and how many calls are made at once. */
const BATCH = 100;
const CONCURRENCY = 16;

/**
 * Reads what the files are about. Users cost three read units for each entry, or as much as their
 * list and one for each entry if users are pruned; integrations as much as their list, parameters
 * as much as a list of each integration. Fails with list-too-long.
 */
export async function readState(
  table: Table,
  files: Files,
  onConsumed: OnConsumed,
): Promise<State> {
  const { set, users: entries, integrations: wanted, prune } = files;
  const readAll = async (keys: readonly Key[]): Promise<(Item | undefined)[]> => {
    const batches = Array.from({ length: Math.ceil(keys.length / BATCH) }, (_, index) =>
      keys.slice(index * BATCH, (index + 1) * BATCH),
    );
    return (
      await mapConcurrently(batches, CONCURRENCY, (batch) => table.getAll(batch, onConsumed))
    ).flat();
  };
  const readUsers = async (): Promise<User[]> => {
    if (prune.includes('users')) return (await table.query('USER', {}, onConsumed)).map(userOf);
    const guards = await readAll(entries.map(({ login }) => loginGuardKey(login)));
    // A user who is renamed meanwhile can have two guards, and a batch must not name an item twice.
    const ids = new Set(guards.flatMap((guard) => (guard ? [guard.id as number] : [])));
    const items = await readAll([...ids].map((id) => entityKey('USER', id)));
    return items.flatMap((item) => (item ? [userOf(item)] : []));
  };
  const readIntegrations = async () => {
    if (wanted.length === 0 && !prune.includes('integrations')) return [];
    return (await table.query('INTEGRATION', {}, onConsumed)).map(INTEGRATIONS.entityOf);
  };
  const addresses = entries.map(({ email }) => emailKey(email));
  const [users, guards, integrations] = await settleAll([
    readUsers(),
    readAll(addresses.map(emailGuardKey)),
    readIntegrations(),
  ]);
  const names = new Set(wanted.map(({ name }) => name));
  const prunesAll = prune.includes('integrations');
  const concerned = integrations.filter(
    ({ name, managedBy }) => names.has(name) || (prunesAll && managedBy === set),
  );
  const exists = async ({ id }: Integration) => {
    const range = { from: idText(id), to: idText(id) };
    return (await table.query('INTEGRATION', range, onConsumed)).length > 0;
  };
  const read = await mapConcurrently(concerned, CONCURRENCY, async (integration) => {
    const parameters = await allParametersOf(table, integration, onConsumed);
    // Deleted since it was read, it would seem to lack its parameters only.
    const isDeleted =
      parameters.length < integration.parameterCount && !(await exists(integration));
    return isDeleted ? [] : [{ integration, parameters }];
  });
  return {
    users: new Map(users.map((user) => [user.login, user])),
    owners: new Map(
      addresses.flatMap((address, index) =>
        guards[index] ? [[address, guards[index].id as number] as const] : [],
      ),
    ),
    integrations: read.flat(),
    values: await valuesOf(
      read.flat().flatMap(({ parameters }) => parameters),
      onConsumed,
    ),
  };
}

/** The values of parameters that are no secrets. A decryption is charged as one unit. */
async function valuesOf(
  parameters: readonly Parameter[],
  onConsumed: OnConsumed,
): Promise<Map<number, string>> {
  const unseal = openUnseal({ onDecryption: () => onConsumed(1) });
  const readable = parameters.filter(({ secret }) => !secret);
  const values = await mapConcurrently(readable, CONCURRENCY, ({ id, confValue }) =>
    unseal(confValue, id),
  );
  return new Map(readable.map(({ id }, index) => [id, values[index] as string]));
}
