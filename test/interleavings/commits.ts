import { confirmedCredential, keysOfCredential } from '../../lib/modules/credential.ts';
import { entityKey, type Key } from '../../lib/table/keys.ts';
import type { Write } from '../../lib/table/write.ts';
import { apiTokenKey, isLive, keyOfCaller, type Session } from '../../lib/users/session-item.ts';
import { activeTokens, type ListedToken, type User } from '../../lib/users/user.ts';
import { deployedRow, routes } from '../../routes.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { NOW } from './determinism.ts';
import type { Call, Request, World } from './worlds.ts';

/* What is right at the moment of a transaction. */

/**
 * The items that decide whether a transaction is right, even if it has no action on them: its
 * caller, and the users whom its audit entries and sessions are about.
 */
export function decidingKeys({ by: { caller, module }, ...call }: Call): Key[] {
  const users = 'writes' in call ? call.writes.flatMap(usersIn) : [];
  return [
    ...[...(caller ? [caller.id] : []), ...users].map((id) => entityKey('USER', id)),
    ...(caller ? [keyOfCaller(caller)] : []),
    ...(module ? keysOfCredential(module.integrationId, module.clientId) : []),
  ];
}

function usersIn({ key, attributes = {} }: Write): number[] {
  if (key.pk.startsWith('SESSION#')) return [Number(key.pk.slice('SESSION#'.length))];
  const [, targetId] = /^user\/(\d+)$/.exec(String(attributes.target)) ?? [];
  return key.pk.startsWith('AUDIT#') ? [Number(attributes.actorId), Number(targetId ?? 0)] : [];
}

/** What is wrong with a transaction that is committed in a world, or undefined. */
export function brokenBy(call: Call, world: World): string | undefined {
  return (
    notAllowed(call.by, world) ??
    deadSession(call, world) ??
    misnamed(call, world) ??
    leftToken(call, world) ??
    notPermitted(call)
  );
}

/** Why a request must not change anything. */
function notAllowed(request: Request, world: World): string | undefined {
  const { name, caller, access, module } = request;
  if (module) {
    const keys = keysOfCredential(module.integrationId, module.clientId);
    const items = keys.map((key) => world.items.get(nameOf(key)));
    const credential = confirmedCredential(items, module.clientId, NOW);
    return credential ? undefined : `${name} with a credential that was deleted`;
  }
  // A session that has ended can be logged out.
  if (!caller || access === 'issued-token') return undefined;
  const user = userIn(world, caller.id);
  if (!user) return `${name} by an account that does not exist`;
  if (!user.activated) return `${name} by an account that is deactivated`;
  const item = world.items.get(nameOf(keyOfCaller(caller)));
  if (caller.scopes) {
    const isListed = activeTokens(user, NOW).some(({ series }) => series === caller.jti);
    if (!item || !isListed) return `${name}, which has ended`;
  } else if (!item || !isLive(item as unknown as Session, user, NOW))
    return `${name} in a session that has ended`;
  if (typeof access === 'object' && !access.anyRole.some((role) => user.authorities.includes(role)))
    return `${name} without the role`;
  return undefined;
}

/** No session has ended when it starts, and its code cannot be used again. */
function deadSession(call: Call, world: World): string | undefined {
  for (const write of 'writes' in call ? call.writes : []) {
    const { act, key, attributes } = write;
    if (act !== 'Put' || !key.pk.startsWith('SESSION#')) continue;
    const [id] = usersIn(write);
    const user = userIn(world, id) ?? createdBy(call, id);
    if (!user?.activated) return 'a session of an account that is not activated is started';
    const session = attributes as unknown as Session;
    if (!isLive(session, user, NOW)) return 'a session starts that has ended';
    if (session.issuer && !user.identities?.some(({ issuer }) => issuer === session.issuer))
      return 'a session starts whose identity is not linked';
    const isProven = session.issuer ? session.secondFactor : spendsCode(call);
    if (user.secondFactor && !isProven) return 'a session starts whose code is not spent';
  }
  return undefined;
}

/** The account that a log-in creates. */
const createdBy = (call: Call, id: number | undefined): User | undefined =>
  ('writes' in call ? call.writes : []).find(
    ({ act, attributes, key }) => act === 'Put' && key.pk === 'USER' && attributes?.id === id,
  )?.attributes as User | undefined;

const spendsCode = (call: Call): boolean =>
  'writes' in call &&
  call.writes.some(
    ({ key, update = '', names = {} }) =>
      key.pk === 'USER' &&
      Object.entries(names).some(
        ([name, attribute]) => attribute === 'secondFactor' && update.includes(`${name} =`),
      ),
  );

/** An entry of the audit trail names its actor and its target as they are when it is written. */
function misnamed(call: Call, world: World): string | undefined {
  for (const write of 'writes' in call ? call.writes : []) {
    if (!write.key.pk.startsWith('AUDIT#')) continue;
    const { actor, targetName } = write.attributes ?? {};
    const actual = usersIn(write).map((id) => userIn(world, id)?.login);
    for (const [position, name] of [actor, targetName].entries())
      if (actual[position] !== undefined && actual[position] !== name)
        return `${name} is audited, who is ${actual[position]}`;
  }
  return undefined;
}

/** The deletion of a user deletes the API tokens that the user lists. */
function leftToken(call: Call, world: World): string | undefined {
  const deleted = 'writes' in call ? call.writes.filter(({ act }) => act === 'Delete') : [];
  const names = deleted.map(({ key }) => nameOf(key));
  const user = userIn(world, Number(deleted.find(({ key }) => key.pk === 'USER')?.key.sk));
  const isDeleted = ({ series }: ListedToken) => names.includes(nameOf(apiTokenKey(series)));
  return user?.tokens?.every(isDeleted) === false ? 'an API token outlives its user' : undefined;
}

const permissionsOf = new Map(
  routes.map((row) => [
    row.handler,
    deployedRow(row, { issuers: true, moduleIssuers: true }).permissions,
  ]),
);

/** An update names the attributes that its function may update, and no others. */
function notPermitted(call: Call): string | undefined {
  const { handler } = call.by;
  const { updateUser = [], updateSession = [] } = permissionsOf.get(handler) ?? {};
  if (!('writes' in call && permissionsOf.has(handler))) return undefined;
  for (const { act, key, names = {} } of call.writes) {
    const permitted = key.pk === 'USER' ? updateUser : updateSession;
    if (act !== 'Update' || !(key.pk === 'USER' || key.pk.startsWith('SESSION#'))) continue;
    const denied = Object.values(names).find((name) => !permitted.includes(name));
    if (denied) return `${handler} may not update ${denied} of ${key.pk}`;
  }
  return undefined;
}

const userIn = ({ items }: World, id = 0): User | undefined =>
  items.get(nameOf(entityKey('USER', id))) as unknown as User | undefined;
