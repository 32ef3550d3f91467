import { auditEntry } from '../audit/audit-entry.ts';
import type { Caller } from '../contract/caller.ts';
import type { Access, Role } from '../contract/contract.ts';
import { Failure, type FailureCode } from '../contract/failure.ts';
import { RESERVE } from '../runtime/aws.ts';
import { remainingMs } from '../runtime/deadline.ts';
import { settleAll } from '../runtime/settle-all.ts';
import { change } from '../table/change.ts';
import { entityKey } from '../table/keys.ts';
import type { Table } from '../table/table.ts';
import { type Condition, check, type Write, withCondition } from '../table/write.ts';
import type { AuthorizedCaller } from '../users/authorized-caller.ts';
import type { User } from '../users/user.ts';
import { findUser } from '../users/user-table.ts';
import { precedenceWait, takePrecedence } from './precedence.ts';

/** How long a change waits for those that have precedence over it; milliseconds. */
const LONGEST_PRECEDENCE = 5000;

/** Why the caller, as the table knows it, may not do this; undefined when it may. */
function denialReason(user: User | undefined, caller: Caller, access: Access): FailureCode | undefined {
  if (!user || user.accountStamp !== caller.accountStamp)
    return access === 'authenticated' ? 'unauthorized' : 'forbidden';
  const stale = user.passwordChanges !== caller.passwordChanges && user.tokenExcepted !== caller.jti;
  const roles = rolesOf(access);
  const isAuthorized = roles.length === 0 || roles.some((role) => user.authorities.includes(role));
  return user.activated && !stale && isAuthorized ? undefined : 'forbidden';
}

/**
 * The same rule as a condition on the caller's item, to hold at the moment of the change. The login must be the same too:
 * it goes into the audit fields, and by then it may be another user's.
 */
function callerStillAuthorized({ login }: User, caller: Caller, access: Access): Condition {
  const roles = rolesOf(access).map((role, index) => ({ name: `:role${index}`, role }));
  const holds = roles.map(({ name }) => `contains(#callerRoles, ${name})`).join(' OR ');
  const { accountStamp } = caller;
  const sameAccount = accountStamp === undefined ? 'attribute_not_exists(#callerStamp)' : '#callerStamp = :callerStamp';
  return {
    condition:
      `${sameAccount} AND #callerActivated = :activated AND #callerLogin = :callerLogin AND ` +
      '(#passwordChanges = :passwordChanges OR #tokenExcepted = :jti)' +
      (holds && ` AND (${holds})`),
    names: {
      '#callerStamp': 'accountStamp',
      '#callerActivated': 'activated',
      '#callerLogin': 'login',
      '#passwordChanges': 'passwordChanges',
      '#tokenExcepted': 'tokenExcepted',
      ...(holds && { '#callerRoles': 'authorities' }),
    },
    values: {
      ...(accountStamp !== undefined && { ':callerStamp': accountStamp }),
      ':activated': true,
      ':callerLogin': login,
      ':passwordChanges': caller.passwordChanges,
      ':jti': caller.jti,
      ...Object.fromEntries(roles.map(({ name, role }) => [name, role])),
    },
    onConditionFailed: 'retry',
  };
}

/** The account of a caller who may do this by what the table says now. Fails with forbidden or unauthorized. */
async function findAuthorizedUser(table: Table, caller: Caller, access: Access): Promise<User> {
  const user = await findUser(table, caller.id);
  const refused = denialReason(user, caller, access);
  if (refused || !user) throw new Failure(refused ?? 'forbidden');
  return user;
}

/** The caller's own account. Fails with unauthorized when it is gone, also when its id has become another account's. */
export async function findCallerUser(table: Table, caller: Caller): Promise<User> {
  const user = await findUser(table, caller.id);
  if (!user || user.accountStamp !== caller.accountStamp) throw new Failure('unauthorized');
  return user;
}

function rolesOf(access: Access): readonly Role[] {
  return typeof access === 'object' ? access.anyRole : [];
}

/**
 * Binds a caller to the access that a contract requires. Roles that the token decides are checked here: fails with forbidden.
 */
export function authorize(table: Table, caller: Caller, access: Access): AuthorizedCaller {
  if (typeof access === 'object' && access.rolesFrom === 'token') {
    if (!access.anyRole.some((role) => caller.roles.includes(role))) throw new Failure('forbidden');
  }
  // One read serves the endpoint and the first load of a change; a further load must see what has changed meanwhile.
  let confirmed: Promise<User> | undefined;
  let isLoaded = false;
  const confirm = (): Promise<User> => {
    confirmed ??= findAuthorizedUser(table, caller, access);
    return confirmed;
  };
  const loadUser = (): Promise<User> => {
    const user = isLoaded ? findAuthorizedUser(table, caller, access) : confirm();
    isLoaded = true;
    return user;
  };

  return {
    ...caller,
    findUser: confirm,
    async requireAuthorized() {
      if (typeof access === 'object' && access.rolesFrom === 'table') await confirm();
    },
    change(load, decide) {
      let target: User | undefined;
      return change(
        table,
        () => loadInTurn(table, caller.id, loadUser, load),
        ([callerUser, loaded], now) => {
          const { writes, result, event, ...decision } = decide(loaded, callerUser, now);
          target = decision.target;
          // What changes nothing leaves no trace.
          if (writes.length === 0) return { writes, result };
          return {
            writes: [...underCaller(writes, callerUser, caller, access), auditEntry(callerUser, event)],
            result,
          };
        },
        async () => {
          if (target && target.id !== caller.id) await takePrecedence(table, target.id);
        },
      );
    },
  };
}

/** The caller's account and what the rule needs, once no administrator's change of that account has precedence. */
async function loadInTurn<L>(
  table: Table,
  callerId: number,
  loadUser: () => Promise<User>,
  load: (callerUser: Promise<User>) => Promise<L>,
): Promise<readonly [User, L]> {
  const giveUpAt = Date.now() + Math.min(LONGEST_PRECEDENCE, remainingMs() - RESERVE);
  for (;;) {
    const callerUser = loadUser();
    const [user, loaded, wait] = await settleAll([callerUser, load(callerUser), precedenceWait(table, callerId)]);
    if (wait === 0) return [user, loaded];
    if (Date.now() + wait > giveUpAt) throw new Failure('unavailable');
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Puts the caller's condition first; on the caller's own item it joins the write that is there. */
function underCaller(writes: readonly Write[], callerUser: User, caller: Caller, access: Access): Write[] {
  const { pk, sk } = entityKey('USER', caller.id);
  const stillAuthorized = callerStillAuthorized(callerUser, caller, access);
  const own = writes.findIndex(({ key }) => key.pk === pk && key.sk === sk);
  return own < 0
    ? [check({ pk, sk }, stillAuthorized), ...writes]
    : writes.map((write, position) => (position === own ? withCondition(write, stillAuthorized) : write));
}
