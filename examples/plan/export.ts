import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Client } from '../client/client/types.gen.ts';
import { listIntegrations, listParameters, listUsers } from '../client/sdk.gen.ts';
import type { Parameter } from '../client/types.gen.ts';
import { followList, type Page } from '../follow-list.ts';
import { schemaAt } from './files.ts';

/** Writes what exists into files of a set, except what other sets manage. Replaces no file. */
export async function exportSet(client: Client, set: string, folder: string): Promise<void> {
  const [users, integrations, parameters] = await readAll(client);
  const parametersOf = Map.groupBy(parameters, ({ integration }) => integration.id);
  const isOurs = ({ managedBy = set }: { managedBy?: string }) => managedBy === set;
  const lists = {
    users: users.filter(isOurs).map((user) => accepted('users', user)),
    integrations: integrations.filter(isOurs).map((integration) => ({
      ...accepted('integrations', integration),
      parameters: (parametersOf.get(integration.id) ?? []).map(entryOf),
    })),
  };
  await mkdir(folder, { recursive: true });
  for (const [kind, entries] of Object.entries(lists)) {
    const file = join(folder, `${kind}.yaml`);
    await writeFile(file, stringify({ set, [kind]: entries }), { flag: 'wx' });
    console.log(`${file}: ${kind}, ${entries.length}`);
  }
  const others =
    users.length + integrations.length - lists.users.length - lists.integrations.length;
  if (others > 0) console.log(`${others} left out, which other sets manage`);
}

async function readAll(client: Client) {
  const throwOnError = true;
  const sort = ['id,asc'];
  const query = { size: 2000, sort };
  const ofParameters = { size: 100, sort };
  return Promise.all([
    allOf(client, listUsers({ client, query, throwOnError })),
    allOf(client, listIntegrations({ client, query, throwOnError })),
    allOf(client, listParameters({ client, query: ofParameters, throwOnError })),
  ]);
}

async function allOf<Entity>(client: Client, first: Promise<Page<Entity>>): Promise<Entity[]> {
  const entities: Entity[] = [];
  for await (const entity of followList(client, await first)) entities.push(entity);
  return entities;
}

/** The fields that files accept and that have a value. */
function accepted(list: string, entity: object): Record<string, unknown> {
  const fields = Object.keys(schemaAt([list, '0'])?.entries ?? {});
  return Object.fromEntries(
    Object.entries(entity).filter(([field, value]) => fields.includes(field) && value !== null),
  );
}

/** A secret has no value here: it is named with its version, or stays as it is. */
function entryOf({ confName, confValue, confDescription, secret, secretVersion }: Parameter) {
  const { name, version } = secretVersion ?? {};
  // The service returns the two in any order, which would differ between exports.
  const reference = secretVersion ? { name, version } : 'keep';
  return {
    confName,
    ...(secret ? { secret: reference } : { confValue }),
    ...(confDescription !== null && { confDescription }),
  };
}
