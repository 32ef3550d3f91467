import { confirmedCredential, keysOfCredential } from '../../lib/modules/credential.ts';
import { isLive, type Session } from '../../lib/sessions/session.ts';
import { entityKey } from '../../lib/table/keys.ts';
import { isEnded, isOfAccount } from '../../lib/users/token-validity.ts';
import type { User } from '../../lib/users/user.ts';
import { nameOf } from '../support/doubles/memory-engine.ts';
import { NOW } from './determinism.ts';
import type { Call, World } from './worlds.ts';

/* What is right at the moment of a transaction. */

/** What is wrong with a transaction that is committed in a world, or undefined. */
export function brokenBy(call: Call, world: World): string | undefined {
  const { name, caller, access, module } = call.by;
  if (module) {
    // When it was seen last is true for a request whose credential was deleted since.
    if (call.operation === 'update') return undefined;
    const items = keysOfCredential(module.integrationId, module.clientId).map((key) =>
      world.items.get(nameOf(key)),
    );
    const credential = confirmedCredential(items, module.clientId, NOW);
    return credential ? undefined : `${name} with a credential that was deleted`;
  }
  if (!caller) return deadSession(call, world);
  if (access === 'issued-token') return undefined;
  const user = userIn(world, caller.id);
  if (!isOfAccount(user, caller)) return `${name} by an account that does not exist`;
  if (!user.activated) return `${name} by an account that is deactivated`;
  if (isEnded(user, caller)) return `${name} in a session that has ended`;
  if (typeof access === 'object' && !access.anyRole.some((role) => user.authorities.includes(role)))
    return `${name} without the role`;
  return misnamed(call, world);
}

/** No session has ended when it starts, and its code cannot be used again. */
function deadSession(call: Call, world: World): string | undefined {
  for (const { act, key, attributes } of 'writes' in call ? call.writes : []) {
    if (act !== 'Put' || !key.pk.startsWith('SESSION#')) continue;
    const user = userIn(world, Number(key.pk.slice('SESSION#'.length)));
    if (!user?.activated) return 'a session of an account that is not activated is started';
    if (!isLive(attributes as unknown as Session, user, NOW))
      return 'a session starts that has ended';
    if (user.secondFactor && !spendsCode(call)) return 'a session starts whose code is not spent';
  }
  return undefined;
}

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
  for (const { key, attributes = {} } of 'writes' in call ? call.writes : []) {
    if (!key.pk.startsWith('AUDIT')) continue;
    const { actorId, actor, target, targetName } = attributes;
    const [, targetId] = /^user\/(\d+)$/.exec(target as string) ?? [];
    const actual = userIn(world, actorId as number)?.login;
    if (actual !== undefined && actual !== actor) return `${actor} is audited, who is ${actual}`;
    const named = targetId && userIn(world, Number(targetId))?.login;
    if (named && named !== targetName) return `${targetName} is audited, who is ${named}`;
  }
  return undefined;
}

const userIn = ({ items }: World, id: number): User | undefined =>
  items.get(nameOf(entityKey('USER', id))) as unknown as User | undefined;
