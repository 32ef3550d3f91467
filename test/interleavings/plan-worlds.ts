import { Failure } from '../../lib/contract/failure.ts';
import { createIntegration } from '../../lib/integrations/create-integration.ts';
import { createParameter } from '../../lib/integrations/create-parameter.ts';
import { deleteIntegration } from '../../lib/integrations/delete-integration.ts';
import { deleteParameter } from '../../lib/integrations/delete-parameter.ts';
import { updateIntegration } from '../../lib/integrations/update-integration.ts';
import { updateParameter } from '../../lib/integrations/update-parameter.ts';
import { sequenceKey, totalKey } from '../../lib/table/item-kind.ts';
import { integrationIdOf } from '../../lib/table/keys.ts';
import type { SnapshotTable } from '../../lib/table/snapshot.ts';
import type { Item } from '../../lib/table/table.ts';
import type { Caller } from '../../lib/users/caller.ts';
import { apiTokenKey } from '../../lib/users/session-item.ts';
import type { User } from '../../lib/users/user.ts';
import { itemsIn } from '../support/doubles/memory-engine.ts';
import { memoryTable } from '../support/doubles/memory-table.ts';
import type { Draw } from './drawn-calls.ts';
import { addressOf, LOGINS, NAMES } from './drawn-files.ts';
import { openEngineTable } from './engine-table.ts';
import { ada, bob, callerOf, cyd, tableOf } from './people.ts';
import { act, administration } from './user-requests.ts';
import type { Request } from './worlds.ts';

/** A table that is planned for. Budgets are not counted, and ids come from this process. */
export interface PlanWorld {
  readonly table: SnapshotTable;
  items(): Promise<Item[]>;
  close(): Promise<void>;
}

const TOKEN: Caller = { ...callerOf(ada), jti: 'token-of-ada', scopes: ['plans:write'] };
export const CALLERS: readonly Caller[] = [callerOf(ada), callerOf(ada), callerOf(bob), TOKEN];

const { jti: series, expires, scopes } = TOKEN;
const { id: userId, createdDate } = ada;
const START: readonly Item[] = [
  ...tableOf({ ...ada, tokens: [{ series, expires }] }, bob, cyd),
  { ...apiTokenKey(series), series, userId, name: 'plans', scopes, createdDate, expires },
  { ...totalKey('INTEGRATION'), n: 0, changes: 0 },
  { ...totalKey('CONF'), n: 0, changes: 0 },
  { ...sequenceKey('INTEGRATION'), n: 100_000 },
];

function worldOf({ table, ...world }: PlanWorld): PlanWorld {
  let id = 1000;
  const nextId = async (_: unknown, howMany = 1) => {
    id += howMany;
    return id;
  };
  return { ...world, table: { ...table, nextId, update: async ({ key }) => ({ ...key }) } };
}

export async function memoryWorld(): Promise<PlanWorld> {
  const table = memoryTable(START);
  const start = Object.fromEntries(itemsIn(START));
  const items = async () =>
    Object.values({ ...start, ...table.changed() }).filter((item) => item !== null);
  return worldOf({ table, items, close: async () => undefined });
}

let tables = 0;

export async function engineWorld(url: string): Promise<PlanWorld> {
  const engine = await openEngineTable(url);
  await engine.put([...itemsIn(START).values()]);
  const number = ++tables;
  const table: SnapshotTable = {
    ...engine.table,
    // The tokens of each table start again, and the engine remembers them for all tables.
    transact: (writes, token) => engine.table.transact(writes, `${number} ${token.slice(-12)}`),
  };
  return worldOf({ ...engine, table, close: engine.delete });
}

/** Commits another request, which is about what files are about. A rule may reject it. */
export async function drawChange(draw: Draw, { table, items }: PlanWorld): Promise<void> {
  const stored = await items();
  const oneOf = (kind: string) => draw.one(stored.filter(({ pk }) => pk === kind));
  const by = draw.one([ada, bob, cyd]);
  const own = stored.find(({ pk, id }) => pk === 'USER' && id === ada.id);
  const user = ((draw.isTrue(0.3) && own) || oneOf('USER')) as unknown as User;
  const about = [aboutUser(draw, by, user), aboutIntegration(draw, by, oneOf('INTEGRATION'))];
  const parameter = oneOf('CONF');
  if (parameter) about.push(aboutParameter(draw, by, parameter));
  await draw
    .one(draw.one(about))
    .run(table)
    .catch((error) => {
      if (!(error instanceof Failure)) throw error;
    });
}

function aboutUser(draw: Draw, by: User, user: User): Request[] {
  const login = draw.one([...LOGINS, 'xia']);
  const { create, rename, move, promote, demote, deactivate, activate } = administration;
  return [
    create(by, login),
    rename(by, user, login),
    move(by, user, addressOf(draw.one(LOGINS)).replace('@example.com', '')),
    ...[promote, demote, deactivate, activate].map((change) => change(by, user)),
    administration.remove(by, user),
    administration.endSessions(by, user),
  ];
}

type Handle = Parameters<typeof act>[3];
const request = (by: User, handler: string, handle: Handle) => act(by, handler, handler, handle);

function aboutIntegration(draw: Draw, by: User, integration: Item | undefined): Request[] {
  const shared = { shortName: draw.one(['a', 'b']), integrationType: 'API', active: true };
  const fields = { ...shared, name: draw.one(NAMES) } as never;
  const create = request(by, 'create-integration', (table, caller) =>
    createIntegration(table, caller, fields),
  );
  if (!integration) return [create];
  const id = integration.id as number;
  const added = { ...drawParameter(draw), integration: { id } } as never;
  return [
    create,
    request(by, 'update-integration', (table, caller) =>
      updateIntegration(table, caller, { ...(fields as object), id } as never, undefined),
    ),
    request(by, 'delete-integration', (table, caller) =>
      deleteIntegration(table, caller, id, undefined),
    ),
    request(by, 'create-parameter', (table, caller) => createParameter(table, caller, added)),
  ];
}

function aboutParameter(draw: Draw, by: User, parameter: Item): Request[] {
  const id = parameter.id as number;
  const change = { ...drawParameter(draw), id, integration: { id: integrationIdOf(id) } } as never;
  return [
    request(by, 'update-parameter', (table, caller) =>
      updateParameter(table, caller, change, undefined),
    ),
    request(by, 'delete-parameter', (table, caller) =>
      deleteParameter(table, caller, id, undefined),
    ),
  ];
}

const drawParameter = (draw: Draw) => ({
  confName: `p${draw.below(6)}`,
  confValue: draw.one(['a', 'b']),
  secret: draw.isTrue(0.3),
});
